#include "paceline/sync/zipline.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

#include "paceline/base/check.h"
#include "paceline/base/text.h"

namespace paceline::sync {
namespace {

// The ends of a progression, made when they are asked for.
class LazyEnds {
 public:
  using Value = Time;
  explicit LazyEnds(const Progression& row)
      : next_(row.first), interval_(row.interval), left_(row.count) {}
  bool done() const { return left_ == 0; }
  Time pop() {
    const Time end = next_;
    if (--left_ > 0) next_ += interval_;
    return end;
  }

 private:
  Time next_;
  Duration interval_;
  std::uint32_t left_;
};

// The ends of a row in memory. The next one is read when the one before is taken, so that a row
// that is out of the cache keeps nobody waiting.
template <typename T>
class StoredEnds {
 public:
  using Value = T;
  explicit StoredEnds(std::span<const T> row)
      : next_(row.data()), end_(row.data() + row.size()), end_time_(row.empty() ? T{} : row[0]) {}
  bool done() const { return next_ == end_; }
  T pop() {
    const T end_time = end_time_;
    if (++next_ != end_) end_time_ = *next_;
    return end_time;
  }

 private:
  const T* next_;
  const T* end_;
  T end_time_;  // *next_, if there is one
};

// Times as integers of the same order, so that a match needs no branch.
std::int64_t to_key(Time end) { return end.count(); }
Time from_key(std::int64_t key, Time) { return Time{key}; }
std::int64_t flip(std::int64_t bits) {  // negative doubles have their order reversed
  return bits ^ ((bits >> 63) & std::numeric_limits<std::int64_t>::max());
}
std::int64_t to_key(double end) { return flip(std::bit_cast<std::int64_t>(end)); }
double from_key(std::int64_t key, double) { return std::bit_cast<double>(flip(key)); }

// A tournament of n players, each with its least end still in play. Node i in 1..n-1 keeps the
// loser of its match, whose parent is i / 2; player p enters at (n + p) / 2. Nodes hold the ends
// themselves, so that a match touches no row.
template <typename T>
class LoserTree {
 public:
  explicit LoserTree(const std::vector<T>& ends) : nodes_(ends.size()) {
    const std::size_t n = ends.size();
    std::vector<Node> winners(2 * n);
    for (std::size_t p = 0; p < n; ++p) winners[n + p] = {to_key(ends[p]), p};
    for (std::size_t i = n - 1; i >= 1; --i) {
      Node a = winners[2 * i];
      Node b = winners[2 * i + 1];
      if (b.key < a.key) std::swap(a, b);
      winners[i] = a;
      nodes_[i] = b;
    }
    winner_ = winners[1];  // with n = 1 the player itself
  }

  std::size_t player() const { return winner_.player; }
  T end() const { return from_key(winner_.key, T{}); }

  // The winner plays on with its next end.
  void replace_winner(T end) {
    Node rising{to_key(end), winner_.player};
    for (std::size_t i = (nodes_.size() + rising.player) / 2; i >= 1; i /= 2) {
      // Half of all matches are lost, at random: a branch would be guessed wrong, so swap by mask.
      Node& node = nodes_[i];
      const std::uint64_t loses = -static_cast<std::uint64_t>(node.key < rising.key);
      const std::int64_t keys = (node.key ^ rising.key) & static_cast<std::int64_t>(loses);
      const std::uint64_t players = (node.player ^ rising.player) & loses;
      node.key ^= keys;
      rising.key ^= keys;
      node.player ^= players;
      rising.player ^= players;
    }
    winner_ = rising;
  }

 private:
  struct Node {
    std::int64_t key;
    std::uint64_t player;
  };
  std::vector<Node> nodes_;
  Node winner_{};
};

// The narrowest window (its wait and its barrier).
template <typename Ends>
std::pair<typename Ends::Value, typename Ends::Value> narrowest(std::vector<Ends>& rows) {
  using T = typename Ends::Value;
  std::vector<T> first;
  first.reserve(rows.size());
  for (Ends& row : rows) {
    PACELINE_CHECK(!row.done(), "zipline: no row is empty");
    first.push_back(row.pop());
  }
  T barrier = *std::max_element(first.begin(), first.end());
  LoserTree<T> tree(first);
  T best_wait = barrier - tree.end();
  T best_barrier = barrier;
  while (!rows[tree.player()].done()) {
    const T next = rows[tree.player()].pop();
    barrier = std::max(barrier, next);
    tree.replace_winner(next);
    const T wait = barrier - tree.end();
    if (wait < best_wait) {  // the barrier never falls, so the first of equals is the earliest
      best_wait = wait;
      best_barrier = barrier;
    }
  }
  return {best_wait, best_barrier};
}

// The latest end of a row not after the barrier: its index from 1, and itself.
std::pair<std::uint32_t, Time> latest(const Progression& row, Time barrier) {
  const auto later = static_cast<std::uint64_t>((barrier - row.first) / row.interval);
  const auto steps = static_cast<std::uint32_t>(std::min<std::uint64_t>(later, row.count - 1));
  return {steps + 1, row.first + static_cast<std::int64_t>(steps) * row.interval};
}
template <typename T>
std::pair<std::uint32_t, T> latest(std::span<const T> row, T barrier) {
  const auto after = std::upper_bound(row.begin(), row.end(), barrier);
  return {static_cast<std::uint32_t>(after - row.begin()), *(after - 1)};
}

template <typename Ends, typename Row>
auto solve(std::span<const Row> rows) {
  using T = typename Ends::Value;
  PACELINE_CHECK(!rows.empty(), "zipline: at least one row");
  Superstep<T> superstep;
  {
    std::vector<Ends> ends;
    ends.reserve(rows.size());
    for (const Row& row : rows) ends.emplace_back(row);
    std::tie(superstep.wait, superstep.barrier) = narrowest(ends);
  }
  superstep.index.reserve(rows.size());
  for (const Row& row : rows) {
    const auto [index, end] = latest(row, superstep.barrier);
    superstep.index.push_back(index);
    superstep.total_wait += superstep.barrier - end;
  }
  return superstep;
}

}  // namespace

Superstep<Time> zipline(std::span<const Progression> rows) { return solve<LazyEnds>(rows); }

Superstep<double> zipline(std::span<const std::span<const double>> rows) {
  return solve<StoredEnds<double>>(rows);
}

Superstep<Time> zipline(std::span<const std::span<const Time>> rows) {
  return solve<StoredEnds<Time>>(rows);
}

Status check_ends(std::span<const std::span<const double>> rows) {
  if (rows.empty()) {
    return fail(Code::InvalidArgument, "no rows", "give one row of predicted end times a worker");
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto row = rows[r];
    if (row.empty()) {
      return fail(Code::InvalidArgument, cat("row ", r + 1, " is empty"),
                  "every worker needs at least one predicted end time");
    }
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (!std::isfinite(row[c]) || row[c] < 0) {
        return fail(Code::InvalidArgument,
                    cat("row ", r + 1, ", column ", c + 1, ": ", row[c], " is no end time"),
                    "end times are finite and at least 0");
      }
      if (c > 0 && row[c] <= row[c - 1]) {
        return fail(
            Code::InvalidArgument,
            cat("row ", r + 1, ", column ", c + 1, ": ", row[c], " is not after ", row[c - 1]),
            "the end times of a worker must rise strictly");
      }
    }
  }
  return {};
}

}  // namespace paceline::sync
