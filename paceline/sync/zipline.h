#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "paceline/base/result.h"
#include "paceline/base/time.h"

// ZipLine: the barrier of the next superstep. Given for each of n workers the times at which its
// steps are predicted to end, choose one end of each so that first and last lie as close together
// as can be: nobody then waits longer than that.
//
// Source: Zhao et al., "Elastic Bulk Synchronous Parallel Model for Distributed Deep Learning",
// ICDM 2019, section IV (problem and proof of what is optimal).
// Deviation: the paper sorts all ends and scans them, O(R n^2) time and O(R n) memory. The problem
// is the smallest range that has an element of each of n sorted lists, so a merge that keeps one
// end of each worker finds the same window: whenever an end is the least of the n, the others are
// each worker's first not before it, so the greatest of them closes the narrowest window that
// begins there. The merge is a tournament (loser) tree that carries the next end in its node.
//
// Invariants:
//   (1) `wait` is the least there is; of several windows the one with the earliest barrier;
//   (2) index[p] is the latest end of worker p not after the barrier (a window may name an earlier
//       one: same wait, one step lost).
// Cost: O(n R log n). Memory beyond the input: O(n).
namespace paceline::sync {

// The ends of one worker: first, first + interval, ... `count` of them.
struct Progression {
  Time first{};
  Duration interval{};  // >= 1 ns
  std::uint32_t count = 0;
};

template <typename T>
struct Superstep {
  T barrier{};                       // when the last worker arrives
  T wait{};                          // of the worker that arrives first
  T total_wait{};                    // of all workers together
  std::vector<std::uint32_t> index;  // [n] steps to make, from 1

  bool operator==(const Superstep&) const = default;
};

// rows: at least one, none empty, the last end of each within the range of Time.
Superstep<Time> zipline(std::span<const Progression> rows);

// rows: [n], each its ends, strictly rising; lengths may differ. At least one row, none empty:
// check_ends() says so of rows that come from outside.
Superstep<double> zipline(std::span<const std::span<const double>> rows);
Superstep<Time> zipline(std::span<const std::span<const Time>> rows);

// Ends must be finite, at least 0 and strictly rising; the error names row and column, from 1.
Status check_ends(std::span<const std::span<const double>> rows);

}  // namespace paceline::sync
