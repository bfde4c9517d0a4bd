#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "paceline/base/result.h"
#include "paceline/sim/compare.h"

// Which policy for this cluster? All candidates train with one seed, the better half with three,
// the best three with all: successive halving (Jamieson and Talwalkar 2016), so that most of the
// work goes where the answer is decided. The measure is the virtual time to the target accuracy.
namespace paceline::sim {

struct Ranked {
  std::string policy;
  std::uint64_t seeds = 0;    // it was tried with
  std::uint64_t reached = 0;  // of them, the target
  // Virtual seconds to the target, of the seeds that reached it.
  double seconds = 0;
  double seconds_low = 0;
  double seconds_high = 0;
  // Times the best one's, over the seeds in which both reached it: seeds differ more than policies.
  // 0: there is none.
  double relative = 0;
  // Means over its seeds.
  double samples_to_target = 0;  // 0: never reached
  double test_accuracy = 0;
  double steps_per_second = 0;
  double wait_share = 0;
  std::uint64_t staleness_p95 = 0;
};

enum class Certainty : std::uint8_t {
  Sure,    // at least 2 % ahead, and its slowest seed beats the second's fastest
  Likely,  // at least 2 % ahead, and faster than the second in four seeds of five
  Open,    // the first two are alike
  None,    // nothing reached the target
};
std::string_view to_string(Certainty certainty);

struct Advice {
  std::string cluster;
  double target = 0;
  bool target_is_ours = false;  // nobody set one: a point below what bsp ends with
  std::vector<Ranked> ranking;  // the best first; those that did not reach the target by accuracy
  double lead = 0;              // the second takes that share longer, on the same seeds
  Certainty certainty = Certainty::None;
  std::string why;       // two sentences
  std::string how_sure;  // one
  std::uint64_t runs = 0;
  double compute_seconds = 0;
  // All runs, by rank, each policy with the seeds that it was tried with; the target is `target`.
  Comparison comparison;
};

// What is worth a try when nobody says: every policy with a few parameters.
std::vector<std::string> usual_candidates();

// experiment: with training; its seeds are what the best three get.
Result<Advice> advise(const Experiment& experiment, const Machine& machine);

// Virtual seconds and samples until that accuracy was first measured.
std::optional<roles::EvaluationStats> first_at(const Outcome& outcome, double accuracy);

}  // namespace paceline::sim
