#pragma once

#include <string_view>

#include "paceline/base/result.h"

namespace paceline::cli {

// Nothing of Paceline is set by the environment. A variable with our prefix is a mistake, then,
// that would pass without a word; only what our tools read (tools/setup: PACELINE_TORCH) may be
// there. environment: as in main(), "NAME=value", null at the end.
Status check_environment(const char* const* environment);

}  // namespace paceline::cli
