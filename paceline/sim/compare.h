#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/base/ids.h"
#include "paceline/base/result.h"
#include "paceline/roles/coordinator.h"
#include "paceline/roles/gradient_source.h"
#include "paceline/roles/run_stats.h"
#include "paceline/sim/cluster_spec.h"
#include "paceline/sync/policy.h"

// The laboratory: the same cluster under several policies, each over several seeds. Roles and
// policies are those of a live run, on virtual time.
namespace paceline::sim {

// What a worker did, in virtual seconds since the first release.
struct Segment {
  enum class Kind : std::uint8_t {
    Pull,     // released, parameters on their way
    Compute,  // a gradient
    Push,     // until every server holds it
    Wait,     // until it is released
  };
  std::uint32_t worker = 0;
  Kind kind = Kind::Compute;
  double begin = 0;
  double end = 0;
  bool operator==(const Segment&) const = default;
};

// The beginning of a run, for pictures.
struct Timeline {
  std::vector<Segment> segments;  // by end; at most kTimelineSegments
  std::vector<double> barriers;   // updates of more than one push, as long as segments are kept
  bool operator==(const Timeline&) const = default;
};
inline constexpr std::size_t kTimelineSegments = 20'000;

// One run: a policy with a seed.
struct Outcome {
  std::uint64_t seed = 0;
  double seconds = 0;  // virtual, first release to last applied push, or all that was asked for
  std::uint64_t pushes = 0;  // applied
  std::vector<std::uint64_t> steps;
  std::vector<double> wait_share;
  double wait_share_mean = 0;
  std::map<std::uint64_t, std::uint64_t> staleness;  // versions -> pushes
  std::uint64_t clock_gap_max = 0;
  std::uint64_t barriers = 0;
  std::uint64_t pushed_bytes = 0;
  std::uint64_t pulled_bytes = 0;
  double server_queue_seconds = 0;  // mean wait of a push for its server
  double server_busy_share = 0;     // of the busiest server
  std::uint64_t failures = 0;       // processes lost on the way
  std::uint64_t events = 0;         // messages and timers
  double compute_seconds = 0;       // on this machine's processor
  std::optional<double> seconds_to_target;
  std::optional<double> test_accuracy;  // of the last evaluation; null: there was none
  std::vector<roles::EvaluationStats> evaluations;
  std::string decisions_sha256;  // of the first seed; empty for the others
};

struct PolicyOutcome {
  std::string policy;             // its full spelling
  std::vector<Outcome> outcomes;  // [seeds]
  Timeline timeline;              // of the first seed
};

struct Comparison {
  std::string cluster;
  std::uint32_t workers = 0;
  std::uint32_t servers = 0;
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  bool trained = false;  // with real gradients
  std::optional<double> target_accuracy;
  std::vector<PolicyOutcome> policies;  // as they were asked for
};

// Real gradients. One pair is made for each thread that simulates.
struct Sources {
  std::unique_ptr<roles::GradientSource> gradients;
  std::unique_ptr<roles::Evaluation> evaluation;  // null: nothing is measured
};
struct Training {
  // Budget, batch, rule, schedule, evaluation and target; workers, servers and seed are the
  // experiment's.
  roles::CoordinatorOptions run;
  std::uint64_t dataset_size = 0;
  std::function<Result<Sources>(std::uint64_t seed)> make;
};

struct Candidate {
  std::string policy;  // spelling, or the name of one's own
  // One's own; null: the registry's.
  std::function<std::unique_ptr<sync::SyncPolicy>()> make;
};

// In full: "elastic_bsp:15" of "elastic_bsp".
Result<std::string> spelling_of(const Candidate& candidate);

struct Experiment {
  ClusterSpec cluster;
  std::vector<Candidate> candidates;
  // One of the two; with `training` neither is needed: its budget counts.
  std::optional<std::uint64_t> steps;  // a worker: `steps` times workers pushes are made
  std::optional<double> seconds;       // virtual
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  std::optional<Training> training;
  bool timeline = false;
  // Lines of decisions.jsonl of each candidate's first seed, without their ends. null: nobody asks.
  std::function<void(std::size_t candidate, std::string_view line)> decisions;
  // Called after each run, on its thread. null: nobody asks.
  std::function<void()> progress;
};

// What the simulator, which is pure, cannot do itself.
struct Machine {
  // Calls work(0) to work(count - 1), in any order, on any threads; comes back when all are done.
  std::function<void(std::size_t count, const std::function<void(std::size_t)>& work)> run_all;
  // Processor seconds of the calling thread.
  std::function<double()> processor_seconds;
};

// Every candidate with every seed. Errors: a policy's spelling, a source that fails, a run that
// cannot go on. What comes out depends on the experiment alone, but for compute_seconds.
Result<Comparison> compare(const Experiment& experiment, const Machine& machine);

}  // namespace paceline::sim
