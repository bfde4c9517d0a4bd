#include "paceline/sync/dssp.h"

#include "paceline/base/text.h"

namespace paceline::sync {

std::string DSSP::spec() const { return cat("dssp:", low_, "-", high_); }

Decision DSSP::joined(WorkerId worker, Time now) {
  const Step clock = clocks_.join(worker);
  workers_[worker] = Worker{.released = now, .last = now};
  by_age_.insert({clock, now, worker});
  return {.release = {worker},
          .reason = cat("worker ", worker, " joins at clock ", clock, ", the slowest")};
}

Decision DSSP::pushed(const PushId& push, Time now) {
  const WorkerId id = push.worker;
  Worker& worker = workers_[id];
  worker.interval = std::min(now - worker.released, kMaxInterval);
  by_age_.erase({clocks_.of(id), worker.last, id});
  worker.last = now;
  const Step clock = clocks_.advance(id);
  by_age_.insert({clock, now, id});

  Decision decision{.apply = {{{push}}}};
  std::string why;
  if (clocks_.gap(id) > low_ && may_run_ahead(id, why)) {
    worker.released = now;
    decision.release.push_back(id);
  } else {
    held_.insert(id, clock);
  }
  release_held(decision, now);
  decision.reason = cat("worker ", id, held_.contains(id, clock) ? " waits" : " goes on",
                        ": clock ", clock, " is ", clocks_.gap(id), " ahead of worker ",
                        clocks_.slowest(), ", range ", low_, " to ", high_, why);
  return decision;
}

Decision DSSP::left(WorkerId worker, Time now) {
  const Step clock = clocks_.of(worker);
  held_.erase(worker, clock);
  by_age_.erase({clock, workers_[worker].last, worker});
  clocks_.leave(worker);
  Decision decision;
  release_held(decision, now);
  decision.reason = cat("worker ", worker, " left and counts no more; ", decision.release.size(),
                        " workers go on for it");
  return decision;
}

bool DSSP::may_run_ahead(WorkerId worker, std::string& why) {
  Step& extra = workers_[worker].extra;
  if (clocks_.gap(worker) > high_) return false;
  if (extra > 0) {
    --extra;
    why = cat("; ", extra, " extra steps left");
    return true;
  }
  return clocks_.of(worker) == clocks_.max() && grant(worker, why);
}

bool DSSP::grant(WorkerId worker, std::string& why) {
  Worker& fast = workers_[worker];
  const WorkerId slow_id = slowest();
  const Worker& slowest_one = workers_[slow_id];
  if (!slowest_one.interval) {
    why = cat("; worker ", slow_id, " has not pushed yet, so nothing predicts it");
    return false;
  }
  const Pace pace{fast.last, *fast.interval};
  const Pace slow{slowest_one.last, *slowest_one.interval};
  const Step gap = clocks_.gap(worker);
  const Step r = dssp_extra_steps(pace, slow, std::min(high_ - low_, high_ - gap + 1));
  // After r more steps it takes r + gap - low more pushes of the slowest worker to free this one.
  const Duration wait = slow_push(slow, pace.last, r + gap - low_ - 1) -
                        (pace.last + static_cast<std::int64_t>(r) * pace.interval);
  why = cat("; granted ", r, " extra steps, then a predicted wait of ",
            fixed(to_seconds(std::max(wait, Duration{})), 3), " s for worker ", slow_id);
  if (r == 0) return false;
  fast.extra = r - 1;
  return true;
}

void DSSP::release_held(Decision& decision, Time now) {
  held_.let_go(clocks_, low_, [&](WorkerId id) {
    Worker& worker = workers_[id];
    worker.extra = 0;
    worker.released = now;
    decision.release.push_back(id);
  });
}

}  // namespace paceline::sync
