#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include "paceline/base/ids.h"
#include "paceline/base/time.h"

namespace paceline::sync {

// Bounds of everything that is predicted from, so that no event and no option makes a prediction
// leave the range of Time, or take unbounded memory or time.
inline constexpr Time kLatest{std::int64_t{1} << 62};              // 146 years
inline constexpr Duration kMaxInterval = std::chrono::hours(100);  // longer ones count as this
inline constexpr std::uint32_t kMaxAhead = 10'000;                 // steps looked ahead
inline constexpr Step kMaxStaleness = 1'000'000;                   // of ssp; beyond it asp says it

static_assert(kMaxInterval.count() < (std::numeric_limits<std::int64_t>::max() - kLatest.count()) /
                                         (std::int64_t{kMaxAhead} + 1));

}  // namespace paceline::sync
