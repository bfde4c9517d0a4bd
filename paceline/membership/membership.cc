#include "paceline/membership/membership.h"

#include <algorithm>

namespace paceline::membership {

Membership::Admission Membership::admit(WorkerId worker, std::uint64_t life, std::uint64_t attempt,
                                        Time now) {
  Place& place = places_[worker];
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
    if (place.replaced.size() > kReplacedKept) place.replaced.pop_front();
  }
  place.incarnation = ++last_incarnation_;
  place.life = life;
  place.attempt = attempt;
  place.heard = now;
  ++generation_;
  return {Verdict::Admitted, place.incarnation};
}

bool Membership::leave(WorkerId worker) {
  const auto place = places_.find(worker);
  if (place == places_.end() || place->second.incarnation == 0) return false;
  place->second.incarnation = 0;
  ++generation_;
  return true;
}

Incarnation Membership::incarnation(WorkerId worker) const {
  const auto place = places_.find(worker);
  return place == places_.end() ? 0 : place->second.incarnation;
}

std::vector<WorkerId> Membership::members() const {
  std::vector<WorkerId> members;
  for (const auto& [worker, place] : places_) {
    if (place.incarnation != 0) members.push_back(worker);
  }
  return members;
}

void Membership::heard(WorkerId worker, Time now) {
  const auto place = places_.find(worker);
  if (place != places_.end()) place->second.heard = now;
}

std::vector<WorkerId> Membership::silent(Time now, Duration limit) const {
  std::vector<WorkerId> silent;
  for (const auto& [worker, place] : places_) {
    if (place.incarnation != 0 && now - place.heard > limit) silent.push_back(worker);
  }
  return silent;
}

}  // namespace paceline::membership
