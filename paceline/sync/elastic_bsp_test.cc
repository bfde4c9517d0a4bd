// ElasticBSP's superstep by hand, its edges when workers come and go, and its throughput.
#include "paceline/sync/elastic_bsp.h"

#include <limits>

#include <gmock/gmock.h>

#include "paceline/base/random.h"
#include "paceline/sync/testing.h"

namespace paceline::sync {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ElasticBSP::Options with(std::uint32_t lookahead) { return {.lookahead = lookahead}; }

// Steps of 2 and 3 units (a unit is 1 s, so that the reason shows it).
constexpr std::int64_t s = 1'000'000'000;

// Two workers through monitoring. The plan is made at 6: ends of worker 0 at 8, 10, 12 and of
// worker 1 at 9, 12, so both meet at 12 with 3 and 2 more pushes.
void monitor(SyncPolicy& policy) {
  policy.step(join(0));
  policy.step(join(1));
  for (const Event& event : {push(0, 0, 2 * s), push(1, 0, 3 * s), push(0, 1, 4 * s)}) {
    const Decision decision = policy.step(event);
    EXPECT_EQ(decision.release.size(), 1u);
    EXPECT_EQ(decision.apply.size(), 1u);
  }
  EXPECT_EQ(policy.step(push(0, 2, 6 * s)).release, workers({0}));
  const Decision plan = policy.step(push(1, 1, 6 * s));
  EXPECT_EQ(plan.release, workers({1}));
  EXPECT_THAT(plan.reason,
              HasSubstr("plan of superstep 1: barrier at 12.000 s, predicted wait 0.000 "
                        "s, pushes to make: worker 0 3; worker 1 2"));
}

TEST(ElasticBSPTest, ASuperstepByHand) {
  ElasticBSP policy(with(4));
  monitor(policy);
  EXPECT_EQ(policy.step(push(0, 3, 8 * s)).release, workers({0}));
  EXPECT_EQ(policy.step(push(1, 2, 9 * s)).release, workers({1}));
  EXPECT_EQ(policy.step(push(0, 4, 10 * s)).release, workers({0}));
  const Decision held = policy.step(push(0, 5, 12 * s));
  EXPECT_THAT(held.release, IsEmpty());
  EXPECT_THAT(held.apply, IsEmpty());
  const Decision barrier = policy.step(push(1, 3, 12 * s));
  EXPECT_THAT(barrier.apply, ElementsAre(Apply{{id(0, 5), id(1, 3)}}));
  EXPECT_EQ(barrier.release, workers({0, 1}));
  EXPECT_THAT(barrier.reason, HasSubstr("barrier of superstep 1"));
  EXPECT_EQ(policy.step(push(0, 6, 14 * s)).apply.size(), 1u);  // monitoring again
}

TEST(ElasticBSPTest, QuotasGoByCountNotByClock) {
  ElasticBSP policy(with(4));
  monitor(policy);
  policy.step(push(1, 2, 50 * s));
  EXPECT_THAT(policy.step(push(1, 3, 90 * s)).release, IsEmpty());
  EXPECT_EQ(policy.step(push(0, 3, 91 * s)).release, workers({0}));
  EXPECT_EQ(policy.step(push(0, 4, 92 * s)).release, workers({0}));
  EXPECT_EQ(policy.step(push(0, 5, 93 * s)).release, workers({0, 1}));
}

// The lookahead spans the slowest worker: with R = 1 the fast one still gets ten steps.
TEST(ElasticBSPTest, TheHorizonSpansTheSlowestWorker) {
  ElasticBSP policy(with(1));
  policy.step(join(0));
  policy.step(join(1));
  for (std::int64_t t = 1; t <= 20; ++t) {
    policy.step(push(0, static_cast<Step>(t - 1), t * s));
    if (t == 10) policy.step(push(1, 0, t * s));
  }
  EXPECT_THAT(policy.step(push(1, 1, 20 * s)).reason, HasSubstr("worker 0 10; worker 1 1"));
}

TEST(ElasticBSPTest, PaperPointsBeginWithThePushJustMade) {
  // Ends 6, 8, 10, 12 and 6, 9, 12, 15: both are at 6 now, so only the step under way is left.
  ElasticBSP policy({.lookahead = 4, .points = ElasticBSP::Points::Paper});
  policy.step(join(0));
  policy.step(join(1));
  policy.step(push(0, 0, 2 * s));
  policy.step(push(1, 0, 3 * s));
  policy.step(push(0, 1, 4 * s));
  policy.step(push(0, 2, 6 * s));
  EXPECT_THAT(policy.step(push(1, 1, 6 * s)).reason, HasSubstr("worker 0 1; worker 1 1"));
  EXPECT_THAT(policy.step(push(0, 3, 8 * s)).release, IsEmpty());
  EXPECT_EQ(policy.step(push(1, 2, 9 * s)).release, workers({0, 1}));
}

// Steps of 10, then one of 20: the running mean predicts 11, the paper 20.
TEST(ElasticBSPTest, PredictorsDiffer) {
  for (const bool last : {false, true}) {
    ElasticBSP policy(
        {.lookahead = 1,
         .predictor = last ? ElasticBSP::Predictor::Last : ElasticBSP::Predictor::Mean});
    policy.step(join(0));
    policy.step(push(0, 0, 10 * s));
    EXPECT_THAT(policy.step(push(0, 1, 30 * s)).reason,
                HasSubstr(last ? "barrier at 50.000 s" : "barrier at 41.000 s"));
  }
}

// The mean is kept over a barrier, and the time spent waiting is no part of an interval.
TEST(ElasticBSPTest, IntervalsLeaveWaitingOutAndSurviveTheBarrier) {
  ElasticBSP policy(with(1));
  policy.step(join(0));
  policy.step(join(1));
  policy.step(push(0, 0, 10 * s));
  policy.step(push(1, 0, 10 * s));
  policy.step(push(0, 1, 20 * s));
  policy.step(push(1, 1, 20 * s));  // plan: one more each
  policy.step(push(0, 2, 30 * s));
  EXPECT_EQ(policy.step(push(1, 2, 80 * s)).release, workers({0, 1}));
  // Worker 0 waited 50 and stays at 10; worker 1 took 60 once: 10 + 50 / 10 = 15.
  policy.step(push(0, 3, 90 * s));
  policy.step(push(1, 3, 95 * s));
  policy.step(push(0, 4, 100 * s));
  EXPECT_THAT(policy.step(push(1, 4, 110 * s)).reason,
              HasSubstr("barrier at 125.000 s, predicted wait 5.000 s"));
}

TEST(ElasticBSPTest, ALeaveEndsMonitoring) {
  ElasticBSP policy(with(4));
  policy.step(join(0));
  policy.step(join(1));
  policy.step(push(0, 0, 2 * s));
  policy.step(push(0, 1, 4 * s));
  const Decision decision = policy.step(leave(1, 5 * s));
  EXPECT_THAT(decision.reason, HasSubstr("plan of superstep 1"));
  EXPECT_THAT(policy.step(push(0, 2, 6 * s)).reason, HasSubstr("barrier of superstep 1"));
}

TEST(ElasticBSPTest, ALeaveMakesTheBarrier) {
  ElasticBSP policy(with(4));
  monitor(policy);
  policy.step(push(1, 2, 9 * s));
  policy.step(push(1, 3, 12 * s));
  const Decision barrier = policy.step(leave(0, 13 * s));
  EXPECT_THAT(barrier.apply, ElementsAre(Apply{{id(1, 3)}}));
  EXPECT_EQ(barrier.release, workers({1}));
}

TEST(ElasticBSPTest, APushThatWaitsCountsAfterItsWorkerLeft) {
  ElasticBSP policy(with(4));
  monitor(policy);
  policy.step(push(1, 2, 9 * s));
  policy.step(push(1, 3, 12 * s));
  EXPECT_THAT(policy.step(leave(1, 12 * s)).apply, IsEmpty());
  policy.step(push(0, 3, 13 * s));
  policy.step(push(0, 4, 14 * s));
  const Decision barrier = policy.step(push(0, 5, 15 * s));
  EXPECT_THAT(barrier.apply, ElementsAre(Apply{{id(0, 5), id(1, 3)}}));
  EXPECT_EQ(barrier.release, workers({0}));
}

TEST(ElasticBSPTest, WhenNobodyIsInAnyMoreWhatWaitsIsApplied) {
  ElasticBSP policy(with(4));
  monitor(policy);
  policy.step(push(1, 2, 9 * s));
  policy.step(push(1, 3, 12 * s));
  policy.step(leave(1, 12 * s));
  EXPECT_THAT(policy.step(leave(0, 12 * s)).apply, ElementsAre(Apply{{id(1, 3)}}));
  policy.step(join(2, 13 * s));
  EXPECT_EQ(policy.step(push(2, 0, 14 * s)).release, workers({2}));  // monitored, not held
}

// (6): it runs free until the others wait; its next push is its last.
TEST(ElasticBSPTest, AJoinerAfterThePlanRunsUntilTheOthersWait) {
  ElasticBSP policy(with(4));
  monitor(policy);
  EXPECT_EQ(policy.step(join(2, 7 * s)).release, workers({2}));
  EXPECT_EQ(policy.step(push(2, 0, 8 * s)).release, workers({2}));
  EXPECT_EQ(policy.step(push(2, 1, 9 * s)).release, workers({2}));
  policy.step(push(0, 3, 9 * s));
  policy.step(push(0, 4, 9 * s));
  policy.step(push(0, 5, 9 * s));
  policy.step(push(1, 2, 9 * s));
  EXPECT_EQ(policy.step(push(2, 2, 10 * s)).release, workers({2}));
  EXPECT_THAT(policy.step(push(1, 3, 11 * s)).release, IsEmpty());  // all with a quota wait
  const Decision barrier = policy.step(push(2, 3, 12 * s));
  EXPECT_THAT(barrier.apply, ElementsAre(Apply{{id(0, 5), id(1, 3), id(2, 3)}}));
  EXPECT_EQ(barrier.release, workers({0, 1, 2}));
}

TEST(ElasticBSPTest, AJoinerWhoseFellowsAllLeftEndsTheSuperstep) {
  ElasticBSP policy(with(4));
  monitor(policy);
  policy.step(join(2, 7 * s));
  policy.step(leave(0, 8 * s));
  policy.step(leave(1, 8 * s));
  const Decision barrier = policy.step(push(2, 0, 9 * s));
  EXPECT_THAT(barrier.apply, ElementsAre(Apply{{id(2, 0)}}));
  EXPECT_EQ(barrier.release, workers({2}));
}

TEST(ElasticBSPTest, AReturningWorkerCountsWithBothLives) {
  ElasticBSP policy(with(4));
  monitor(policy);
  policy.step(push(1, 2, 9 * s));
  policy.step(push(1, 3, 12 * s));
  policy.step(leave(1, 12 * s));
  EXPECT_EQ(policy.step(join(1, 12 * s)).release, workers({1}));
  policy.step(push(0, 3, 13 * s));
  policy.step(push(0, 4, 14 * s));
  EXPECT_THAT(policy.step(push(0, 5, 15 * s)).release, IsEmpty());
  const Decision barrier = policy.step(push(1, 0, 16 * s, 2));
  EXPECT_THAT(barrier.apply, ElementsAre(Apply{{id(0, 5), id(1, 3, 1), id(1, 0, 2)}}));
  EXPECT_EQ(barrier.release, workers({0, 1}));
}

// A worker that takes a nanosecond beside one that takes ages, at the end of time.
TEST(ElasticBSPTest, HostileTimesStayBounded) {
  ElasticBSP policy(with(10'000));
  policy.step(join(0));
  policy.step(join(1));
  policy.step(push(0, 0, 0));
  policy.step(push(0, 1, 0));
  policy.step(push(1, 0, std::numeric_limits<std::int64_t>::max()));
  EXPECT_THAT(policy.step(push(1, 1, std::numeric_limits<std::int64_t>::min())).reason,
              HasSubstr("plan of superstep 1"));
  // However long the superstep is, a worker that keeps pushing meets its quota.
  Step step = 2;
  while (!policy.step(push(0, step++, 0)).release.empty()) ASSERT_LE(step, 20'003u);
}

TEST(ElasticBSPTest, AnIntervalCountsAs100HoursAtMost) {
  ElasticBSP policy(with(4));
  const std::int64_t hour = 3600 * s;
  policy.step(join(0));
  policy.step(push(0, 0, 200 * hour));
  EXPECT_THAT(policy.step(push(0, 1, 400 * hour)).reason, HasSubstr("barrier at 1800000.000 s"));
}

// Pushes in 3,000 units with 5 % jitter, against figures of two independent simulations.
TEST(ElasticBSPTest, ThroughputOnAnUnevenCluster) {
  const std::vector<std::int64_t> speeds{1'000'000, 1'100'000, 1'300'000, 2'000'000};
  const auto mean_total = [&](ElasticBSP::Options options) {
    double total = 0;
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      Rng rng(seed);
      ElasticBSP policy(options);
      const Drive run(policy, 4, 3'000'000'000, [&](std::uint32_t w) {
        return rng.between(speeds[w] * 95 / 100, speeds[w] * 105 / 100);
      });
      total += static_cast<double>(run.total()) / 3;
      EXPECT_LE(run.staleness_max, 12u);
    }
    return total;
  };
  using enum ElasticBSP::Predictor;
  EXPECT_NEAR(mean_total({.lookahead = 4}), 9189, 60);
  EXPECT_NEAR(mean_total({.lookahead = 15}), 9384, 40);
  EXPECT_NEAR(mean_total({.lookahead = 60}), 9443, 40);
  EXPECT_NEAR(mean_total({.lookahead = 4, .predictor = Last}), 9157, 60);
  EXPECT_NEAR(mean_total({.lookahead = 15, .predictor = Last}), 9293, 40);
  EXPECT_NEAR(mean_total({.lookahead = 60, .predictor = Last}), 9273, 40);
}

}  // namespace
}  // namespace paceline::sync
