#pragma once

#include <chrono>
#include <cstdint>

namespace paceline {

// Integer nanoseconds: no floating point ever decides an order.
using Duration = std::chrono::nanoseconds;

// Time since the run began, on the clock of whoever drives: real in node/, virtual in sim/. Pure
// code gets it with each event and never reads a clock.
using Time = std::chrono::nanoseconds;

constexpr double to_seconds(Duration duration) {
  return static_cast<double>(duration.count()) * 1e-9;
}
// seconds: finite, within the range of int64 nanoseconds (292 years).
constexpr Duration from_seconds(double seconds) {
  return Duration{static_cast<std::int64_t>(seconds * 1e9 + (seconds < 0 ? -0.5 : 0.5))};
}

}  // namespace paceline
