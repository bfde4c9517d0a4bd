#pragma once

#include <map>
#include <set>
#include <utility>

#include "paceline/base/ids.h"

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
  void leave(WorkerId worker) {
    order_.erase({clock_.at(worker), worker});
    clock_.erase(worker);
  }
  // Counts a push; the new clock.
  Step advance(WorkerId worker) {
    Step& clock = clock_.at(worker);
    order_.erase({clock, worker});
    order_.insert({++clock, worker});
    return clock;
  }

  bool empty() const { return order_.empty(); }
  Step of(WorkerId worker) const { return clock_.at(worker); }
  Step gap(WorkerId worker) const { return of(worker) - min(); }
  // These three: not empty.
  Step min() const { return order_.begin()->first; }
  Step max() const { return order_.rbegin()->first; }
  WorkerId slowest() const { return order_.begin()->second; }  // of several the lowest id

  // (clock, worker), rising.
  const std::set<std::pair<Step, WorkerId>>& in_order() const { return order_; }

 private:
  std::map<WorkerId, Step> clock_;
  std::set<std::pair<Step, WorkerId>> order_;
};

}  // namespace paceline::sync
