#pragma once

#include <cstdint>
#include <vector>

#include "paceline/base/random.h"
#include "paceline/sync/policy.h"

namespace paceline::sync {

// Random events for a policy: mostly what a good cluster sends, with joins, leaves and returns, and
// among it everything that makes no sense: repeated events, pushes before a release, of an old
// step, of nobody, second joins and leaves, time that stands still or goes back.
class RandomEvents {
 public:
  // n: workers, 0 to n-1; at least one.
  RandomEvents(Rng rng, std::uint32_t n) : rng_(rng), n_(n), members_(n) {}

  Event next();
  // What the policy answered.
  void observe(const Event& event, const Decision& decision);

 private:
  struct Member {
    bool in = false;
    bool open = false;
    Step step = 0;
    Incarnation life = 0;
  };

  Event choose();

  Rng rng_;
  std::uint32_t n_;
  std::vector<Member> members_;
  std::vector<Event> seen_;
  std::int64_t now_ = 0;
};

}  // namespace paceline::sync
