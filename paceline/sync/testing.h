#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "paceline/sync/policy.h"
#include "paceline/sync/random_events.h"

// For tests only: events in short, and a cluster without a network.
namespace paceline::sync::testing {

inline Event join(std::uint32_t worker, std::int64_t at = 0) {
  return {Time{at}, Joined{WorkerId{worker}}};
}
inline Event leave(std::uint32_t worker, std::int64_t at = 0) {
  return {Time{at}, Left{WorkerId{worker}}};
}
inline PushId id(std::uint32_t worker, Step step, Incarnation life = 1) {
  return {WorkerId{worker}, life, step};
}
inline Event push(std::uint32_t worker, Step step, std::int64_t at = 0, Incarnation life = 1) {
  return {Time{at}, Pushed{id(worker, step, life)}};
}
inline std::vector<WorkerId> workers(std::initializer_list<std::uint32_t> ids) {
  std::vector<WorkerId> out;
  for (const std::uint32_t worker : ids) out.push_back(WorkerId{worker});
  return out;
}

// Runs n workers that all join at 0; a step of worker w takes length(w). Events at one time go by
// worker. What the policy says is done at once.
struct Drive {
  std::vector<std::uint64_t> pushes;
  std::vector<std::int64_t> held;  // time from push to release, by worker
  std::uint64_t gap_max = 0;       // of pushes made, after each push
  std::uint64_t staleness_max = 0;
  std::uint64_t barriers = 0;  // updates of more than one push

  Drive(SyncPolicy& policy, std::uint32_t n, std::int64_t until,
        const std::function<std::int64_t(std::uint32_t)>& length)
      : pushes(n), held(n), version_(n), pushed_at_(n) {
    for (std::uint32_t w = 0; w < n; ++w) perform(policy.step(join(w)), 0, length);
    while (!queue_.empty() && std::get<0>(queue_.top()) <= until) {
      const auto [now, w] = queue_.top();
      queue_.pop();
      const std::uint64_t step = pushes[w]++;
      pushed_at_[w] = now;
      gap_max = std::max(gap_max, pushes[w] - *std::min_element(pushes.begin(), pushes.end()));
      perform(policy.step(push(w, step, now)), now, length);
    }
  }

  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t p : pushes) sum += p;
    return sum;
  }

 private:
  void perform(const Decision& decision, std::int64_t now,
               const std::function<std::int64_t(std::uint32_t)>& length) {
    for (const Apply& apply : decision.apply) {
      for (const PushId& push : apply.pushes) {
        staleness_max = std::max(staleness_max, now_version_ - version_[push.worker.value]);
      }
      ++now_version_;
      if (apply.pushes.size() > 1) ++barriers;
    }
    for (const WorkerId w : decision.release) {
      version_[w.value] = now_version_;
      held[w.value] += now - pushed_at_[w.value];
      queue_.push({now + length(w.value), w.value});
    }
  }

  std::vector<std::uint64_t> version_;
  std::vector<std::int64_t> pushed_at_;
  std::uint64_t now_version_ = 0;
  using Entry = std::tuple<std::int64_t, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

using sync::RandomEvents;

}  // namespace paceline::sync::testing
