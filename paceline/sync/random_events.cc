#include "paceline/sync/random_events.h"

#include <algorithm>

namespace paceline::sync {
namespace {

Event push(std::uint32_t worker, Step step, Incarnation life) {
  return {Time{}, Pushed{{WorkerId{worker}, life, step}}};
}
Event join(std::uint32_t worker) { return {Time{}, Joined{WorkerId{worker}}}; }
Event leave(std::uint32_t worker) { return {Time{}, Left{WorkerId{worker}}}; }

}  // namespace

Event RandomEvents::next() {
  if (rng_.chance(1, 2)) now_ += rng_.between(1, 7);
  Event event = choose();
  event.now = Time{rng_.chance(1, 20) ? rng_.between(-5, now_) : now_};
  seen_.push_back(event);
  return event;
}

void RandomEvents::observe(const Event& event, const Decision& decision) {
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

Event RandomEvents::choose() {
  const std::uint64_t dice = rng_.below(100);
  const auto worker = static_cast<std::uint32_t>(rng_.below(n_));
  Member& member = members_[worker];
  if (dice < 6 && !seen_.empty()) return seen_[rng_.below(seen_.size())];
  if (dice < 10) return push(worker, member.step, member.life);  // whoever it is
  if (dice < 13) return push(worker, member.step - std::min<Step>(1, member.step), member.life);
  if (dice < 17) return leave(worker);
  if (dice < 26) return join(worker);
  std::vector<std::uint32_t> open;
  for (std::uint32_t w = 0; w < n_; ++w) {
    if (members_[w].open) open.push_back(w);
  }
  if (open.empty()) return join(worker);
  const std::uint32_t w = open[rng_.below(open.size())];
  return push(w, members_[w].step, members_[w].life);
}

}  // namespace paceline::sync
