#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "paceline/base/check.h"
#include "paceline/base/time.h"

namespace paceline::sim {

// Virtual time: what is to happen, in order. Of things at one time the one that was planned first
// comes first, so that a run repeats.
class World {
 public:
  using Action = std::function<void()>;

  Time now() const { return now_; }
  std::uint64_t events() const { return done_; }
  bool is_empty() const { return heap_.empty(); }
  Time next() const { return heap_.front().at; }  // not empty

  // at: not before now.
  void plan(Time at, Action action) {
    PACELINE_CHECK(at >= now_, "nothing is planned for the past");
    heap_.push_back({at, planned_++, std::move(action)});
    std::push_heap(heap_.begin(), heap_.end(), is_later);
  }

  // Nothing happens until then. at: not before now, not after next().
  void wait_until(Time at) { now_ = at; }

  void run_next() {  // not empty
    std::pop_heap(heap_.begin(), heap_.end(), is_later);
    Item item = std::move(heap_.back());
    heap_.pop_back();
    now_ = item.at;
    ++done_;
    item.action();
  }

 private:
  struct Item {
    Time at{};
    std::uint64_t number = 0;
    Action action;
  };
  static bool is_later(const Item& a, const Item& b) {
    return a.at != b.at ? a.at > b.at : a.number > b.number;
  }

  Time now_{};
  std::uint64_t planned_ = 0;
  std::uint64_t done_ = 0;
  std::vector<Item> heap_;
};

}  // namespace paceline::sim
