#include "bench/paper/zipline_paper.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "paceline/base/random.h"

namespace paceline::paper {
namespace {

struct Point {
  double end = 0;
  std::uint32_t worker = 0;
  std::uint32_t index = 0;  // from 0
};
bool is_before(const Point& a, const Point& b) {
  return a.end != b.end ? a.end < b.end : a.worker < b.worker;
}

std::vector<Point> sorted_timeline(Rows rows) {
  std::vector<Point> points;
  std::size_t count = 0;
  for (const auto& row : rows) count += row.size();
  points.reserve(count);
  for (std::uint32_t p = 0; p < rows.size(); ++p) {
    for (std::uint32_t i = 0; i < rows[p].size(); ++i) points.push_back({rows[p][i], p, i});
  }
  std::sort(points.begin(), points.end(), is_before);
  return points;
}

// The set Z: at most one point of each worker, in order of time. Its points lie in [begin_, end) of
// one vector, so that dropping the first moves nothing.
class Zip {
 public:
  explicit Zip(std::size_t n) : n_(n) { points_.reserve(4 * n); }

  bool is_full() const { return points_.size() - begin_ == n_; }
  double wait() const { return points_.back().end - points_[begin_].end; }
  std::span<const Point> points() const { return std::span(points_).subspan(begin_); }

  void append(const Point& point) {
    if (points_.size() == points_.capacity()) {
      points_.erase(points_.begin(), at(begin_));
      begin_ = 0;
    }
    points_.push_back(point);
  }
  std::uint32_t drop_first() { return points_[begin_++].worker; }

  void remove_by_scan(std::uint32_t worker) {
    for (std::size_t i = begin_; i < points_.size(); ++i) {
      if (points_[i].worker != worker) continue;
      points_.erase(at(i));
      return;
    }
  }
  // A worker's last point is in Z unless it was dropped.
  void remove_by_search(const Point& old) {
    const auto found = std::lower_bound(at(begin_), points_.end(), old, is_before);
    if (found != points_.end() && found->worker == old.worker) points_.erase(found);
  }

 private:
  std::vector<Point>::iterator at(std::size_t i) {
    return points_.begin() + static_cast<std::ptrdiff_t>(i);
  }
  std::size_t n_;
  std::size_t begin_ = 0;
  std::vector<Point> points_;
};

Window to_window(std::span<const Point> points) {
  Window window;
  window.index.resize(points.size());
  window.barrier = points.back().end;
  window.wait = window.barrier - points.front().end;
  for (const Point& point : points) window.index[point.worker] = point.index + 1;
  return window;
}

enum class Duplicates { Scan, ScanUnlessLacking, SearchUnlessLacking };

template <Duplicates kDuplicates>
Window slide(Rows rows) {
  const std::vector<Point> timeline = sorted_timeline(rows);
  constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  Zip zip(rows.size());
  std::uint32_t lacking = kNobody;
  std::vector<Point> best;
  double best_wait = HUGE_VAL;
  for (const Point& point : timeline) {
    if (kDuplicates == Duplicates::Scan || point.worker != lacking) {
      if (kDuplicates != Duplicates::SearchUnlessLacking) {
        zip.remove_by_scan(point.worker);
      } else if (point.index > 0) {
        zip.remove_by_search({rows[point.worker][point.index - 1], point.worker, point.index - 1});
      }
    }
    zip.append(point);
    if (!zip.is_full()) continue;
    if (zip.wait() < best_wait) {
      best_wait = zip.wait();
      best.assign(zip.points().begin(), zip.points().end());
    }
    lacking = zip.drop_first();
  }
  return to_window(best);
}

std::uint32_t nearest(std::span<const double> row, double end) {
  std::uint32_t best = 0;
  for (std::uint32_t i = 1; i < row.size(); ++i) {
    if (std::abs(row[i] - end) < std::abs(row[best] - end)) best = i;
  }
  return best;
}

// True if a window became the best.
void scan_row(Rows rows, std::size_t fixed, Window& best) {
  std::vector<std::uint32_t> choice(rows.size());
  for (std::uint32_t i = 0; i < rows[fixed].size(); ++i) {
    const double end = rows[fixed][i];
    double low = end;
    double high = end;
    for (std::size_t p = 0; p < rows.size(); ++p) {
      choice[p] = p == fixed ? i : nearest(rows[p], end);
      low = std::min(low, rows[p][choice[p]]);
      high = std::max(high, rows[p][choice[p]]);
    }
    if (!best.index.empty() && std::pair(high - low, high) >= std::pair(best.wait, best.barrier)) {
      continue;
    }
    best.wait = high - low;
    best.barrier = high;
    best.index = choice;
    for (std::uint32_t& index : best.index) ++index;
  }
}

}  // namespace

Window zipline(Rows rows) { return slide<Duplicates::Scan>(rows); }
Window zipline_opt(Rows rows) { return slide<Duplicates::ScanUnlessLacking>(rows); }
Window zipline_opt_bs(Rows rows) { return slide<Duplicates::SearchUnlessLacking>(rows); }

Window grid_scan(Rows rows) {
  std::size_t earliest = 0;
  for (std::size_t p = 1; p < rows.size(); ++p) {
    if (rows[p][0] < rows[earliest][0]) earliest = p;
  }
  Window best;
  scan_row(rows, earliest, best);
  return best;
}

Window full_grid_scan(Rows rows) {
  Window best;
  for (std::size_t fixed = 0; fixed < rows.size(); ++fixed) scan_row(rows, fixed, best);
  return best;
}

Window brute_force(Rows rows) {
  std::vector<std::uint32_t> choice(rows.size());
  Window best;
  for (;;) {
    double low = rows[0][choice[0]];
    double high = low;
    for (std::size_t p = 1; p < rows.size(); ++p) {
      low = std::min(low, rows[p][choice[p]]);
      high = std::max(high, rows[p][choice[p]]);
    }
    if (best.index.empty() || std::pair(high - low, high) < std::pair(best.wait, best.barrier)) {
      best = {high, high - low, choice};
    }
    std::size_t p = 0;
    while (p < rows.size() && ++choice[p] == rows[p].size()) choice[p++] = 0;
    if (p == rows.size()) break;
  }
  for (std::uint32_t& index : best.index) ++index;
  return best;
}

std::vector<std::vector<double>> generate(std::uint64_t seed, std::size_t n, std::size_t r) {
  constexpr std::int64_t kDate = 1'600'000'000'000;
  constexpr std::int64_t kSteps = 20;
  Rng rng(seed);
  std::vector<std::int64_t> last(n);
  std::vector<std::int64_t> interval(n);
  std::int64_t longest = 0;
  for (std::size_t p = 0; p < n; ++p) {
    interval[p] = rng.between(1000, 1500);
    last[p] = kDate + static_cast<std::int64_t>(rng.below(n)) + (kSteps - 1) * interval[p];
    longest = std::max(longest, last[p]);
  }
  std::vector<std::vector<double>> rows(n);
  for (std::size_t p = 0; p < n; ++p) {
    while (last[p] < longest) last[p] += interval[p];
    for (std::size_t i = 0; i < r; ++i) {
      rows[p].push_back(static_cast<double>(last[p] + static_cast<std::int64_t>(i) * interval[p]));
    }
  }
  return rows;
}

}  // namespace paceline::paper
