#include "paceline/sync/policy_base.h"

#include <algorithm>
#include <utility>

#include "paceline/base/check.h"
#include "paceline/base/text.h"
#include "paceline/sync/limits.h"

namespace paceline::sync {

Decision PolicyBase::step(const Event& event) {
  Answer answer = try_step(event);
  PACELINE_CHECK(answer.kept.has_value(), answer.kept.error().what);
  return std::move(answer.decision);
}

PolicyBase::Answer PolicyBase::try_step(const Event& event) {
  const Time now = std::clamp(event.now, now_, kLatest);
  std::optional<Decision> accepted =
      std::visit([&](const auto& what) { return accept(what, now); }, event.what);
  if (!accepted) return {};
  Decision& decision = *accepted;
  now_ = now;
  std::sort(decision.release.begin(), decision.release.end());
  Status kept = open_releases(decision);
  return {*std::move(accepted), std::move(kept)};
}

Status PolicyBase::open_releases(const Decision& decision) {
  if (decision.reason.empty()) return fail(Code::InvalidArgument, "a policy says why");
  for (const WorkerId worker : decision.release) {
    Member* const member = members_.find(worker);
    if (member == nullptr || !member->in || member->released) {
      return fail(Code::InvalidArgument, cat("a policy releases who is in, once for each push; "
                                             "worker ",
                                             worker, " is not, or has a release already"));
    }
    member->released = true;
  }
  return {};
}

std::optional<Decision> PolicyBase::accept(const Joined& event, Time now) {
  Member& member = members_[event.worker];
  if (member.in) return std::nullopt;
  member.in = true;
  return joined(event.worker, now);
}

std::optional<Decision> PolicyBase::accept(const Pushed& event, Time now) {
  Member* const member = members_.find(event.push.worker);
  if (member == nullptr || !member->in || !member->released) return std::nullopt;
  if (member->has_pushed && event.push <= member->last) return std::nullopt;
  member->released = false;
  member->has_pushed = true;
  member->last = event.push;
  return pushed(event.push, now);
}

std::optional<Decision> PolicyBase::accept(const Left& event, Time now) {
  Member* const member = members_.find(event.worker);
  if (member == nullptr || !member->in) return std::nullopt;
  member->in = false;
  member->released = false;
  return left(event.worker, now);
}

}  // namespace paceline::sync
