#include "paceline/sim/testing.h"
#include "paceline/wire/codec.h"

// One fault each, by name. The checkers hold all promises in every one of these runs.
namespace paceline::sim {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using Kind = Fault::Kind;

class Faults : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Sim, Faults, ::testing::ValuesIn(kPolicies));

// Design 2 and promise 6: the others go on, and somebody else computes the lost batch.
TEST_P(Faults, AnyWorkerKilledInMidStepIsLeftBehind) {
  for (std::uint32_t worker = 0; worker < 4; ++worker) {
    Scenario scenario = plain(GetParam());
    scenario.faults = {{.kind = Kind::Kill, .node = worker_node({worker}), .step = 3}};
    const SimResult result = run_well(scenario);
    EXPECT_EQ(steps_of(result, worker), 3U);
    EXPECT_EQ(result.stats.leases_lost, 1U);
    EXPECT_EQ(result.stats.applied, 60U);
    ASSERT_EQ(result.stats.failures.size(), 1U);
    EXPECT_EQ(result.stats.failures[0].signal, 9);
    EXPECT_EQ(result.stats.failures[0].node, worker_node({worker}));
    EXPECT_EQ(result.stats.failures[0].at_step, 3U);
    EXPECT_LT(result.ended, seconds(15)) << "a broken connection is noticed at once";
  }
}

TEST_P(Faults, ARestartedWorkerTakesItsPlaceAgain) {
  Scenario scenario = plain(GetParam());
  scenario.faults = {{.kind = Kind::Kill,
                      .node = worker_node({1}),
                      .step = 3,
                      .restart_after = milliseconds(100)}};
  const SimResult result = run_well(scenario);
  EXPECT_GT(steps_of(result, 1), 5U);
}

TEST_P(Faults, AllButOneWorkerKilled) {
  Scenario scenario = plain(GetParam());
  for (std::uint32_t w = 0; w < 3; ++w) {
    scenario.faults.push_back({.kind = Kind::Kill, .node = worker_node({w}), .step = 2 + w});
  }
  EXPECT_EQ(run_well(scenario).stats.applied, 60U);
}

TEST_P(Faults, NoWorkerLeftEndsTheRunWithTheReason) {
  for (const bool launcher : {true, false}) {
    Scenario scenario = plain(GetParam());
    scenario.launcher = launcher;
    scenario.may_fail = true;
    for (std::uint32_t w = 0; w < 4; ++w) {
      scenario.faults.push_back({.kind = Kind::Kill, .node = worker_node({w}), .step = 2});
    }
    const SimResult result = run(scenario);
    EXPECT_EQ(result.failure, "");
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_THAT(result.why, HasSubstr("no worker is left"));
    EXPECT_LT(result.ends.front().at, seconds(3));
    EXPECT_LT(result.ended, launcher ? seconds(3) : seconds(30));
  }
}

// A zombie: it was paused for so long that the run went on without it. What it has is dropped.
TEST_P(Faults, APausedWorkerIsFencedAndComesBack) {
  Scenario scenario = plain(GetParam());
  scenario.run.samples = 4800;
  scenario.faults = {
      {.kind = Kind::Pause, .node = worker_node({2}), .step = 3, .length = seconds(18)}};
  const SimResult result = run_well(scenario);
  ASSERT_FALSE(result.stats.failures.empty());
  EXPECT_EQ(result.stats.failures[0].cause, "silence");
  EXPECT_GT(steps_of(result, 2), 3U);
  EXPECT_EQ(result.stats.leases_lost, 1U);
}

TEST_P(Faults, AShortPauseCostsNothingButTime) {
  Scenario scenario = plain(GetParam());
  scenario.faults = {
      {.kind = Kind::Pause, .node = worker_node({2}), .step = 3, .length = seconds(8)},
      {.kind = Kind::Pause, .node = kCoordinator, .at = milliseconds(500), .length = seconds(8)},
      {.kind = Kind::Pause, .node = server_node(0), .at = milliseconds(700), .length = seconds(8)}};
  const SimResult result = run_well(scenario);
  EXPECT_TRUE(result.stats.failures.empty());
  EXPECT_EQ(result.stats.leases_lost, 0U);
}

// It hears nobody while it is frozen itself, and blames nobody for it. A worker that was frozen for
// longer than its own patience comes back instead of giving up.
TEST_P(Faults, WhoeverWasFrozenItselfDoesNotTakeTheOthersForDead) {
  Scenario scenario = plain(GetParam());
  scenario.run.evaluator = true;
  scenario.faults = {
      {.kind = Kind::Pause, .node = kCoordinator, .at = milliseconds(700), .length = seconds(25)}};
  const SimResult result = run_well(scenario);
  EXPECT_TRUE(result.stats.failures.empty());

  scenario.run.samples = 24'000;
  scenario.faults = {
      {.kind = Kind::Pause, .node = worker_node({2}), .step = 3, .length = seconds(50)}};
  EXPECT_GT(steps_of(run_well(scenario), 2), 10U);
}

TEST_P(Faults, AServerKilledEndsTheRunAndIsNamed) {
  for (const bool launcher : {true, false}) {
    Scenario scenario = plain(GetParam());
    scenario.launcher = launcher;
    scenario.may_fail = true;
    scenario.faults = {{.kind = Kind::Kill, .node = server_node(1), .at = milliseconds(700)}};
    const SimResult result = run(scenario);
    EXPECT_EQ(result.failure, "");
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_THAT(result.why, HasSubstr("server 1"));
    EXPECT_LT(result.ended, seconds(6));
    ASSERT_FALSE(result.stats.failures.empty());
    EXPECT_EQ(result.stats.failures[0].node, server_node(1));
  }
}

TEST_P(Faults, AFrozenServerEndsTheRunAndIsNamed) {
  Scenario scenario = plain(GetParam());
  scenario.may_fail = true;
  scenario.faults = {{.kind = Kind::Pause,
                      .node = server_node(1),
                      .at = milliseconds(700),
                      .length = seconds(40)}};
  const SimResult result = run(scenario);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.why, HasSubstr("server 1"));
}

// The worker gives up by itself; everybody else goes on.
TEST_P(Faults, AWorkerCutOffFromOneServerLeaves) {
  Scenario scenario = plain(GetParam());
  scenario.cuts = {{.from = worker_node({1}),
                    .to = server_node(0),
                    .begin = milliseconds(700),
                    .end = std::chrono::hours(48)}};
  const SimResult result = run_well(scenario);
  ASSERT_EQ(result.stats.failures.size(), 1U);
  EXPECT_EQ(result.stats.failures[0].node, worker_node({1}));
  EXPECT_THAT(result.stats.failures[0].text, HasSubstr("cannot reach server 0"));
  EXPECT_EQ(result.stats.applied, 60U);
}

TEST_P(Faults, OneWayCutsAreCutsToo) {
  for (const bool outward : {true, false}) {
    Scenario scenario = plain(GetParam());
    scenario.cuts = {{.from = outward ? worker_node({1}) : kCoordinator,
                      .to = outward ? kCoordinator : worker_node({1}),
                      .both_ways = false,
                      .begin = milliseconds(700),
                      .end = std::chrono::hours(48)}};
    const SimResult result = run_well(scenario);
    EXPECT_EQ(result.stats.applied, 60U);
  }
}

TEST_P(Faults, AShortPartitionHeals) {
  Scenario scenario = plain(GetParam());
  for (const NodeId a : {worker_node({1}), server_node(0)}) {
    scenario.cuts.push_back(
        {.from = a, .to = kCoordinator, .begin = milliseconds(500), .end = seconds(9)});
  }
  const SimResult result = run_well(scenario);
  EXPECT_TRUE(result.stats.failures.empty());
  EXPECT_EQ(result.link_breaks, run_well(plain(GetParam())).link_breaks) << "those at the end";
}

TEST_P(Faults, BrokenLinksComeBack) {
  Scenario scenario = plain(GetParam());
  scenario.run.evaluator = true;
  scenario.run.eval_every_samples = 20;
  for (std::int64_t n = 1; n < 20; ++n) {
    scenario.faults.push_back({.kind = Kind::BreakLink,
                               .node = worker_node({static_cast<std::uint32_t>(n % 4)}),
                               .at = n * milliseconds(130),
                               .peer = n % 2 == 0 ? kCoordinator : server_node(0)});
    scenario.faults.push_back({.kind = Kind::BreakLink,
                               .node = n % 3 == 0 ? kEvaluator : server_node(1),
                               .at = n * milliseconds(170),
                               .peer = kCoordinator});
  }
  run_well(scenario);
}

// Two processes for one place: the later one has it, the other one is refused and ends.
TEST_P(Faults, OfTwoProcessesForOnePlaceOneStays) {
  Scenario scenario = plain(GetParam());
  scenario.launcher = false;
  scenario.faults = {{.kind = Kind::Twin, .node = worker_node({1}), .at = milliseconds(700)}};
  const SimResult result = run_well(scenario);
  ASSERT_FALSE(result.ends.empty());
  EXPECT_EQ(result.ends[0].node, worker_node({1}));
  EXPECT_EQ(result.ends[0].exit_code, 4);
  EXPECT_THAT(result.ends[0].why, HasSubstr("another process"));
  EXPECT_GT(steps_of(result, 1), 5U);
}

TEST_P(Faults, AStoppedWorkerSaysGoodbye) {
  Scenario scenario = plain(GetParam());
  scenario.launcher = false;
  scenario.faults = {{.kind = Kind::Stop, .node = worker_node({1}), .step = 3}};
  const SimResult result = run_well(scenario);
  EXPECT_TRUE(result.stats.failures.empty());
  EXPECT_EQ(result.ends[0].exit_code, 130);
}

TEST(Stop, AsksAllToEndAndTheyDo) {
  Scenario scenario = plain("bsp");
  scenario.may_fail = true;
  scenario.faults = {{.kind = Kind::Stop, .node = kCoordinator, .at = milliseconds(700)}};
  const SimResult result = run(scenario);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.ends.size(), 7U);
  EXPECT_LT(result.ended, seconds(1));
}

// ---- the start ----

TEST(Start, GoesOnWithThoseWhoAreThereInTime) {
  Scenario scenario = plain("bsp");
  scenario.run.start_deadline = seconds(5);
  scenario.cuts = {{.from = worker_node({3}), .to = kCoordinator, .end = std::chrono::hours(48)}};
  const SimResult result = run_well(scenario);
  ASSERT_FALSE(result.stats.failures.empty());
  EXPECT_EQ(result.stats.failures[0].node, worker_node({3}));
  EXPECT_EQ(result.stats.failures[0].cause, "late");
  EXPECT_EQ(steps_of(result, 3), 0U);
}

TEST(Start, NamesTheServerThatIsMissing) {
  Scenario scenario = plain("bsp");
  scenario.may_fail = true;
  scenario.cuts = {{.from = server_node(1), .to = kCoordinator, .end = std::chrono::hours(48)}};
  const SimResult result = run(scenario);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.why, HasSubstr("server 1"));
}

// Before training begins nothing is lost with a server: another process may take its place.
TEST(Start, SurvivesAServerThatIsStartedAgain) {
  for (std::int64_t at = 0; at <= 10; ++at) {
    Scenario scenario = plain("bsp");
    scenario.launcher = false;
    scenario.network.latency = milliseconds(2);
    scenario.faults = {{.kind = Kind::Kill,
                        .node = server_node(1),
                        .at = milliseconds(at),
                        .restart_after = milliseconds(100)}};
    const SimResult result = run_well(scenario);
    EXPECT_LT(result.ended, seconds(20)) << at << " ms";
  }
}

// Whoever gives the first parameters may die while it does, at any moment.
TEST(Start, SurvivesTheDeathOfTheInitialiser) {
  for (std::int64_t at = 0; at < 40; ++at) {
    Scenario scenario = plain("bsp");
    scenario.network.latency = milliseconds(2);
    scenario.faults = {{.kind = Kind::Kill, .node = worker_node({0}), .at = milliseconds(at)}};
    const SimResult result = run_well(scenario);
    EXPECT_LT(result.ended, seconds(20)) << at << " ms";
  }
}

// ---- one message lost ----

// Every type, its first, second, ... message each in a run of its own: nothing hangs, nothing is
// applied twice, and bsp trains the same parameters if nobody had to leave for it.
class LostMessage : public ::testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Sim, LostMessage, ::testing::Range(1U, wire::kTypes + 1));

TEST_P(LostMessage, IsMadeGood) {
  for (const char* policy : {"bsp", "elastic_bsp:6", "ssp:2"}) {
    Scenario scenario = plain(policy);
    scenario.run.workers = 3;
    scenario.run.samples = 120;
    scenario.run.evaluator = true;
    scenario.run.eval_every_samples = 40;
    const SimResult calm = run_well(scenario);
    for (std::uint64_t nth = 0; nth < 8; ++nth) {
      scenario.losses = {{GetParam(), nth}};
      const SimResult result = run_well(scenario);
      EXPECT_LT(result.ended, seconds(60)) << policy << ", " << nth;
      EXPECT_TRUE(result.stats.failures.empty());
      if (scenario.policy == "bsp") {
        EXPECT_EQ(result.stats.param_sha256, calm.stats.param_sha256) << nth;
      }
      ASSERT_FALSE(result.stats.evaluations.empty());
      EXPECT_EQ(result.stats.evaluations.back().version, result.stats.version);
    }
  }
}

}  // namespace
}  // namespace paceline::sim
