#pragma once

#include <algorithm>

#include "paceline/base/ids.h"
#include "paceline/base/time.h"
#include "paceline/sync/limits.h"

// DSSP's controller: how many extra steps may the fastest worker run so that it then stops about
// when the slowest one pushes?
//
// Source: Zhao, An, Liu, Chen, "Dynamic Stale Synchronous Parallel Distributed Training for Deep
// Learning", ICDCS 2019, Algorithm 2.
// Deviation: ties, missing and overdue pushes are undefined in print. Here ties go to the fewest
// extra steps; a slowest worker that is overdue is expected now, not in the past.
namespace paceline::sync {

// The last push of a worker and the interval that its next ones are predicted with.
struct Pace {
  Time last{};
  Duration interval{};
};

// When the slowest worker makes its k-th next push, k from 0. now: of the fastest's push.
constexpr Time slow_push(const Pace& slow, Time now, Step k) {
  return std::max(now, slow.last + slow.interval) + static_cast<std::int64_t>(k) * slow.interval;
}

// r in [0, r_max] with the least distance of fast.last + r * fast.interval to any of the slowest
// worker's next r_max + 1 pushes; of several the smallest. r_max: at most kMaxAhead.
// Cost: O(r_max).
constexpr Step dssp_extra_steps(const Pace& fast, const Pace& slow, Step r_max) {
  const std::int64_t last = static_cast<std::int64_t>(r_max);
  const Time first = slow_push(slow, fast.last, 0);
  Step best = 0;
  Duration best_distance = Duration::max();
  for (std::int64_t r = 0; r <= last; ++r) {
    const Time stop = fast.last + r * fast.interval;
    std::int64_t k = 0;  // the slow push at or before `stop`; the one after is the other candidate
    if (stop > first)
      k = slow.interval.count() == 0 ? last : std::min(last, (stop - first) / slow.interval);
    for (const std::int64_t candidate : {k, std::min(k + 1, last)}) {
      const Duration distance = std::chrono::abs(first + candidate * slow.interval - stop);
      if (distance < best_distance) {
        best_distance = distance;
        best = static_cast<Step>(r);
      }
    }
  }
  return best;
}

}  // namespace paceline::sync
