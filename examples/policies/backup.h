#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "paceline/sync/policy_base.h"

namespace paceline::sync {

// Backup workers: a barrier that does not wait for the last `spare` of the workers. A push that
// comes after its barrier is dropped, and its worker goes on in the running superstep.
//
// Source: Chen et al., "Revisiting Distributed Synchronous SGD", 2016 (arXiv 1604.00981).
// Deviation: the paper fixes the set of workers. Here they come and go: a push that was complete
// before its worker left counts at the barrier.
//
// Invariants:
//   (1) an update holds pushes of one superstep, each begun from the version that it began with;
//   (2) the barrier falls as soon as all but `spare` of those who are in wait at it; also when a
//       leave makes that true.
// Cost: O(log n) a push, O(n) a barrier.
class Backup final : public PolicyBase {
 public:
  explicit Backup(std::uint32_t spare) : spare_(spare) {}
  std::string spec() const override;

 private:
  Decision joined(WorkerId worker, Time now) override;
  Decision pushed(const PushId& push, Time now) override;
  Decision left(WorkerId worker, Time now) override;

  Decision close_if_due(std::string reason);

  std::uint32_t spare_;
  std::uint64_t superstep_ = 1;
  std::map<WorkerId, std::uint64_t> began_;  // of who is in: the superstep of its running step
  std::set<WorkerId> waiting_;
  std::set<PushId> pushes_;  // of this superstep; also of who has left since
};

}  // namespace paceline::sync
