#include "paceline/sync/dssp_literal.h"

#include "paceline/base/text.h"

namespace paceline::sync {

std::string DSSPLiteral::spec() const { return cat("dssp_literal:", low_, "-", high_); }

Decision DSSPLiteral::joined(WorkerId worker, Time now) {
  const Step clock = clocks_.join(worker);
  workers_[worker] = Worker{.last = now};
  return {.release = {worker},
          .reason = cat("worker ", worker, " joins at clock ", clock, ", the slowest")};
}

Decision DSSPLiteral::pushed(const PushId& push, Time now) {
  const WorkerId id = push.worker;
  Worker& worker = workers_.at(id);
  worker.interval = std::min(now - worker.last, kMaxInterval);
  worker.last = now;
  clocks_.advance(id);

  Decision decision{.apply = {{{push}}}};
  std::string why;
  if (goes_on(id, why)) {
    decision.release.push_back(id);
  } else {
    held_.insert(id);
  }
  release_held(decision);
  decision.reason = cat("worker ", id, held_.contains(id) ? " waits" : " goes on", ": clock ",
                        clocks_.of(id), " is ", clocks_.gap(id), " ahead of worker ",
                        clocks_.slowest(), ", range ", low_, " to ", high_, why);
  return decision;
}

Decision DSSPLiteral::left(WorkerId worker, Time) {
  clocks_.leave(worker);
  workers_.erase(worker);
  held_.erase(worker);
  Decision decision;
  release_held(decision);
  decision.reason = cat("worker ", worker, " left and counts no more; ", decision.release.size(),
                        " workers go on for it");
  return decision;
}

// Algorithm 1, lines 4 to 14.
bool DSSPLiteral::goes_on(WorkerId id, std::string& why) {
  Worker& worker = workers_.at(id);
  if (worker.extra > 0) {
    --worker.extra;
    why = cat("; ", worker.extra, " extra steps left");
    return true;
  }
  if (clocks_.gap(id) <= low_) return true;
  if (clocks_.of(id) != clocks_.max()) return false;
  const WorkerId slow_id = slowest();
  const Worker& slow = workers_.at(slow_id);
  if (!slow.interval) {
    why = cat("; worker ", slow_id, " has not pushed yet, so nothing predicts it");
    return false;
  }
  worker.extra =
      dssp_extra_steps({worker.last, *worker.interval}, {slow.last, *slow.interval}, high_ - low_);
  why = cat("; granted ", worker.extra, " extra steps by the pace of worker ", slow_id);
  return worker.extra > 0;
}

WorkerId DSSPLiteral::slowest() const {
  WorkerId best = clocks_.slowest();
  for (const auto& [clock, id] : clocks_.in_order()) {
    if (clock > clocks_.min()) break;
    if (workers_.at(id).last < workers_.at(best).last) best = id;
  }
  return best;
}

void DSSPLiteral::release_held(Decision& decision) {
  for (auto it = held_.begin(); it != held_.end();) {
    if (clocks_.gap(*it) > low_) {
      ++it;
    } else {
      decision.release.push_back(*it);
      it = held_.erase(it);
    }
  }
}

}  // namespace paceline::sync
