#pragma once

#include <set>
#include <utility>

#include "paceline/base/ids.h"
#include "paceline/base/worker_table.h"

namespace paceline::sync {

// The clocks of the workers that are in (clock: pushes accepted), and who is slowest.
// Cost: O(log n) a change, O(1) for the least and the greatest.
class Clocks {
 public:
  // A worker comes in at the slowest clock, so that nobody is held up by it; at 0 if it is alone.
  Step join(WorkerId worker) {
    const Step start = order_.empty() ? 0 : min();
    clock_[worker] = start;
    order_.insert({start, worker});
    return start;
  }
  // Those that name a worker: it is in.
  void leave(WorkerId worker) { order_.erase({of(worker), worker}); }
  // Counts a push; the new clock.
  Step advance(WorkerId worker) {
    Step& clock = clock_[worker];
    auto place = order_.extract({clock, worker});
    place.value().first = ++clock;
    order_.insert(std::move(place));
    return clock;
  }

  bool empty() const { return order_.empty(); }
  Step of(WorkerId worker) const { return *clock_.find(worker); }
  Step gap(WorkerId worker) const { return of(worker) - min(); }
  // These three: not empty.
  Step min() const { return order_.begin()->first; }
  Step max() const { return order_.rbegin()->first; }
  WorkerId slowest() const { return order_.begin()->second; }  // of several the lowest id

 private:
  WorkerTable<Step> clock_;                    // also of those that left
  std::set<std::pair<Step, WorkerId>> order_;  // (clock, worker)
};

// Workers that wait for the slowest one, by their clocks, which stand still meanwhile.
// Cost: O(log n) a worker that comes or goes.
class HeldWorkers {
 public:
  void insert(WorkerId worker, Step clock) { order_.insert({clock, worker}); }
  void erase(WorkerId worker, Step clock) { order_.erase({clock, worker}); }
  bool contains(WorkerId worker, Step clock) const { return order_.contains({clock, worker}); }

  // Lets go, in the order of their clocks, of all that are at most `bound` above the least clock.
  template <typename Visit>
  void let_go(const Clocks& clocks, Step bound, Visit visit) {
    while (!order_.empty() && order_.begin()->first - clocks.min() <= bound) {
      const WorkerId worker = order_.begin()->second;
      order_.erase(order_.begin());
      visit(worker);
    }
  }

 private:
  std::set<std::pair<Step, WorkerId>> order_;  // (clock, worker)
};

}  // namespace paceline::sync
