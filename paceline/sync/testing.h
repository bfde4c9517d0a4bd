#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "paceline/base/random.h"
#include "paceline/sync/policy.h"

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

// Random events for a policy: mostly what a good cluster sends, with joins, leaves and returns, and
// among it everything that makes no sense: repeated events, pushes before a release, of an old
// step, of nobody, second joins and leaves, time that stands still or goes back.
class RandomEvents {
 public:
  RandomEvents(Rng rng, std::uint32_t n) : rng_(rng), n_(n), members_(n) {}

  Event next() {
    if (rng_.chance(1, 2)) now_ += rng_.between(1, 7);
    Event event = choose();
    event.now = Time{rng_.chance(1, 20) ? rng_.between(-5, now_) : now_};
    seen_.push_back(event);
    return event;
  }
  // What the policy answered.
  void observe(const Event& event, const Decision& decision) {
    if (decision.reason.empty()) return;
    if (const auto* pushed = std::get_if<Pushed>(&event.what)) {
      Member& member = members_[pushed->push.worker.value];
      member.open = false;
      member.step = pushed->push.step + 1;
      member.life = pushed->push.incarnation;
    } else if (const auto* joined = std::get_if<Joined>(&event.what)) {
      Member& member = members_[joined->worker.value];
      member.in = true;
      if (rng_.chance(3, 4)) {  // else it returns in the same life, and counts on
        ++member.life;
        member.step = 0;
      }
    } else {
      Member& member = members_[std::get<Left>(event.what).worker.value];
      member.in = member.open = false;
    }
    for (const WorkerId worker : decision.release) members_[worker.value].open = true;
  }

 private:
  struct Member {
    bool in = false;
    bool open = false;
    Step step = 0;
    Incarnation life = 0;
  };

  Event choose() {
    const std::uint64_t dice = rng_.below(100);
    const auto worker = static_cast<std::uint32_t>(rng_.below(n_));
    Member& member = members_[worker];
    if (dice < 6 && !seen_.empty()) return seen_[rng_.below(seen_.size())];
    if (dice < 10) return push(worker, member.step, 0, member.life);  // whoever it is
    if (dice < 13)
      return push(worker, member.step - std::min<Step>(1, member.step), 0, member.life);
    if (dice < 17) return leave(worker);
    if (dice < 26) return join(worker);
    std::vector<std::uint32_t> open;
    for (std::uint32_t w = 0; w < n_; ++w) {
      if (members_[w].open) open.push_back(w);
    }
    if (open.empty()) return join(worker);
    const std::uint32_t w = open[rng_.below(open.size())];
    return push(w, members_[w].step, 0, members_[w].life);
  }

  Rng rng_;
  std::uint32_t n_;
  std::vector<Member> members_;
  std::vector<Event> seen_;
  std::int64_t now_ = 0;
};

}  // namespace paceline::sync::testing
