#pragma once

#include <nanobind/nanobind.h>

namespace paceline::python {

void bind_sync(nanobind::module_& module);
void bind_sim(nanobind::module_& module);

}  // namespace paceline::python
