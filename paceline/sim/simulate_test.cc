#include "paceline/sim/simulate.h"

#include <sstream>

#include "paceline/sim/replay.h"
#include "paceline/sim/testing.h"

namespace paceline::sim {
namespace {

using namespace testing;
using ::testing::HasSubstr;

class EveryPolicy : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Sim, EveryPolicy, ::testing::ValuesIn(kPolicies));

TEST_P(EveryPolicy, TrainsTheWholeBudget) {
  const SimResult result = run_well(plain(GetParam()));
  EXPECT_EQ(result.stats.samples, 240U);
  EXPECT_EQ(result.stats.applied, 60U);
  EXPECT_EQ(result.stats.dropped, 0U);
  EXPECT_TRUE(result.stats.failures.empty());
}

TEST_P(EveryPolicy, TheSameScenarioGivesTheSameRun) {
  Scenario scenario = plain(GetParam());
  scenario.network.loss = {3, 100};
  scenario.network.reordering = {3, 100};
  scenario.faults = {{.kind = Fault::Kind::Kill,
                      .node = worker_node({1}),
                      .step = 4,
                      .restart_after = seconds(1)}};
  const SimResult first = run(scenario);
  EXPECT_EQ(first, run(scenario));
  scenario.seed = 2;
  EXPECT_NE(first.hash, run(scenario).hash);
}

TEST_P(EveryPolicy, RecordedEventsGiveTheSameDecisions) {
  Scenario scenario = plain(GetParam());
  scenario.faults = {{.kind = Fault::Kind::Kill, .node = worker_node({2}), .step = 3}};
  const SimResult result = run_well(scenario);
  std::stringstream lines;
  for (const std::string& line : result.decisions) lines << line << "\n";
  const auto replayed = replay(lines, GetParam());
  ASSERT_TRUE(replayed.has_value());
  EXPECT_EQ(replayed->decisions, result.decisions.size());
  EXPECT_EQ(replayed->difference, 0U) << replayed->recorded << "\n" << replayed->decided;
}

TEST(Replay, NamesTheFirstDifferenceAndTheLineThatIsNone) {
  const SimResult result = run_well(plain("ssp:2"));
  std::stringstream lines;
  for (const std::string& line : result.decisions) lines << line << "\n";
  const auto other = replay(lines, "ssp:1");
  ASSERT_TRUE(other.has_value());
  EXPECT_GT(other->difference, 0U);
  EXPECT_NE(other->recorded, other->decided);
  std::stringstream broken("{\"now\": 1}\n");
  const auto none = replay(broken, "bsp");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().where, "line 1");
  EXPECT_FALSE(replay(broken, "bps").has_value());
}

// ---- promise 4: bsp with a fixed set of workers ----

TEST(Determinism, BspTrainsTheSameWhateverTheNetworkAndTheSpeedsAre) {
  const SimResult calm = run_well(plain("bsp"));
  for (std::uint64_t seed = 2; seed < 12; ++seed) {
    Scenario scenario = plain("bsp");
    scenario.seed = seed;
    scenario.network = {.latency = milliseconds(3),
                        .jitter = milliseconds(20),
                        .bytes_per_second = 20'000,
                        .loss = {5, 100},
                        .duplication = {5, 100},
                        .reordering = {10, 100}};
    scenario.speeds = {{.step = milliseconds(1 + seed), .jitter = 0.8}};
    scenario.faults = {
        {.kind = Fault::Kind::BreakLink,
         .node = worker_node({1}),
         .step = 3,
         .peer = server_node(0)},
        {.kind = Fault::Kind::BreakLink,
         .node = server_node(1),
         .at = seconds(1),
         .peer = kCoordinator},
        {.kind = Fault::Kind::Pause, .node = worker_node({2}), .step = 5, .length = seconds(5)},
        {.kind = Fault::Kind::Pause,
         .node = server_node(0),
         .at = seconds(2),
         .length = seconds(4)}};
    scenario.cuts = {{.from = worker_node({0}),
                      .to = server_node(1),
                      .begin = milliseconds(500),
                      .end = seconds(10)}};
    const SimResult result = run_well(scenario);
    EXPECT_EQ(result.stats.param_sha256, calm.stats.param_sha256) << "seed " << seed;
    EXPECT_NE(result.hash, calm.hash);
  }
}

TEST(Determinism, BspDoesNotDependOnTheNumberOfServers) {
  Scenario scenario = plain("bsp");
  const SimResult two = run_well(scenario);
  scenario.run.servers = 5;
  EXPECT_EQ(run_well(scenario).parameters, two.parameters);
}

// ---- shapes of a run ----

TEST(Shapes, ABudgetThatNothingDivides) {
  for (const char* policy : kPolicies) {
    Scenario scenario = plain(policy);
    scenario.run.samples = 101;
    scenario.run.batch_size = 7;
    const SimResult result = run_well(scenario);
    EXPECT_EQ(result.stats.samples, 101U) << policy;
    EXPECT_EQ(result.stats.applied, 15U) << policy;
  }
}

TEST(Shapes, OneWorkerOneServerOneSample) {
  for (const char* policy : kPolicies) {
    Scenario scenario = plain(policy);
    scenario.run.workers = scenario.run.servers = 1;
    EXPECT_EQ(steps_of(run_well(scenario), 0), 60U) << policy;
    scenario.run.samples = scenario.run.batch_size = 1;
    EXPECT_EQ(steps_of(run_well(scenario), 0), 1U) << policy;
  }
}

TEST(Shapes, MoreWorkersThanBatches) {
  for (const char* policy : kPolicies) {
    Scenario scenario = plain(policy);
    scenario.run.workers = 7;
    scenario.run.samples = 12;
    EXPECT_EQ(run_well(scenario).stats.applied, 3U) << policy;
  }
}

// The oracle of the checkers has its own momentum; Adam is held against the library over one shard.
TEST(Shapes, EveryRuleMovesAllShardsAlike) {
  for (const char* policy : kPolicies) {
    Scenario scenario = plain(policy);
    scenario.run.servers = 3;
    scenario.run.optimizer = {.momentum = 0.9, .nesterov = true, .weight_decay = 0.01};
    run_well(scenario);
    scenario.run.optimizer = {.name = "adamw", .weight_decay = 0.01};
    run_well(scenario);
  }
}

TEST(Shapes, TheScheduleFollowsTheSamples) {
  Scenario scenario = plain("asp");
  scenario.run.schedule = {.name = optim::ScheduleName::Cosine, .warmup = 0.1};
  const SimResult result = run_well(scenario);
  EXPECT_LT(result.stats.lr, scenario.run.lr / 100);
}

TEST(Shapes, TheStepFloorHoldsAFastWorkerBack) {
  Scenario scenario = plain("asp");
  scenario.step_floor = milliseconds(180);
  const SimResult result = run_well(scenario);
  EXPECT_NEAR(static_cast<double>(steps_of(result, 0)), static_cast<double>(steps_of(result, 3)),
              1);
}

TEST(Shapes, WaitingIsCountedUnderBspAndNotUnderAsp) {
  const SimResult bsp = run_well(plain("bsp"));
  const SimResult asp = run_well(plain("asp"));
  const auto share = [](const SimResult& result) {
    return to_seconds(result.stats.workers[1].waited) /
           to_seconds(result.stats.last_applied - result.stats.started);
  };
  EXPECT_GT(share(bsp), 0.55);
  EXPECT_LT(share(asp), 0.01);
  EXPECT_EQ(bsp.stats.barriers, 15U);
  EXPECT_EQ(asp.stats.barriers, 0U);
}

// A worker that waits at the barrier has pushed; the others are released in one decision.
TEST(Shapes, StalenessIsThatOfThePolicy) {
  EXPECT_EQ(run_well(plain("bsp")).stats.staleness.size(), 1U);
  EXPECT_GT(roles::quantile(run_well(plain("asp")).stats.staleness, 1), 3U);
}

// ---- evaluation ----

TEST(Evaluation, GoesOnBesideTheTrainingAndEndsWithTheLastVersion) {
  Scenario scenario = plain("asp");
  scenario.run.evaluator = true;
  scenario.run.eval_every_samples = 60;
  const SimResult result = run_well(scenario);
  ASSERT_GE(result.stats.evaluations.size(), 4U);
  EXPECT_EQ(result.stats.evaluations.back().version, 60U);
  EXPECT_EQ(result.stats.evaluations.front().samples, 60U);
  EXPECT_FALSE(result.stats.target_reached.has_value());
}

TEST(Evaluation, StopsAtTheTargetWhenAsked) {
  Scenario scenario = plain("asp");
  scenario.run.evaluator = true;
  scenario.run.eval_every_samples = 8;
  scenario.run.samples = 4000;
  scenario.run.target_accuracy = 0.5;
  const SimResult on = run_well(scenario);
  EXPECT_EQ(on.stats.samples, 4000U);
  ASSERT_TRUE(on.stats.target_reached.has_value());
  scenario.run.stop_at_target = true;
  const SimResult stopped = run_well(scenario);
  EXPECT_LT(stopped.stats.samples, 4000U);
  EXPECT_THAT(stopped.why, HasSubstr("target"));
  EXPECT_EQ(stopped.stats.target_reached, on.stats.target_reached);
}

TEST(Evaluation, OneThatIsStillStartingIsWaitedFor) {
  Scenario scenario = plain("asp");
  scenario.run.samples = 8;
  scenario.run.evaluator = true;
  scenario.cuts = {{.from = kEvaluator, .to = kCoordinator, .end = seconds(9)}};
  const SimResult result = run_well(scenario);
  ASSERT_EQ(result.stats.evaluations.size(), 1U);
  EXPECT_EQ(result.stats.evaluations[0].version, 2U);
  scenario.cuts[0].end = std::chrono::hours(48);
  EXPECT_LT(run_well(scenario).stats.now, seconds(70)) << "but not for ever";
}

TEST(Evaluation, ADeadEvaluatorHoldsNobodyUp) {
  Scenario scenario = plain("bsp");
  scenario.run.evaluator = true;
  scenario.run.eval_every_samples = 20;
  scenario.faults = {{.kind = Fault::Kind::Kill, .node = kEvaluator, .at = milliseconds(900)}};
  const SimResult result = run_well(scenario);
  EXPECT_LT(result.ended, seconds(5));
  ASSERT_EQ(result.stats.failures.size(), 1U);
  EXPECT_EQ(result.stats.failures[0].node, kEvaluator);
}

TEST(Evaluation, ASlowEvaluatorIsAskedForNoMoreThanItCanHold) {
  Scenario scenario = plain("asp");
  scenario.run.evaluator = true;
  scenario.run.eval_every_samples = 4;
  scenario.evaluation = seconds(1);
  const SimResult result = run_well(scenario);
  EXPECT_LE(result.stats.evaluations.size(), 8U);
  EXPECT_EQ(result.stats.evaluations.back().version, 60U);
}

}  // namespace
}  // namespace paceline::sim
