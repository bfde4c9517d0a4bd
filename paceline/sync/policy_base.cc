#include "paceline/sync/policy_base.h"

#include <algorithm>
#include <utility>

#include "paceline/base/check.h"
#include "paceline/sync/limits.h"

namespace paceline::sync {

Decision PolicyBase::step(const Event& event) {
  const Time now = std::clamp(event.now, now_, kLatest);
  std::optional<Decision> accepted =
      std::visit([&](const auto& what) { return accept(what, now); }, event.what);
  if (!accepted) return {};
  Decision& decision = *accepted;
  PACELINE_CHECK(!decision.reason.empty(), "a policy says why");
  now_ = now;
  std::sort(decision.release.begin(), decision.release.end());
  for (const WorkerId worker : decision.release) {
    Member& member = members_[worker];
    PACELINE_CHECK(member.in && !member.released,
                   "a policy releases who is in, once for each push");
    member.released = true;
  }
  return *std::move(accepted);
}

std::optional<Decision> PolicyBase::accept(const Joined& event, Time now) {
  Member& member = members_[event.worker];
  if (member.in) return std::nullopt;
  member.in = true;
  return joined(event.worker, now);
}

std::optional<Decision> PolicyBase::accept(const Pushed& event, Time now) {
  const auto it = members_.find(event.push.worker);
  if (it == members_.end()) return std::nullopt;
  Member& member = it->second;
  if (!member.in || !member.released) return std::nullopt;
  if (member.has_pushed && event.push <= member.last) return std::nullopt;
  member.released = false;
  member.has_pushed = true;
  member.last = event.push;
  return pushed(event.push, now);
}

std::optional<Decision> PolicyBase::accept(const Left& event, Time now) {
  const auto it = members_.find(event.worker);
  if (it == members_.end() || !it->second.in) return std::nullopt;
  it->second.in = false;
  it->second.released = false;
  return left(event.worker, now);
}

}  // namespace paceline::sync
