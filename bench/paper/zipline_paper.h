#pragma once

#include <cstdint>
#include <span>
#include <vector>

// The algorithms that ElasticBSP's papers print for choosing the next barrier, as printed, to hold
// sync::zipline() against. None of them runs in Paceline.
//
// Sources: Zhao et al., "Elastic Bulk Synchronous Parallel Model for Distributed Deep Learning",
// ICDM 2019 (ZipLine, GridScan, FullGridScan); "ZipLine: an optimized algorithm for the elastic
// bulk synchronous parallel model", Machine Learning 2021 and DSAA 2021 (ZipLineOpt, ZipLineOptBS).
// The authors' own ZipLine is not published. The containers are therefore ours: Z is a vector that
// keeps its points in order of time and never moves but to close a gap, the fastest of those tried
// (deque, list and set were slower), so that nothing is won by a slow opponent.
// Added: when the timeline ends while Z lacks a worker, ZipLine stops without evaluating.
namespace paceline::paper {

// The ends of each worker: [n], strictly rising, none empty.
using Rows = std::span<const std::span<const double>>;

struct Window {
  double barrier = 0;                // the last of the chosen ends
  double wait = 0;                   // from the first to the last of them
  std::vector<std::uint32_t> index;  // [n] the end chosen of each, from 1

  bool operator==(const Window&) const = default;
};

// Exact: the least wait, and of equals the earliest barrier.
Window zipline(Rows rows);         // O(R n^2): each new point looks through Z for its worker's old
Window zipline_opt(Rows rows);     // not if its worker is the one that Z lacks
Window zipline_opt_bs(Rows rows);  // and else a binary search of Z for the old point's time

// Heuristics. For each end of one row the nearest end of every other row, all of them looked at.
Window grid_scan(Rows rows);       // O(R^2 n): the row whose first end is the earliest
Window full_grid_scan(Rows rows);  // O(R^2 n^2): every row in turn

// Over all R^n choices.
Window brute_force(Rows rows);

// A matrix as the authors' two generators make it (github.com/xingzhaoo/ElasticBSP): workers start
// within n ms of each other, each has an interval of 1000 to 1500 ms for ever, and makes 20 steps
// and then as many as to reach the longest of these; the R ends predicted from there begin with the
// last step itself. Milliseconds since an arbitrary date.
std::vector<std::vector<double>> generate(std::uint64_t seed, std::size_t n, std::size_t r);

}  // namespace paceline::paper
