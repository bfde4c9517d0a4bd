#include "paceline/sync/bsp.h"

#include "paceline/base/text.h"

namespace paceline::sync {

Decision BSP::joined(WorkerId worker, Time) {
  workers_.insert(worker);
  return {.release = {worker},
          .reason = cat("worker ", worker, " joins superstep ", superstep_,
                        ", whose barrier waits for ", workers_.size())};
}

Decision BSP::pushed(const PushId& push, Time) {
  buffer_.insert(push);
  waiting_.insert(push.worker);
  Decision decision{.reason = cat("worker ", push.worker, " waits at the barrier of superstep ",
                                  superstep_, ": ", waiting_.size(), " of ", workers_.size(),
                                  " are there")};
  if (barrier_is_due()) make_barrier(decision);
  return decision;
}

Decision BSP::left(WorkerId worker, Time) {
  workers_.erase(worker);
  waiting_.erase(worker);
  Decision decision{.reason = cat("worker ", worker, " left; the barrier waits for ",
                                  workers_.size() - waiting_.size(), " of ", workers_.size())};
  if (barrier_is_due()) make_barrier(decision);
  return decision;
}

void BSP::make_barrier(Decision& decision) {
  decision.apply.push_back({{buffer_.begin(), buffer_.end()}});
  decision.release.assign(workers_.begin(), workers_.end());
  decision.reason = cat("barrier of superstep ", superstep_, ": the mean of ", buffer_.size(),
                        " pushes, ", workers_.size(), " workers go on");
  buffer_.clear();
  waiting_.clear();
  ++superstep_;
}

}  // namespace paceline::sync
