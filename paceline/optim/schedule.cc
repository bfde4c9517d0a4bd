#include "paceline/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "paceline/base/text.h"
#include "paceline/optim/names.h"

namespace paceline::optim {
namespace {

constexpr double kWarmupFrom = 0.1;

constexpr Named<ScheduleName> kSchedules[] = {{"constant", ScheduleName::Constant},
                                              {"step", ScheduleName::Step},
                                              {"cosine", ScheduleName::Cosine}};
constexpr Named<LrScale> kScales[] = {{"per_sample", LrScale::PerSample},
                                      {"per_update", LrScale::PerUpdate}};

// What remains of the rate, before the warm-up is applied.
double decay(const Schedule& schedule, double share) {
  switch (schedule.name) {
    case ScheduleName::Constant:
      return 1;
    case ScheduleName::Step: {
      double left = 1;
      for (const double at : schedule.at) {
        if (share >= at) left *= schedule.factor;
      }
      return left;
    }
    case ScheduleName::Cosine: {
      const double progress = std::max(0.0, (share - schedule.warmup) / (1 - schedule.warmup));
      return (1 + std::cos(std::numbers::pi * progress)) / 2;
    }
  }
  return 1;
}

}  // namespace

Result<ScheduleName> parse_schedule_name(std::string_view name) {
  return parse<ScheduleName>(name, kSchedules, "schedule.name", "schedule");
}
std::string_view to_string(ScheduleName name) { return name_of<ScheduleName>(name, kSchedules); }

Result<LrScale> parse_lr_scale(std::string_view name) {
  return parse<LrScale>(name, kScales, "lr_scale", "scale of the learning rate");
}
std::string_view to_string(LrScale scale) { return name_of<LrScale>(scale, kScales); }

Status check(const Schedule& schedule) {
  if (!(schedule.warmup >= 0 && schedule.warmup < 1)) {
    return bad_key("schedule.warmup", cat("warmup = ", schedule.warmup, " is out of range"),
                   "give the share of the budget, at least 0 and less than 1");
  }
  if (!(schedule.factor > 0) || !std::isfinite(schedule.factor)) {
    return bad_key("schedule.factor", cat("factor = ", schedule.factor, " is out of range"),
                   "give a positive number, such as 0.1");
  }
  if (schedule.name == ScheduleName::Step && schedule.at.empty()) {
    return bad_key("schedule.at", "a step schedule needs the shares where the rate falls",
                   "set at = [0.5, 0.75], or name to \"constant\"");
  }
  if (schedule.name != ScheduleName::Step && !schedule.at.empty()) {
    return bad_key("schedule.at", cat("a ", to_string(schedule.name), " schedule has no at"),
                   "leave it out, or set name to \"step\"");
  }
  double last = 0;
  for (const double at : schedule.at) {
    if (!(at > last && at < 1)) {
      return bad_key("schedule.at", cat("at has ", at, " after ", last),
                     "give rising shares of the budget, above 0 and below 1");
    }
    last = at;
  }
  return {};
}

double lr_at(const Schedule& schedule, double base_lr, double share_applied) {
  const double share = std::clamp(share_applied, 0.0, 1.0);
  const double warm =
      share < schedule.warmup ? kWarmupFrom + (1 - kWarmupFrom) * share / schedule.warmup : 1.0;
  return base_lr * warm * decay(schedule, share);
}

double effective_lr(LrScale scale, double lr, std::uint32_t pushes_in_update,
                    std::uint32_t live_workers) {
  if (scale == LrScale::PerUpdate || live_workers == 0) return lr;
  return lr * pushes_in_update / live_workers;
}

}  // namespace paceline::optim
