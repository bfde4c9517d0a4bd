#pragma once

#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "paceline/sync/clocks.h"
#include "paceline/sync/dssp_controller.h"
#include "paceline/sync/policy_base.h"

namespace paceline::sync {

// Dynamic Stale Synchronous Parallel, bounded: SSP with a range instead of one bound. Above
// `staleness_low` the fastest worker may be granted extra steps, as many as its controller predicts
// to end when the slowest worker pushes; no worker starts above `staleness_high`.
//
// Source: Zhao, An, Liu, Chen, "Dynamic Stale Synchronous Parallel Distributed Training for Deep
// Learning", ICDCS 2019, Algorithms 1 and 2.
// Deviation: as printed, grants follow on grants and the gap has no bound, against the premise of
// the paper's Theorem 2 (dssp_literal.h is that text). Here nothing starts above the range, a grant
// of r gives r steps (printed: r + 1), and intervals are measured from the release, so that a
// worker that was held does not look slow.
//
// Invariants, for every worker that is in (gap: its clock less the slowest one):
//   (1) gap <= staleness_high + 1; none is released with a gap > staleness_high;
//   (2) it is released if gap <= staleness_low, at the push or as soon as the gap has shrunk to it;
//   (3) above that only while extra steps are left, and only a fastest worker is granted any;
//   (4) staleness_low == staleness_high decides as SSP(staleness_low) does;
//   (5) no extra steps while the slowest worker has not pushed in this life: nothing predicts it.
// Cost: O(log n) an event, O(log n) a worker that it releases, and O(r_max) where the controller is
// asked.
class DSSP final : public PolicyBase {
 public:
  // staleness_low <= staleness_high <= kMaxAhead.
  DSSP(Step staleness_low, Step staleness_high) : low_(staleness_low), high_(staleness_high) {}
  std::string spec() const override;

 private:
  struct Worker {
    Time released{};
    Time last{};                       // push, or start
    std::optional<Duration> interval;  // from a release to a push; none before the first push
    Step extra = 0;                    // granted steps left
  };

  Decision joined(WorkerId worker, Time now) override;
  Decision pushed(const PushId& push, Time now) override;
  Decision left(WorkerId worker, Time now) override;

  // May `worker`, which has just pushed, go on above staleness_low? Says why.
  bool may_run_ahead(WorkerId worker, std::string& why);
  bool grant(WorkerId worker, std::string& why);
  // Of several with the slowest clock the one whose last push is oldest, then the lowest id.
  WorkerId slowest() const { return std::get<WorkerId>(*by_age_.begin()); }
  void release_held(Decision& decision, Time now);

  Step low_;
  Step high_;
  Clocks clocks_;
  WorkerTable<Worker> workers_;
  HeldWorkers held_;
  // (clock, last push or start, worker): who is slowest comes first.
  std::set<std::tuple<Step, Time, WorkerId>> by_age_;
};

}  // namespace paceline::sync
