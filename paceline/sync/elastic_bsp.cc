#include "paceline/sync/elastic_bsp.h"

#include <algorithm>
#include <vector>

#include "paceline/base/text.h"
#include "paceline/sync/limits.h"
#include "paceline/sync/zipline.h"

namespace paceline::sync {
namespace {

constexpr std::uint64_t kMonitoredPushes = 2;
constexpr int kMeanWeightInverse = 10;    // a new interval counts 0.1
constexpr std::size_t kNamedWorkers = 8;  // in a reason; more are counted

std::string seconds(Duration duration) { return cat(fixed(to_seconds(duration), 3), " s"); }

}  // namespace

std::string ElasticBSP::spec() const {
  return cat("elastic_bsp:", options_.lookahead,
             options_.predictor == Predictor::Last ? ",predictor=last" : "",
             options_.points == Points::Paper ? ",points=paper" : "");
}

Decision ElasticBSP::joined(WorkerId id, Time now) {
  workers_[id] = Worker{.released = now, .last_push = now};
  return {.release = {id},
          .reason = cat("worker ", id, " joins superstep ", superstep_,
                        planned_ ? ", without a quota: it runs until the others wait"
                                 : ", which is being monitored")};
}

Decision ElasticBSP::pushed(const PushId& push, Time now) {
  Worker& worker = workers_.at(push.worker);
  note_interval(worker, now);
  worker.last_push = now;
  const bool last = was_last(worker);
  if (++worker.pushes == kMonitoredPushes) ++monitored_;

  Decision decision;
  if (last) {
    buffer_.push_back(push);
    worker.waiting = true;
    ++waiting_;
    if (worker.quota > 0) --quota_open_;
    decision.reason =
        cat("worker ", push.worker, " waits at the barrier of superstep ", superstep_, " after ",
            worker.pushes, " pushes: ", waiting_, " of ", workers_.size(), " are there");
  } else {
    decision.apply.push_back({{push}});
    decision.release.push_back(push.worker);
    worker.released = now;
    decision.reason =
        cat("worker ", push.worker, " goes on: push ", worker.pushes, " of superstep ", superstep_);
    if (worker.quota > 0) decision.reason += cat(", its last is ", worker.quota);
  }
  settle(decision, now);
  return decision;
}

Decision ElasticBSP::left(WorkerId id, Time now) {
  const Worker& worker = workers_.at(id);
  if (worker.pushes >= kMonitoredPushes) --monitored_;
  if (worker.waiting) --waiting_;
  if (worker.quota > 0 && !worker.waiting) --quota_open_;
  workers_.erase(id);
  Decision decision{.reason = cat("worker ", id, " left superstep ", superstep_)};
  settle(decision, now);
  return decision;
}

void ElasticBSP::note_interval(Worker& worker, Time now) const {
  const Duration interval = std::clamp(now - worker.released, Duration{1}, kMaxInterval);
  if (!worker.interval || options_.predictor == Predictor::Last) {
    worker.interval = interval;
  } else {
    *worker.interval += (interval - *worker.interval) / kMeanWeightInverse;
  }
}

// Does the push that comes now, worker.pushes before it, end the worker's superstep?
bool ElasticBSP::was_last(const Worker& worker) const {
  if (!planned_) return false;
  return worker.quota > 0 ? worker.pushes + 1 >= worker.quota : quota_open_ == 0;
}

void ElasticBSP::settle(Decision& decision, Time now) {
  const bool all_monitored = !workers_.empty() && monitored_ == workers_.size();
  if (!planned_ && all_monitored) make_plan(decision, now);
  if (!buffer_.empty() && waiting_ == workers_.size()) make_barrier(decision, now);
  if (workers_.empty()) planned_ = false;
}

void ElasticBSP::make_plan(Decision& decision, Time now) {
  Duration longest{1};
  for (const auto& [id, worker] : workers_) longest = std::max(longest, *worker.interval);
  std::vector<Progression> rows;
  rows.reserve(workers_.size());
  for (const auto& [id, worker] : workers_) {
    const Duration interval = *worker.interval;
    const auto spans = (2 * longest + interval - Duration{1}) / interval;  // rounded up
    const auto count = std::clamp<std::int64_t>(spans, options_.lookahead, kMaxAhead);
    // A worker that is overdue is expected now.
    const Time first = options_.points == Points::Paper
                           ? worker.last_push
                           : std::max(worker.last_push + interval, now);
    rows.push_back({first, interval, static_cast<std::uint32_t>(count)});
  }
  const Superstep<Time> plan = zipline(rows);

  planned_ = true;
  quota_open_ = workers_.size();
  decision.reason += cat("; plan of superstep ", superstep_, ": barrier at ", seconds(plan.barrier),
                         ", predicted wait ", seconds(plan.wait), ", pushes to make:");
  std::size_t row = 0;
  for (auto& [id, worker] : workers_) {
    // The paper's first point is the push already made.
    const std::uint32_t made = options_.points == Points::Paper ? 1 : 0;
    const std::uint32_t to_make = std::max(plan.index[row] - made, 1U);
    worker.quota = worker.pushes + to_make;
    if (row < kNamedWorkers) decision.reason += cat(" worker ", id, " ", to_make, ";");
    ++row;
  }
  if (row > kNamedWorkers) decision.reason += cat(" and ", row - kNamedWorkers, " more workers");
  if (decision.reason.back() == ';') decision.reason.pop_back();
}

void ElasticBSP::make_barrier(Decision& decision, Time now) {
  std::ranges::sort(buffer_);
  decision.apply.push_back({buffer_});
  decision.reason = cat("barrier of superstep ", superstep_, ": the mean of the last ",
                        buffer_.size(), " pushes, ", workers_.size(), " workers go on");
  for (auto& [id, worker] : workers_) {
    worker.released = now;
    worker.pushes = 0;
    worker.quota = 0;
    worker.waiting = false;
    decision.release.push_back(id);
  }
  buffer_.clear();
  monitored_ = waiting_ = quota_open_ = 0;
  planned_ = false;
  ++superstep_;
}

}  // namespace paceline::sync
