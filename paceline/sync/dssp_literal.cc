#include "paceline/sync/dssp_literal.h"

#include "paceline/base/text.h"

namespace paceline::sync {

std::string DSSPLiteral::spec() const { return cat("dssp_literal:", low_, "-", high_); }

Decision DSSPLiteral::joined(WorkerId worker, Time now) {
  const Step clock = clocks_.join(worker);
  workers_[worker] = Worker{.last = now};
  by_age_.insert({clock, now, worker});
  return {.release = {worker},
          .reason = cat("worker ", worker, " joins at clock ", clock, ", the slowest")};
}

Decision DSSPLiteral::pushed(const PushId& push, Time now) {
  const WorkerId id = push.worker;
  Worker& worker = workers_[id];
  worker.interval = std::min(now - worker.last, kMaxInterval);
  by_age_.erase({clocks_.of(id), worker.last, id});
  worker.last = now;
  const Step clock = clocks_.advance(id);
  by_age_.insert({clock, now, id});

  Decision decision{.apply = {{{push}}}};
  std::string why;
  if (goes_on(id, why)) {
    decision.release.push_back(id);
  } else {
    held_.insert(id, clock);
  }
  release_held(decision);
  decision.reason = cat("worker ", id, held_.contains(id, clock) ? " waits" : " goes on",
                        ": clock ", clock, " is ", clocks_.gap(id), " ahead of worker ",
                        clocks_.slowest(), ", range ", low_, " to ", high_, why);
  return decision;
}

Decision DSSPLiteral::left(WorkerId worker, Time) {
  const Step clock = clocks_.of(worker);
  held_.erase(worker, clock);
  by_age_.erase({clock, workers_[worker].last, worker});
  clocks_.leave(worker);
  Decision decision;
  release_held(decision);
  decision.reason = cat("worker ", worker, " left and counts no more; ", decision.release.size(),
                        " workers go on for it");
  return decision;
}

// Algorithm 1, lines 4 to 14.
bool DSSPLiteral::goes_on(WorkerId id, std::string& why) {
  Worker& worker = workers_[id];
  if (worker.extra > 0) {
    --worker.extra;
    why = cat("; ", worker.extra, " extra steps left");
    return true;
  }
  if (clocks_.gap(id) <= low_) return true;
  if (clocks_.of(id) != clocks_.max()) return false;
  const WorkerId slow_id = slowest();
  const Worker& slow = workers_[slow_id];
  if (!slow.interval) {
    why = cat("; worker ", slow_id, " has not pushed yet, so nothing predicts it");
    return false;
  }
  worker.extra =
      dssp_extra_steps({worker.last, *worker.interval}, {slow.last, *slow.interval}, high_ - low_);
  why = cat("; granted ", worker.extra, " extra steps by the pace of worker ", slow_id);
  return worker.extra > 0;
}

void DSSPLiteral::release_held(Decision& decision) {
  held_.let_go(clocks_, low_, [&](WorkerId worker) { decision.release.push_back(worker); });
}

}  // namespace paceline::sync
