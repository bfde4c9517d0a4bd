#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "paceline/base/ids.h"
#include "paceline/base/time.h"

namespace paceline::roles {

// A process that the run lost and went on without, or not.
struct Failure {
  NodeId node;
  std::string cause;  // "signal", "exit", "connection", "silence", or in words
  int signal = 0;     // 0: none known
  int exit_code = 0;  // 0: none known
  std::string text;   // for people
  Time at{};          // since the first release
  Step at_step = 0;   // workers: steps done in all lives
  bool operator==(const Failure&) const = default;
};

struct WorkerStats {
  enum class State : std::uint8_t { Out, Waiting, Computing, Done };
  State state = State::Out;
  std::uint64_t steps = 0;  // complete pushes, over all lives
  Duration waited{};        // from a push's completion to the release that follows
  float loss = 0;           // of its last step
  Duration compute{};       // of its last step
  bool operator==(const WorkerStats&) const = default;
};

struct EvaluationStats {
  Time at{};  // when the version was applied, since the first release
  Version version = 0;
  std::uint64_t samples = 0;
  double accuracy = 0;
  double loss = 0;
  bool operator==(const EvaluationStats&) const = default;
};

// What a run can say of itself, at any time and at its end.
struct RunStats {
  std::string phase;  // "starting", "training", "finishing", "done"
  bool training = false;
  Time started{};       // first release
  Time last_applied{};  // last update; `seconds` is the span between the two
  Time now{};
  Version version = 0;
  std::uint64_t samples = 0;  // applied
  std::uint64_t samples_budget = 0;
  double lr = 0;
  double train_loss = 0;  // running mean of the workers' losses
  std::vector<WorkerStats> workers;
  std::map<std::uint64_t, std::uint64_t> staleness;  // versions -> pushes
  // The most steps that a worker was ahead of the slowest one, right after a push of it.
  std::uint64_t clock_gap_max = 0;
  std::uint64_t applied = 0;  // pushes
  std::uint64_t dropped = 0;
  std::uint64_t repeated = 0;
  std::uint64_t barriers = 0;  // updates of more than one push
  std::uint64_t leases_lost = 0;
  std::uint64_t pushed_bytes = 0;
  std::uint64_t pulled_bytes = 0;
  std::vector<Failure> failures;
  std::vector<EvaluationStats> evaluations;
  std::optional<Time> target_reached;  // when the version that first reached it was applied
  std::string param_sha256;            // empty: not known (yet)
  bool operator==(const RunStats&) const = default;
};

// Least value v such that at least `share` of the pushes have a staleness of at most v. 0 if none.
std::uint64_t quantile(const std::map<std::uint64_t, std::uint64_t>& histogram, double share);

}  // namespace paceline::roles
