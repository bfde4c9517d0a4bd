#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "paceline/sync/policy_base.h"

namespace paceline::sync {

// Elastic Bulk Synchronous Parallel: BSP whose supersteps give each worker as many steps as fit, so
// that all arrive at the barrier at about the same time.
//
// A superstep has two phases. Monitoring: pushes are applied at once until every worker has made
// two. Then zipline() chooses the barrier from the predicted ends of steps, and each worker gets a
// quota: the pushes it still makes before it. All but its last are applied at once; the last goes
// into the barrier, which applies the mean of them as one update and releases everybody.
//
// Source: Zhao, Papagelis, An, Chen, Liu, Hu, "Elastic Bulk Synchronous Parallel Model for
// Distributed Deep Learning", ICDM 2019, section III.
// Deviation:
//   - Workers stop by count (quotas), not by clock: it needs no agreement on time and survives a
//     wrong prediction.
//   - Intervals are predicted by a running mean (weight 0.1) over all supersteps, because an error
//     of the last interval, which the paper takes (Predictor::Last), is multiplied by the steps
//     ahead.
//   - An interval goes from a worker's release to its push: waiting is no part of it.
//   - Predicted ends lie in the future, from the first push to come, and a worker that is overdue
//     is expected now; the authors' published code begins with the push just made (Points::Paper).
//   - Worker p is predicted R_p = max(R, ceil(2 max I / I_p)) steps ahead, so that everybody's
//     lookahead spans the slowest worker's next two steps; with R alone fast workers idle.
//   - Workers come and go.
//
// Invariants:
//   (1) a push is applied when it comes, or at the next barrier, once;
//   (2) a barrier's update holds the last push of each worker that met its quota, by worker id,
//       then life; also of a worker that has left since;
//   (3) no worker waits during monitoring; it ends as soon as all that are in have made two pushes,
//       also when a leave makes that true;
//   (4) a quota is at least one more push (a released worker has one on its way) and at most
//       kMaxAhead more, whatever the intervals are (limits.h);
//   (5) the barrier falls as soon as every worker that is in waits for it, also when a leave makes
//       that true; if nobody is in any more, the pushes that wait are applied;
//   (6) a worker that joins during monitoring is monitored like the others; one that joins later
//       has no quota: it runs free until all that have one wait, then its next push is its last. It
//       so delays the barrier by one of its steps at most, and idles for none. That holds for a
//       worker that returns, too: its push from the life before and its new one both count;
//   (7) a superstep without workers is over: the next joiner begins a new one.
// Cost: O(log n) a push, O(n log n) a barrier, O(sum R_p log n) time and O(n) memory a plan.
class ElasticBSP final : public PolicyBase {
 public:
  enum class Predictor { Mean, Last };
  enum class Points { Future, Paper };
  struct Options {
    std::uint32_t lookahead = 15;  // R; 1 to kMaxAhead
    Predictor predictor = Predictor::Mean;
    Points points = Points::Future;
  };

  explicit ElasticBSP(Options options) : options_(options) {}
  std::string spec() const override;

 private:
  struct Worker {
    Time released{};
    Time last_push{};
    std::optional<Duration> interval;  // predicted; kept over supersteps, not over lives
    std::uint64_t pushes = 0;          // in this superstep
    std::uint64_t quota = 0;           // pushes in this superstep when it is met; 0: has none
    bool waiting = false;
  };

  Decision joined(WorkerId id, Time now) override;
  Decision pushed(const PushId& push, Time now) override;
  Decision left(WorkerId id, Time now) override;

  void note_interval(Worker& worker, Time now) const;
  bool was_last(const Worker& worker) const;
  void settle(Decision& decision, Time now);  // whatever an event has made due: plan, barrier
  void make_plan(Decision& decision, Time now);
  void make_barrier(Decision& decision, Time now);

  Options options_;
  std::uint64_t superstep_ = 1;
  bool planned_ = false;
  std::map<WorkerId, Worker> workers_;
  std::vector<PushId> buffer_;

  // Counts over workers_, so that no event walks over all of them.
  std::size_t monitored_ = 0;   // with two pushes or more
  std::size_t waiting_ = 0;     // at the barrier
  std::size_t quota_open_ = 0;  // with a quota not met yet
};

}  // namespace paceline::sync
