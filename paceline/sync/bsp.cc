#include "paceline/sync/bsp.h"

#include <algorithm>
#include <utility>

#include "paceline/base/text.h"

namespace paceline::sync {

Decision BSP::joined(WorkerId worker, Time) {
  workers_.insert(worker);
  return {.release = {worker},
          .reason = cat("worker ", worker, " joins superstep ", superstep_,
                        ", whose barrier waits for ", workers_.size())};
}

Decision BSP::pushed(const PushId& push, Time) {
  buffer_.push_back(push);
  pushed_in_[push.worker] = superstep_;
  ++waiting_;
  Decision decision{.reason =
                        cat("worker ", push.worker, " waits at the barrier of superstep ",
                            superstep_, ": ", waiting_, " of ", workers_.size(), " are there")};
  if (barrier_is_due()) make_barrier(decision);
  return decision;
}

Decision BSP::left(WorkerId worker, Time) {
  workers_.erase(worker);
  if (std::exchange(pushed_in_[worker], 0) == superstep_) --waiting_;
  Decision decision{.reason = cat("worker ", worker, " left; the barrier waits for ",
                                  workers_.size() - waiting_, " of ", workers_.size())};
  if (barrier_is_due()) make_barrier(decision);
  return decision;
}

void BSP::make_barrier(Decision& decision) {
  std::ranges::sort(buffer_);
  decision.apply.push_back({buffer_});
  decision.release.assign(workers_.begin(), workers_.end());
  decision.reason = cat("barrier of superstep ", superstep_, ": the mean of ", buffer_.size(),
                        " pushes, ", workers_.size(), " workers go on");
  buffer_.clear();
  waiting_ = 0;
  ++superstep_;
}

}  // namespace paceline::sync
