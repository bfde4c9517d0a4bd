#include "python/errors.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace paceline::python {
namespace {

const char* class_of(Code code) {
  switch (code) {
    case Code::InvalidArgument:
      return "InvalidArgument";
    case Code::NotFound:
      return "NotFound";
    case Code::Unavailable:
      return "Unavailable";
    case Code::DeadlineExceeded:
      return "DeadlineExceeded";
    case Code::StaleGeneration:
      return "StaleGeneration";
    case Code::Corruption:
      return "Corruption";
    case Code::Refused:
      return "Refused";
    case Code::Cancelled:
      return "Cancelled";
  }
  return "Error";
}

[[noreturn]] void raise_as(const char* name, const Error& error) {
  const nb::object type = nb::module_::import_("paceline.errors").attr(name);
  const nb::object value = type(error.what, error.fix, error.where);
  PyErr_SetObject(type.ptr(), value.ptr());
  throw nb::python_error();
}

}  // namespace

void raise(const Error& error) { raise_as(class_of(error.code), error); }
void raise_contract(const Error& error) { raise_as("ContractError", error); }

}  // namespace paceline::python
