#include "paceline/sim/compare.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "paceline/base/hash.h"
#include "paceline/base/text.h"
#include "paceline/sim/simulate.h"
#include "paceline/sync/registry.h"

namespace paceline::sim {
namespace {

// Without training the roles run with one float a server; each batch is one sample.
constexpr std::uint64_t kDataset = 4096;
constexpr std::uint64_t kUnbounded = std::uint64_t{1} << 62U;
constexpr Time kLimit = std::chrono::hours(24 * 365 * 10);

// Cuts a run into what its workers did.
class TimelineObserver final : public Observer {
 public:
  TimelineObserver(std::uint32_t workers, Timeline& timeline)
      : timeline_(timeline), since_(workers) {}

  void released(WorkerId worker, Time at) override { close(worker, Segment::Kind::Wait, at); }
  void computing(WorkerId worker, Time at) override { close(worker, Segment::Kind::Pull, at); }
  void computed(WorkerId worker, Time at) override { close(worker, Segment::Kind::Compute, at); }
  void pushed(WorkerId worker, Time at) override { close(worker, Segment::Kind::Push, at); }
  void updated(Time at, std::size_t pushes) override {
    if (pushes > 1 && !is_full()) timeline_.barriers.push_back(to_seconds(at));
  }

 private:
  bool is_full() const { return timeline_.segments.size() >= kTimelineSegments; }

  void close(WorkerId worker, Segment::Kind kind, Time at) {
    const std::optional<Time> since = std::exchange(since_[worker.value], at);
    if (!since || *since == at || is_full()) return;
    timeline_.segments.push_back({worker.value, kind, to_seconds(*since), to_seconds(at)});
  }

  Timeline& timeline_;
  std::vector<std::optional<Time>> since_;  // [workers]; null: not released yet
};

// One run of the experiment.
class Job {
 public:
  Job(const Experiment& experiment, const Machine& machine, std::size_t candidate,
      std::uint64_t seed)
      : experiment_(experiment), machine_(machine), candidate_(candidate), seed_(seed) {}

  Result<Outcome> run(Timeline* timeline) {
    Sources sources;
    if (experiment_.training) {
      auto made = experiment_.training->make(seed_);
      if (!made) return fail(made.error());
      sources = std::move(*made);
    }
    const Scenario scenario = scenario_with(sources);
    std::optional<TimelineObserver> observer;
    if (timeline != nullptr) observer.emplace(scenario.run.workers, *timeline);
    Sha256 hash;
    const SimOptions options = options_with(sources, observer ? &*observer : nullptr, hash);

    const double began = machine_.processor_seconds();
    const SimResult result = sim::run(scenario, options);
    const double took = machine_.processor_seconds() - began;
    if (auto failed = failure_of(result); !failed) return fail(failed.error());
    Outcome outcome = outcome_of(result);
    outcome.compute_seconds = took;
    if (is_first()) outcome.decisions_sha256 = hash.hex();
    return outcome;
  }

 private:
  bool is_first() const { return seed_ == experiment_.first_seed; }

  Scenario scenario_with(const Sources& sources) const {
    Scenario scenario;
    scenario.seed = seed_;
    scenario.policy = experiment_.candidates[candidate_].policy;
    put(experiment_.cluster, scenario);
    roles::CoordinatorOptions& run = scenario.run;
    if (experiment_.training) {
      const std::uint32_t workers = run.workers;
      const std::uint32_t servers = run.servers;
      run = experiment_.training->run;
      run.workers = workers;
      run.servers = servers;
      run.evaluator = sources.evaluation != nullptr;
      scenario.parameter_count = sources.gradients->parameter_count();
      scenario.dataset_size = experiment_.training->dataset_size;
      scenario.payload_scale = 1;
    } else {
      run.samples = kUnbounded;
      run.batch_size = 1;
      scenario.parameter_count = run.servers;
      scenario.dataset_size = kDataset;
      scenario.payload_scale = static_cast<double>(experiment_.cluster.parameters) / run.servers;
    }
    run.seed = seed_;
    if (experiment_.steps) run.samples = *experiment_.steps * run.workers * run.batch_size;
    if (experiment_.seconds) scenario.stop_at = from_seconds(*experiment_.seconds);
    scenario.evaluation = Duration{1};
    scenario.limit = kLimit;
    return scenario;
  }

  SimOptions options_with(const Sources& sources, Observer* observer, Sha256& hash) const {
    SimOptions options{.source = sources.gradients.get(),
                       .evaluation = sources.evaluation.get(),
                       .check = false,
                       .policy = experiment_.candidates[candidate_].make,
                       .observer = observer};
    if (is_first()) {
      options.decisions = [this, &hash](std::string_view line) {
        hash.update(line);
        hash.update("\n");
        if (experiment_.decisions) experiment_.decisions(candidate_, line);
      };
    }
    return options;
  }

  Status failure_of(const SimResult& result) const {
    const std::string where =
        cat(experiment_.cluster.name, ", ", experiment_.candidates[candidate_].policy);
    if (!result.error.empty()) return fail(Code::Corruption, result.error, {}, where);
    if (!result.failure.empty()) return fail(Code::Corruption, result.failure, {}, where);
    if (result.exit_code <= 0) return {};
    return fail(Code::Unavailable,
                cat("the simulated run ends after ", fixed(to_seconds(result.ended), 1),
                    " s: ", result.why),
                "is a worker left, do pauses and leaves come one after the other?", where);
  }

  Outcome outcome_of(const SimResult& result) const {
    const roles::RunStats& stats = result.stats;
    Outcome outcome{.seed = seed_,
                    .seconds = to_seconds(stats.last_applied - stats.started),
                    .pushes = stats.applied,
                    .staleness = stats.staleness,
                    .clock_gap_max = stats.clock_gap_max,
                    .barriers = stats.barriers,
                    .pushed_bytes = stats.pushed_bytes,
                    .pulled_bytes = stats.pulled_bytes,
                    .server_queue_seconds = result.server_queue_seconds,
                    .failures = stats.failures.size(),
                    .events = result.events,
                    .evaluations = stats.evaluations};
    if (experiment_.seconds && result.exit_code == -1) outcome.seconds = *experiment_.seconds;
    for (const roles::WorkerStats& worker : stats.workers) {
      outcome.steps.push_back(worker.steps);
      outcome.wait_share.push_back(outcome.seconds > 0 ? to_seconds(worker.waited) / outcome.seconds
                                                       : 0);
      outcome.wait_share_mean +=
          outcome.wait_share.back() / static_cast<double>(stats.workers.size());
    }
    for (const double busy : result.server_busy_share) {
      outcome.server_busy_share = std::max(outcome.server_busy_share, busy);
    }
    if (stats.target_reached) outcome.seconds_to_target = to_seconds(*stats.target_reached);
    if (!stats.evaluations.empty()) outcome.test_accuracy = stats.evaluations.back().accuracy;
    return outcome;
  }

  const Experiment& experiment_;
  const Machine& machine_;
  std::size_t candidate_;
  std::uint64_t seed_;
};

}  // namespace

Result<std::string> spelling_of(const Candidate& candidate) {
  if (candidate.make) return candidate.policy;
  const auto policy = sync::make_policy(candidate.policy);
  if (!policy) return fail(policy.error());
  return (*policy)->spec();
}

Result<Comparison> compare(const Experiment& experiment, const Machine& machine) {
  Comparison comparison{.cluster = experiment.cluster.name,
                        .workers = static_cast<std::uint32_t>(experiment.cluster.workers.size()),
                        .servers = experiment.cluster.servers,
                        .first_seed = experiment.first_seed,
                        .seeds = experiment.seeds,
                        .trained = experiment.training.has_value(),
                        .policies = std::vector<PolicyOutcome>(experiment.candidates.size())};
  if (experiment.training) comparison.target_accuracy = experiment.training->run.target_accuracy;
  for (std::size_t c = 0; c < experiment.candidates.size(); ++c) {
    auto spelling = spelling_of(experiment.candidates[c]);
    if (!spelling) return fail(spelling.error());
    comparison.policies[c].policy = std::move(*spelling);
    comparison.policies[c].outcomes.resize(experiment.seeds);
  }

  const std::size_t runs = experiment.candidates.size() * experiment.seeds;
  std::vector<std::optional<Error>> errors(runs);
  machine.run_all(runs, [&](std::size_t i) {
    const std::size_t c = i / experiment.seeds;
    const std::size_t s = i % experiment.seeds;
    PolicyOutcome& policy = comparison.policies[c];
    Timeline* timeline = experiment.timeline && s == 0 ? &policy.timeline : nullptr;
    auto outcome = Job(experiment, machine, c, experiment.first_seed + s).run(timeline);
    if (outcome) {
      policy.outcomes[s] = std::move(*outcome);
    } else {
      errors[i] = outcome.error();
    }
    if (experiment.progress) experiment.progress();
  });
  for (std::optional<Error>& error : errors) {
    if (error) return fail(std::move(*error));
  }
  return comparison;
}

}  // namespace paceline::sim
