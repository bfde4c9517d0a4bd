#include "paceline/sync/policy_base.h"

#include <algorithm>

#include "paceline/base/check.h"
#include "paceline/sync/limits.h"

namespace paceline::sync {

Decision PolicyBase::step(const Event& event) {
  const Time now = std::clamp(event.now, now_, kLatest);
  Decision decision = std::visit([&](const auto& what) { return accept(what, now); }, event.what);
  if (decision.reason.empty()) return decision;
  now_ = now;
  std::sort(decision.release.begin(), decision.release.end());
  for (const WorkerId worker : decision.release) {
    Member& member = members_[worker];
    PACELINE_CHECK(member.in && !member.released,
                   "a policy releases who is in, once for each push");
    member.released = true;
  }
  return decision;
}

Decision PolicyBase::accept(const Joined& event, Time now) {
  Member& member = members_[event.worker];
  if (member.in) return {};
  member.in = true;
  return joined(event.worker, now);
}

Decision PolicyBase::accept(const Pushed& event, Time now) {
  const auto it = members_.find(event.push.worker);
  if (it == members_.end()) return {};
  Member& member = it->second;
  if (!member.in || !member.released) return {};
  if (member.has_pushed && event.push <= member.last) return {};
  member.released = false;
  member.has_pushed = true;
  member.last = event.push;
  return pushed(event.push, now);
}

Decision PolicyBase::accept(const Left& event, Time now) {
  const auto it = members_.find(event.worker);
  if (it == members_.end() || !it->second.in) return {};
  it->second.in = false;
  it->second.released = false;
  return left(event.worker, now);
}

}  // namespace paceline::sync
