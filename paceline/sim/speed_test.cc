#include "paceline/sim/speed.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <ostream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paceline/base/text.h"
#include "paceline/sim/portable_math.h"

namespace paceline::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

constexpr std::size_t kDraws = 200'000;

// In seconds, all of them begun at the run's begin.
std::vector<double> drawn(const Speed& speed, std::size_t draws = kDraws) {
  StepClock clock(speed, Rng(20'260'901).stream("speed"));
  std::vector<double> out;
  for (std::size_t i = 0; i < draws; ++i) out.push_back(to_seconds(clock.next(Time{})));
  return out;
}

std::vector<Duration> steps(const Speed& speed, std::size_t count, Duration apart = {}) {
  StepClock clock(speed, Rng(1).stream("speed"));
  std::vector<Duration> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(clock.next(apart * static_cast<std::int64_t>(i)));
  }
  return out;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double quantile_of(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size()))];
}

// ---- arithmetic ----

TEST(PortableMath, IsNearTheLibrarys) {
  Rng rng(7);
  for (int i = 0; i < 100'000; ++i) {
    const double exponent = -700 + 1400 * rng.unit();
    const double power = std::exp(exponent);
    EXPECT_NEAR(portable_exp(exponent), power, 1e-15 * power) << exponent;
    const double log = std::log(power);
    EXPECT_NEAR(portable_log(power), log, 1e-15 * std::abs(log)) << power;
    const double near_one = 0.5 + rng.unit();
    EXPECT_NEAR(portable_log(near_one), std::log(near_one), 1e-15 * std::abs(std::log(near_one)));
  }
  EXPECT_EQ(portable_log(1), 0);
  EXPECT_EQ(portable_exp(0), 1);
  EXPECT_EQ(portable_exp(1000), std::numeric_limits<double>::infinity());
  EXPECT_EQ(portable_exp(-1000), 0);
  EXPECT_EQ(portable_exp(std::nan("")), 0);
}

// ---- distributions: mean, spread and shape are those of the formulas ----

struct Case {
  std::string name;
  Distribution distribution;
  double mean;
  double deviation;
  std::function<double(double)> below;  // the share of steps below that many seconds
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }
double normal_pdf(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * M_PI); }

Case truncated_normal(double mean, double sigma) {
  const double a = -mean / sigma;
  const double hazard = normal_pdf(a) / (1 - normal_cdf(a));
  return {cat("normal", mean > sigma ? "" : "_truncated"),
          Normal{.mean = from_seconds(mean), .sigma = from_seconds(sigma)}, mean + sigma * hazard,
          sigma * std::sqrt(1 + a * hazard - hazard * hazard), [=](double x) {
            return (normal_cdf((x - mean) / sigma) - normal_cdf(a)) / (1 - normal_cdf(a));
          }};
}

Case lognormal(double mean, double sigma) {
  const double mu = std::log(mean) - sigma * sigma / 2;
  return {cat("lognormal"), Lognormal{.mean = from_seconds(mean), .sigma = sigma}, mean,
          mean * std::sqrt(std::exp(sigma * sigma) - 1),
          [=](double x) { return normal_cdf((std::log(x) - mu) / sigma); }};
}

Case exponential(double mean, double min) {
  return {min > 0 ? "exponential_tail" : "exponential",
          Exponential{.mean = from_seconds(mean), .min = from_seconds(min)}, mean, mean - min,
          [=](double x) { return 1 - std::exp(-(x - min) / (mean - min)); }};
}

Case pareto(double scale, double alpha) {
  const double variance = scale * scale * alpha / ((alpha - 1) * (alpha - 1) * (alpha - 2));
  return {"pareto", Pareto{.scale = from_seconds(scale), .alpha = alpha},
          scale * alpha / (alpha - 1), std::sqrt(variance),
          [=](double x) { return 1 - std::pow(scale / x, alpha); }};
}

std::vector<Case> cases() {
  return {{"uniform", Uniform{.low = milliseconds(200), .high = milliseconds(1400)}, 0.8,
           1.2 / std::sqrt(12.0), [](double x) { return (x - 0.2) / 1.2; }},
          truncated_normal(1, 0.1),
          truncated_normal(0.3, 0.5),
          lognormal(1.1, 0.3),
          exponential(0.5, 0),
          exponential(2, 1.5),
          pareto(0.7, 5)};
}

class Drawn : public ::testing::TestWithParam<Case> {};

// The standard error of a mean is s / sqrt(n), of a share sqrt(p (1 - p) / n); of a deviation it
// hangs on the fourth moment and is estimated.
TEST_P(Drawn, HasTheMomentsAndTheShape) {
  const Case& test = GetParam();
  const std::vector<double> values = drawn({.step = test.distribution});
  const double n = kDraws;
  EXPECT_NEAR(mean_of(values), test.mean, 4 * test.deviation / std::sqrt(n));
  std::vector<double> squares;
  for (const double v : values) squares.push_back((v - test.mean) * (v - test.mean));
  const double error = deviation_of(squares) / std::sqrt(n) / (2 * test.deviation);
  EXPECT_NEAR(deviation_of(values), test.deviation, 4 * error);
  for (const double share : {0.01, 0.1, 0.5, 0.9, 0.99}) {
    EXPECT_NEAR(test.below(quantile_of(values, share)), share,
                4 * std::sqrt(share * (1 - share) / n) + 1 / n);
  }
  EXPECT_GT(*std::ranges::min_element(values), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Drawn, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

TEST(Speed, ConstantIsConstantAndJitterIsUniformAroundIt) {
  EXPECT_THAT(steps({.step = milliseconds(60)}, 3), ::testing::Each(milliseconds(60)));
  const std::vector<double> values = drawn({.step = seconds(2), .jitter = 0.05});
  EXPECT_NEAR(mean_of(values), 2, 4 * 0.2 / std::sqrt(12.0 * kDraws));
  EXPECT_NEAR(deviation_of(values), 0.2 / std::sqrt(12.0), 1e-3);
  EXPECT_GE(*std::ranges::min_element(values), 1.9);
  EXPECT_LT(*std::ranges::min_element(values), 1.9 + 1e-4);
  EXPECT_LE(*std::ranges::max_element(values), 2.1);
  EXPECT_GT(*std::ranges::max_element(values), 2.1 - 1e-4);
}

TEST(Speed, ATraceIsReplayedOverAndOver) {
  const Speed speed{.step = trace_of({milliseconds(1), milliseconds(20), milliseconds(3)})};
  EXPECT_THAT(steps(speed, 5), ElementsAre(milliseconds(1), milliseconds(20), milliseconds(3),
                                           milliseconds(1), milliseconds(20)));
  EXPECT_EQ(sim::mean_of(speed.step), milliseconds(8));
}

TEST(Speed, MeansAreTold) {
  EXPECT_EQ(sim::mean_of(milliseconds(7)), milliseconds(7));
  EXPECT_EQ(sim::mean_of(Uniform{.low = seconds(1), .high = seconds(2)}), milliseconds(1500));
  EXPECT_EQ(sim::mean_of(Pareto{.scale = seconds(1), .alpha = 3}), milliseconds(1500));
  EXPECT_EQ(sim::mean_of(Exponential{.mean = seconds(2), .min = seconds(1)}), seconds(2));
}

// ---- what changes with time ----

TEST(Speed, DriftsByTheSecondOrByTheStep) {
  EXPECT_THAT(steps({.step = seconds(1), .drift = {.per_second = 0.01}}, 3, seconds(50)),
              ElementsAre(seconds(1), milliseconds(1500), seconds(2)));
  EXPECT_THAT(steps({.step = seconds(1), .drift = {.per_step = 0.5}}, 3),
              ElementsAre(seconds(1), milliseconds(1500), seconds(2)));
}

TEST(Speed, DriftIsBounded) {
  EXPECT_EQ(steps({.step = seconds(1), .drift = {.per_step = -0.5}}, 50).back(), milliseconds(100));
  EXPECT_EQ(steps({.step = seconds(1), .drift = {.per_step = -0.5, .least = 0.25}}, 50).back(),
            milliseconds(250));
  EXPECT_EQ(steps({.step = seconds(1), .drift = {.per_step = 1, .most = 3}}, 50).back(),
            seconds(3));
}

TEST(Speed, SlowPhasesCountForStepsThatBeginInThem) {
  const Speed speed{.step = seconds(1),
                    .slow = {{.factor = 4, .from = seconds(2), .until = seconds(4)}}};
  EXPECT_THAT(steps(speed, 6, seconds(1)),
              ElementsAre(seconds(1), seconds(1), seconds(4), seconds(4), seconds(1), seconds(1)));
}

TEST(Speed, SlowPhasesComeAgainAndAddUp) {
  const Speed speed{
      .step = seconds(1),
      .slow = {{.factor = 3, .from = seconds(1), .until = seconds(2), .every = seconds(3)},
               {.factor = 2, .from = seconds(4), .until = seconds(6)}}};
  EXPECT_THAT(steps(speed, 8, seconds(1)),
              ElementsAre(seconds(1), seconds(3), seconds(1), seconds(1), seconds(6), seconds(2),
                          seconds(1), seconds(3)));
}

// A step is slow in an episode that it begins or is in the middle of: with chance p to begin and
// length k, a share of pk / (1 + p (k - 1)).
TEST(Speed, StragglersComeAndGo) {
  const double p = 0.01;
  const double k = 20;
  const std::vector<double> values = drawn(
      {.step = seconds(1), .straggler = {.probability = p, .factor = 8, .steps = 20}}, kDraws);
  const auto slow = std::ranges::count(values, 8.0);
  EXPECT_EQ(slow + std::ranges::count(values, 1.0), kDraws);
  const double share = static_cast<double>(slow) / static_cast<double>(kDraws);
  EXPECT_NEAR(share, p * k / (1 + p * (k - 1)), 0.01);
  for (std::size_t i = 0, run = 0; i < values.size(); ++i) {
    run = values[i] > 1 ? run + 1 : 0;
    if (i + 1 == values.size() || run == 0 || values[i + 1] > 1) continue;
    EXPECT_EQ(run % 20, 0U) << i;
  }
}

// ---- bounds ----

TEST(Speed, NoStepIsBelowANanosecondOrEndsAfterTheEndOfTime) {
  const Speed nothing{.step = Duration{}};
  EXPECT_EQ(steps(nothing, 1).front(), Duration{1});
  const Speed vast{.step = Pareto{.scale = kLongestStep, .alpha = 1.0001},
                   .jitter = 0.9,
                   .drift = {.per_second = 1e300, .most = 1e300},
                   .slow = {{.factor = 1e300, .until = Time::max()}},
                   .straggler = {.probability = 1, .factor = 1e300, .steps = ~std::uint64_t{0}}};
  EXPECT_EQ(steps(vast, 1).front(), kLongestStep);
  StepClock clock(vast, Rng(1));
  Time now{};
  for (int i = 0; i < 5000; ++i) {
    const Duration took = clock.next(now);
    ASSERT_GE(took, Duration{1});
    ASSERT_LE(took, Time::max() - now);
    now += took;
    if (now > Time::max() - Duration{1000}) break;
  }
}

TEST(Speed, NumbersThatAreNoneStillGiveAStep) {
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, inf, -inf, -1.0}) {
    const Speed speed{.step = Lognormal{.mean = seconds(1), .sigma = bad},
                      .drift = {.per_step = bad},
                      .straggler = {.probability = 0.5, .factor = bad}};
    for (const Duration step : steps(speed, 100)) {
      EXPECT_GE(step, Duration{1});
      EXPECT_LE(step, kLongestStep);
    }
  }
}

TEST(Speed, EachWorkerHasChanceOfItsOwn) {
  const Speed speed{.step = seconds(1), .jitter = 0.5};
  StepClock first(speed, Rng(1).stream("speed", 0));
  StepClock again(speed, Rng(1).stream("speed", 0));
  StepClock second(speed, Rng(1).stream("speed", 1));
  const Duration step = first.next(Time{});
  EXPECT_EQ(step, again.next(Time{}));
  EXPECT_NE(step, second.next(Time{}));
}

// The same on every machine and with every compiler: a seed means a run.
TEST(Speed, TheDrawsOfASeedAreKnown) {
  const auto first = [](const Distribution& distribution) {
    return steps({.step = distribution}, 2).back().count();
  };
  EXPECT_EQ(first(Uniform{.high = seconds(1)}), 262'097'797);
  EXPECT_EQ(first(Normal{.mean = seconds(1), .sigma = milliseconds(100)}), 942'881'610);
  EXPECT_EQ(first(Lognormal{.mean = seconds(1), .sigma = 0.3}), 805'449'179);
  EXPECT_EQ(first(Exponential{.mean = seconds(1)}), 303'943'979);
  EXPECT_EQ(first(Pareto{.scale = seconds(1), .alpha = 2}), 1'164'127'628);
}

}  // namespace
}  // namespace paceline::sim
