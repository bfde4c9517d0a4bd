#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "paceline/base/result.h"
#include "paceline/roles/run_stats.h"

namespace paceline::node {

// A run's figures as one line, from the coordinator to whoever started it. Internal to one build:
// both ends are the same program.
std::string to_json_line(const roles::RunStats& stats);
Result<roles::RunStats> parse_stats(const nlohmann::json& line);

}  // namespace paceline::node
