#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "paceline/base/random.h"
#include "paceline/base/time.h"

// How long a worker's steps take, on virtual time. One class for the swarm and the laboratory.
namespace paceline::sim {

struct Constant {
  Duration value{};
  bool operator==(const Constant&) const = default;
};
struct Uniform {  // in [low, high]
  Duration low{};
  Duration high{};
  bool operator==(const Uniform&) const = default;
};
// Truncated: drawn again until it is above 0, so that its mean lies above `mean` where sigma is not
// small against it.
struct Normal {
  Duration mean{};
  Duration sigma{};
  bool operator==(const Normal&) const = default;
};
struct Lognormal {
  Duration mean{};   // of the step, not of its logarithm
  double sigma = 0;  // of its logarithm
  bool operator==(const Lognormal&) const = default;
};
struct Exponential {  // a constant part, and an exponential tail on top
  Duration mean{};    // of both together
  Duration min{};     // the constant part; at most `mean`
  bool operator==(const Exponential&) const = default;
};
struct Pareto {
  Duration scale{};  // the shortest step
  double alpha = 2;  // above 1: the mean is scale * alpha / (alpha - 1)
  bool operator==(const Pareto&) const = default;
};
struct Trace {                                         // these, one after the other, over and over
  std::shared_ptr<const std::vector<Duration>> steps;  // not empty
  bool operator==(const Trace& other) const { return *steps == *other.steps; }
};
Trace trace_of(std::vector<Duration> steps);

struct Distribution {
  std::variant<Constant, Uniform, Normal, Lognormal, Exponential, Pareto, Trace> of;

  // A plain duration is a constant one: Speed{.step = milliseconds(60)}.
  template <typename Rep, typename Period>
  Distribution(std::chrono::duration<Rep, Period> step) : of(Constant{step}) {}
  template <typename Kind>
    requires(!std::same_as<Kind, Distribution> && std::constructible_from<decltype(of), Kind>)
  Distribution(Kind kind) : of(std::move(kind)) {}

  bool operator==(const Distribution&) const = default;
};

// Of what is drawn; a Normal's without its truncation.
Duration mean_of(const Distribution& distribution);

// A step is longer by that share of what it would be otherwise.
struct Drift {
  double per_second = 0;  // of virtual time since the run began
  double per_step = 0;    // since the worker's first
  double least = 0.1;  // however long it lasts, a step is at least so many times as long, above 0
  double most = 1000;  // and at most
  bool operator==(const Drift&) const = default;
};

// Steps that begin in [from, until) take `factor` times as long; with `every` also those in the
// same span one, two, ... times `every` later.
struct SlowPhase {
  double factor = 1;
  Time from{};
  Time until{};
  std::optional<Duration> every;  // at least until - from
  bool operator==(const SlowPhase&) const = default;
};

// Comes and goes: with that probability a step begins an episode, in which so many steps take
// `factor` times as long.
struct Straggler {
  double probability = 0;
  double factor = 1;
  std::uint64_t steps = 1;
  bool operator==(const Straggler&) const = default;
};

struct Speed {
  Distribution step = std::chrono::milliseconds(60);
  double jitter = 0;  // each step is uniformly up to that share of itself more or less; below 1
  Drift drift;
  std::vector<SlowPhase> slow;  // all that are in effect count
  Straggler straggler;
  bool operator==(const Speed&) const = default;
};

// No step is longer, whatever is drawn: 116 days.
inline constexpr Duration kLongestStep{10'000'000'000'000'000};

// One worker's steps, one after the other. The speed outlives the clock.
class StepClock {
 public:
  StepClock(const Speed& speed, Rng rng) : speed_(&speed), rng_(rng) {}

  // Of the step that begins now, at that time since the run began. Within [1 ns, kLongestStep], and
  // `now` plus it is a Time. Constant cost.
  Duration next(Time now);

 private:
  double draw(const Constant& constant);
  double draw(const Uniform& uniform);
  double draw(const Normal& normal);
  double draw(const Lognormal& lognormal);
  double draw(const Exponential& exponential);
  double draw(const Pareto& pareto);
  double draw(const Trace& trace);
  double standard_normal();
  double drift(Time now) const;
  double straggling();

  const Speed* speed_;
  Rng rng_;
  std::uint64_t steps_ = 0;
  std::uint64_t episode_ = 0;  // steps of it to come
};

}  // namespace paceline::sim
