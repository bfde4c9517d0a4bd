#pragma once

#include <set>
#include <string>
#include <vector>

#include "paceline/sync/policy_base.h"

namespace paceline::sync {

// Bulk Synchronous Parallel: in each superstep every worker makes one push; the barrier applies
// their mean as one update and releases everybody from the same version.
//
// Source: Valiant, "A Bridging Model for Parallel Computation", CACM 1990.
// Deviation: workers come and go. A worker that left is not waited for, but a push that it
// completed before counts at the barrier.
//
// Invariants:
//   (1) nothing is applied between barriers;
//   (2) the barrier falls as soon as every worker that is in has pushed; also when a leave makes
//       that true, and when nobody is in any more but pushes are waiting (they are complete);
//   (3) its update holds every push of the superstep, once, by worker id, then life;
//   (4) a joiner is released at once into the running superstep, since nothing of it is applied
//       yet, and the barrier waits for it too. That holds for a worker that returns: its push from
//       the life before and its new one both count.
// Cost: O(1) a push, O(log n) a worker that comes or goes, O(n log n) a barrier.
class BSP final : public PolicyBase {
 public:
  std::string spec() const override { return "bsp"; }

 private:
  Decision joined(WorkerId worker, Time now) override;
  Decision pushed(const PushId& push, Time now) override;
  Decision left(WorkerId worker, Time now) override;

  bool barrier_is_due() const { return !buffer_.empty() && waiting_ == workers_.size(); }
  void make_barrier(Decision& decision);

  std::uint64_t superstep_ = 1;
  std::set<WorkerId> workers_;
  WorkerTable<std::uint64_t> pushed_in_;  // of each the superstep of its last push in this life
  std::size_t waiting_ = 0;               // workers that are in and have pushed in this superstep
  std::vector<PushId> buffer_;
};

}  // namespace paceline::sync
