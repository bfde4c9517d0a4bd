#pragma once

#include <nlohmann/json.hpp>

#include "paceline/sim/compare.h"

namespace paceline::sim {

// What `paceline sim --json` prints (docs/reference/json.md): means over the seeds, their spread,
// and the figures that a run of its own has, seed by seed.
nlohmann::ordered_json to_json(const Comparison& comparison);

// Over the seeds; a figure that a seed lacks is left out.
struct Spread {
  double mean = 0;
  double low = 0;
  double high = 0;
  std::size_t count = 0;  // 0: no seed has it
};
Spread spread_of(const PolicyOutcome& policy,
                 const std::function<std::optional<double>(const Outcome&)>& figure);

double steps_per_second(const Outcome& outcome);

}  // namespace paceline::sim
