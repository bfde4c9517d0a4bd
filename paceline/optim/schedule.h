#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/base/result.h"

// The learning rate of a run. It depends on the share of the sample budget that has been applied,
// 0..1, and on nothing else: it is the same for every policy and any number of workers.
namespace paceline::optim {

enum class ScheduleName { Constant, Step, Cosine };

struct Schedule {
  ScheduleName name = ScheduleName::Constant;
  std::vector<double> at = {};  // step: shares where the rate falls; rising, within (0, 1)
  double factor = 0.1;          // step: what it is multiplied by there; > 0
  // Share of the budget over which the rate rises linearly to what it would be without, from a
  // tenth of it (not from 0, so that the first update moves too). 0 <= warmup < 1.
  double warmup = 0;

  bool operator==(const Schedule&) const = default;
};

// "constant", "step", "cosine". Errors name the key and the nearest known name.
Result<ScheduleName> parse_schedule_name(std::string_view name);
std::string_view to_string(ScheduleName name);
Status check(const Schedule& schedule);

// schedule: checked. The cosine runs from base_lr at the end of the warm-up to 0 at the end of the
// budget. A share outside 0..1 is taken as the nearer end.
double lr_at(const Schedule& schedule, double base_lr, double share_applied);

// What an update moves with, if it is the mean of m pushes and n workers are in the run.
enum class LrScale {
  PerSample,  // lr m / n: equal samples move equally far, under every policy
  PerUpdate,  // lr, whatever is in the update: the papers' rule
};

// "per_sample", "per_update".
Result<LrScale> parse_lr_scale(std::string_view name);
std::string_view to_string(LrScale scale);

// pushes_in_update: m. live_workers: n; if all have left, what they pushed moves with lr.
double effective_lr(LrScale scale, double lr, std::uint32_t pushes_in_update,
                    std::uint32_t live_workers);

}  // namespace paceline::optim
