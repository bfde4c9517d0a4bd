#include "paceline/sync/dssp.h"

#include "paceline/base/text.h"

namespace paceline::sync {

std::string DSSP::spec() const { return cat("dssp:", low_, "-", high_); }

Decision DSSP::joined(WorkerId worker, Time now) {
  const Step clock = clocks_.join(worker);
  workers_[worker] = Worker{.released = now};
  return {.release = {worker},
          .reason = cat("worker ", worker, " joins at clock ", clock, ", the slowest")};
}

Decision DSSP::pushed(const PushId& push, Time now) {
  const WorkerId id = push.worker;
  Worker& worker = workers_.at(id);
  worker.pace = Pace{now, std::min(now - worker.released, kMaxInterval)};
  clocks_.advance(id);

  Decision decision{.apply = {{{push}}}};
  std::string why;
  if (clocks_.gap(id) > low_ && may_run_ahead(id, why)) {
    worker.released = now;
    decision.release.push_back(id);
  } else {
    held_.insert(id);
  }
  release_held(decision, now);
  decision.reason = cat("worker ", id, held_.contains(id) ? " waits" : " goes on", ": clock ",
                        clocks_.of(id), " is ", clocks_.gap(id), " ahead of worker ",
                        clocks_.slowest(), ", range ", low_, " to ", high_, why);
  return decision;
}

Decision DSSP::left(WorkerId worker, Time now) {
  clocks_.leave(worker);
  workers_.erase(worker);
  held_.erase(worker);
  Decision decision;
  release_held(decision, now);
  decision.reason = cat("worker ", worker, " left and counts no more; ", decision.release.size(),
                        " workers go on for it");
  return decision;
}

bool DSSP::may_run_ahead(WorkerId worker, std::string& why) {
  Step& extra = workers_.at(worker).extra;
  if (clocks_.gap(worker) > high_) return false;
  if (extra > 0) {
    --extra;
    why = cat("; ", extra, " extra steps left");
    return true;
  }
  return clocks_.of(worker) == clocks_.max() && grant(worker, why);
}

bool DSSP::grant(WorkerId worker, std::string& why) {
  Worker& fast = workers_.at(worker);
  const WorkerId slow_id = slowest();
  const std::optional<Pace>& slow = workers_.at(slow_id).pace;
  if (!slow) {
    why = cat("; worker ", slow_id, " has not pushed yet, so nothing predicts it");
    return false;
  }
  const Step gap = clocks_.gap(worker);
  const Step r = dssp_extra_steps(*fast.pace, *slow, std::min(high_ - low_, high_ - gap + 1));
  // After r more steps it takes r + gap - low more pushes of the slowest worker to free this one.
  const Duration wait = slow_push(*slow, fast.pace->last, r + gap - low_ - 1) -
                        (fast.pace->last + static_cast<std::int64_t>(r) * fast.pace->interval);
  why = cat("; granted ", r, " extra steps, then a predicted wait of ",
            fixed(to_seconds(std::max(wait, Duration{})), 3), " s for worker ", slow_id);
  if (r == 0) return false;
  fast.extra = r - 1;
  return true;
}

// Of several with the slowest clock the one whose last push is oldest, then the lowest id.
WorkerId DSSP::slowest() const {
  const auto last_push = [&](WorkerId id) {
    const Worker& worker = workers_.at(id);
    return worker.pace ? worker.pace->last : worker.released;
  };
  WorkerId best = clocks_.slowest();
  for (const auto& [clock, id] : clocks_.in_order()) {
    if (clock > clocks_.min()) break;
    if (last_push(id) < last_push(best)) best = id;
  }
  return best;
}

void DSSP::release_held(Decision& decision, Time now) {
  for (auto it = held_.begin(); it != held_.end();) {
    if (clocks_.gap(*it) > low_) {
      ++it;
      continue;
    }
    workers_.at(*it).extra = 0;
    workers_.at(*it).released = now;
    decision.release.push_back(*it);
    it = held_.erase(it);
  }
}

}  // namespace paceline::sync
