#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "paceline/base/result.h"
#include "paceline/sync/policy.h"

// What policy.h promises of every policy, as checks that a policy of one's own can be held to.
//
// The contract, whatever events come:
//   (1) an event that makes no sense gives an empty decision and changes nothing;
//   (2) any other gives a reason;
//   (3) each push that was accepted is applied or dropped, once; an update holds at least one push,
//       in rank order (by worker, then life, then step);
//   (4) releases come out by worker id, for workers that are in and have no release open;
//   (5) while somebody is in, somebody may go on; when nobody is in any more, no push waits;
//   (6) the same events give the same decisions;
//   (7) if all that are released push, and again, everybody gets on;
//   (8) times at the ends of their range, in any order, do no harm.
namespace paceline::sync {

// Watches one conversation for what shows in it: (1) to (5).
// Cost: O(log n + k) an event, k pushes decided in it. Memory: a worker ever seen, a push
// undecided.
class ContractWatch {
 public:
  // Error: what the decision breaks. Nothing may be asked after one.
  Status see(const Event& event, const Decision& decision);

  // Of who is in: may it go on?
  const std::map<WorkerId, bool>& open() const { return open_; }

 private:
  bool makes_sense(const Joined& event);
  bool makes_sense(const Pushed& event);
  bool makes_sense(const Left& event);
  Status see_apply(const Decision& decision);
  Status see_decided(const PushId& push, const char* how);
  Status see_release(const Decision& decision);

  std::map<WorkerId, bool> open_;
  std::map<WorkerId, PushId> newest_;
  std::set<PushId> undecided_;
};

// Holds a policy to the whole contract: random conversations of one to five workers that join,
// push, leave and return, about `events` events in all. The same seed asks the same.
//
// make: a fresh policy each time; it is called a few times for each conversation.
// Error: what is broken, with the shortest conversation found that shows it.
Status check_contract(const std::function<std::unique_ptr<SyncPolicy>()>& make,
                      std::uint64_t seed = 1, std::size_t events = 20'000);

}  // namespace paceline::sync
