#pragma once

#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "paceline/sync/clocks.h"
#include "paceline/sync/dssp_controller.h"
#include "paceline/sync/policy_base.h"

namespace paceline::sync {

// DSSP by its printed text, to reproduce the paper. NOT bounded: on workers of constant unequal
// speed it may run as ASP does. To train, take dssp.h.
//
// Source: Zhao, An, Liu, Chen, "Dynamic Stale Synchronous Parallel Distributed Training for Deep
// Learning", ICDCS 2019, Algorithms 1 and 2.
// Deviation, only where the text leaves no other way: push times are noted at every push (printed:
// in the controller alone, where the slowest worker's would never change); the slowest worker goes
// by clock, then by the older push, then by id; any worker at the greatest clock is a fastest; see
// dssp_controller.h for ties and overdue pushes. A worker's start counts as a push time.
//
// Invariants:
//   (1) a grant of r gives r + 1 steps, which are used up whatever the gap has become;
//   (2) otherwise a worker with gap <= staleness_low goes on, at its push or as soon as the gap has
//       shrunk to it;
//   (3) a fastest worker that runs out above staleness_low asks again, so the gap has no bound.
// Cost: O(log n) an event, O(log n) a worker that it releases, and O(r_max) where the controller is
// asked.
class DSSPLiteral final : public PolicyBase {
 public:
  // staleness_low <= staleness_high <= kMaxAhead.
  DSSPLiteral(Step staleness_low, Step staleness_high)
      : low_(staleness_low), high_(staleness_high) {}
  std::string spec() const override;

 private:
  struct Worker {
    Time last{};                       // push, or start: the paper's A[.][0]
    std::optional<Duration> interval;  // A[.][0] - A[.][1]; none before the first push
    Step extra = 0;                    // the paper's r
  };

  Decision joined(WorkerId worker, Time now) override;
  Decision pushed(const PushId& push, Time now) override;
  Decision left(WorkerId worker, Time now) override;

  bool goes_on(WorkerId id, std::string& why);
  // Of several with the slowest clock the one whose last push is oldest, then the lowest id.
  WorkerId slowest() const { return std::get<WorkerId>(*by_age_.begin()); }
  void release_held(Decision& decision);

  Step low_;
  Step high_;
  Clocks clocks_;
  WorkerTable<Worker> workers_;
  HeldWorkers held_;
  // (clock, last push or start, worker): who is slowest comes first.
  std::set<std::tuple<Step, Time, WorkerId>> by_age_;
};

}  // namespace paceline::sync
