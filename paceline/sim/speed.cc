#include "paceline/sim/speed.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "paceline/base/check.h"
#include "paceline/sim/portable_math.h"

namespace paceline::sim {
namespace {

double nanoseconds_of(Duration duration) { return static_cast<double>(duration.count()); }

Duration bounded(double nanoseconds, Duration most) {
  if (!(nanoseconds >= 1)) return Duration{1};  // also what is no number
  if (nanoseconds >= nanoseconds_of(most)) return most;
  return Duration{static_cast<std::int64_t>(nanoseconds + 0.5)};
}

bool is_in_effect(const SlowPhase& phase, Time now) {
  if (now < phase.from) return false;
  if (!phase.every) return now < phase.until;
  return (now - phase.from) % *phase.every < phase.until - phase.from;
}

// -ln of a uniform number in (0, 1]: exponential with mean 1.
double standard_exponential(Rng& rng) { return -portable_log(1 - rng.unit()); }

struct Mean {
  double operator()(const Constant& d) const { return nanoseconds_of(d.value); }
  double operator()(const Uniform& d) const {
    return (nanoseconds_of(d.low) + nanoseconds_of(d.high)) / 2;
  }
  double operator()(const Normal& d) const { return nanoseconds_of(d.mean); }
  double operator()(const Lognormal& d) const { return nanoseconds_of(d.mean); }
  double operator()(const Exponential& d) const { return nanoseconds_of(d.mean); }
  double operator()(const Pareto& d) const {
    return nanoseconds_of(d.scale) * d.alpha / (d.alpha - 1);
  }
  double operator()(const Trace& d) const {
    double sum = 0;
    for (const Duration step : *d.steps) sum += nanoseconds_of(step);
    return sum / static_cast<double>(d.steps->size());
  }
};

}  // namespace

Trace trace_of(std::vector<Duration> steps) {
  PACELINE_CHECK(!steps.empty(), "a trace of at least one step");
  return {std::make_shared<const std::vector<Duration>>(std::move(steps))};
}

Duration mean_of(const Distribution& distribution) {
  return bounded(std::visit(Mean{}, distribution.of), kLongestStep);
}

Duration StepClock::next(Time now) {
  double took = std::visit([this](const auto& kind) { return draw(kind); }, speed_->step.of);
  if (speed_->jitter > 0) took *= 1 + speed_->jitter * (2 * rng_.unit() - 1);
  took *= drift(now) * straggling();
  for (const SlowPhase& phase : speed_->slow) {
    if (is_in_effect(phase, now)) took *= phase.factor;
  }
  ++steps_;
  // The time left on the clock is never used up: each step takes at most half of it.
  return std::max(Duration{1}, bounded(took, std::min(kLongestStep, (Time::max() - now) / 2)));
}

double StepClock::draw(const Constant& constant) { return nanoseconds_of(constant.value); }

double StepClock::draw(const Uniform& uniform) {
  return nanoseconds_of(uniform.low) + rng_.unit() * nanoseconds_of(uniform.high - uniform.low);
}

double StepClock::draw(const Normal& normal) {
  constexpr int kTries = 64;  // half of all suffice with any mean above 0
  for (int i = 0; i < kTries; ++i) {
    const double drawn =
        nanoseconds_of(normal.mean) + standard_normal() * nanoseconds_of(normal.sigma);
    if (drawn > 0) return drawn;
  }
  return nanoseconds_of(normal.mean);
}

double StepClock::draw(const Lognormal& lognormal) {
  const double sigma = lognormal.sigma;
  return nanoseconds_of(lognormal.mean) *
         portable_exp(sigma * standard_normal() - sigma * sigma / 2);
}

double StepClock::draw(const Exponential& exponential) {
  return nanoseconds_of(exponential.min) +
         nanoseconds_of(exponential.mean - exponential.min) * standard_exponential(rng_);
}

double StepClock::draw(const Pareto& pareto) {
  return nanoseconds_of(pareto.scale) * portable_exp(standard_exponential(rng_) / pareto.alpha);
}

double StepClock::draw(const Trace& trace) {
  return nanoseconds_of((*trace.steps)[steps_ % trace.steps->size()]);
}

// Marsaglia and Bray's polar method; the second number that it gives is not used.
double StepClock::standard_normal() {
  while (true) {
    const double u = 2 * rng_.unit() - 1;
    const double v = 2 * rng_.unit() - 1;
    const double square = u * u + v * v;
    if (square > 0 && square < 1) return u * std::sqrt(-2 * portable_log(square) / square);
  }
}

double StepClock::drift(Time now) const {
  const Drift& drift = speed_->drift;
  if (drift.per_second == 0 && drift.per_step == 0) return 1;
  const double factor =
      1 + drift.per_second * to_seconds(now) + drift.per_step * static_cast<double>(steps_);
  return std::clamp(factor, drift.least, std::max(drift.least, drift.most));
}

double StepClock::straggling() {
  const Straggler& straggler = speed_->straggler;
  if (straggler.probability <= 0) return 1;
  if (episode_ == 0 && rng_.unit() < straggler.probability) episode_ = straggler.steps;
  if (episode_ == 0) return 1;
  --episode_;
  return straggler.factor;
}

}  // namespace paceline::sim
