#pragma once

#include <string>

#include "paceline/sync/clocks.h"
#include "paceline/sync/policy_base.h"

namespace paceline::sync {

// Stale Synchronous Parallel: each push is applied at once; no worker starts a step while it is
// more than `staleness` steps ahead of the slowest one.
//
// Source: Ho et al., "More Effective Distributed ML via a Stale Synchronous Parallel Parameter
// Server", NIPS 2013, section 2; the count form, as line 8 of DSSP's Algorithm 1 has it.
// Deviation: the paper fixes the set of workers. Here a joiner starts at the slowest clock, and a
// worker that left no longer counts.
//
// Invariants, for every worker that is in (`clock` = pushes accepted):
//   (1) clock <= min clock + staleness + 1;
//   (2) it is released iff clock <= min clock + staleness;
//   (3) between a worker's release and its push at most (n-1)(2 staleness + 1) updates are applied.
// Staleness 0 has BSP's releases, but applies each push on its own.
// Cost: O(log n) an event, and O(log n) a worker that it releases.
class SSP final : public PolicyBase {
 public:
  explicit SSP(Step staleness) : staleness_(staleness) {}
  std::string spec() const override;

 private:
  Decision joined(WorkerId worker, Time now) override;
  Decision pushed(const PushId& push, Time now) override;
  Decision left(WorkerId worker, Time now) override;

  void release_held(Decision& decision);

  Step staleness_;
  Clocks clocks_;
  HeldWorkers held_;
};

}  // namespace paceline::sync
