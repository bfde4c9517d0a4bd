#include "paceline/membership/membership.h"

#include <algorithm>

namespace paceline::membership {

Membership::Admission Membership::admit(WorkerId worker, std::uint64_t life, std::uint64_t attempt,
                                        Time now) {
  if (worker.value >= places_.size()) places_.resize(worker.value + std::size_t{1});
  Place& place = places_[worker.value];
  if (std::ranges::find(place.replaced, life) != place.replaced.end()) {
    return {Verdict::Replaced, 0};
  }
  if (place.life == life) {
    if (attempt < place.attempt) return {Verdict::Stale, 0};
    if (attempt == place.attempt) {
      if (place.incarnation == 0) return {Verdict::Stale, 0};
      place.heard = now;
      return {Verdict::Repeated, place.incarnation};
    }
  } else if (place.life != 0) {
    place.replaced.push_back(place.life);
    if (place.replaced.size() > kReplacedKept) place.replaced.erase(place.replaced.begin());
  }
  if (place.incarnation == 0) ++count_;
  place.incarnation = ++last_incarnation_;
  place.life = life;
  place.attempt = attempt;
  place.heard = now;
  ++generation_;
  return {Verdict::Admitted, place.incarnation};
}

bool Membership::leave(WorkerId worker) {
  if (!is_in(worker)) return false;
  places_[worker.value].incarnation = 0;
  --count_;
  ++generation_;
  return true;
}

Incarnation Membership::incarnation(WorkerId worker) const {
  const Place* place = find(worker);
  return place == nullptr ? 0 : place->incarnation;
}

std::vector<WorkerId> Membership::members() const {
  std::vector<WorkerId> members;
  for (std::uint32_t w = 0; w < places_.size(); ++w) {
    if (places_[w].incarnation != 0) members.push_back({w});
  }
  return members;
}

void Membership::heard(WorkerId worker, Time now) {
  if (worker.value < places_.size()) places_[worker.value].heard = now;
}

std::vector<WorkerId> Membership::silent(Time now, Duration limit) const {
  std::vector<WorkerId> silent;
  for (std::uint32_t w = 0; w < places_.size(); ++w) {
    if (places_[w].incarnation != 0 && now - places_[w].heard > limit) silent.push_back({w});
  }
  return silent;
}

Time Membership::oldest_heard(Time now) const {
  Time oldest = now;
  for (const Place& place : places_) {
    if (place.incarnation != 0) oldest = std::min(oldest, place.heard);
  }
  return oldest;
}

}  // namespace paceline::membership
