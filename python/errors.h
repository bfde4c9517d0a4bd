#pragma once

#include "paceline/base/result.h"

namespace paceline::python {

// Throws the class of paceline/errors.py that stands for the error's code.
[[noreturn]] void raise(const Error& error);
// A broken contract of a policy: paceline.ContractError.
[[noreturn]] void raise_contract(const Error& error);

template <typename T>
T value_of(Result<T> result) {
  if (!result) raise(result.error());
  return *std::move(result);
}

}  // namespace paceline::python
