#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "paceline/base/random.h"
#include "paceline/base/text.h"
#include "paceline/sim/small_pool.h"
#include "paceline/sim/testing.h"
#include "paceline/sim/world.h"
#include "paceline/sync/registry.h"

// The simulator as the laboratory's engine: without checkers, with what clusters are made of.
namespace paceline::sim {
namespace {

using namespace testing;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = Fault::Kind;

// No latency, constant speeds, one sample a push: everything can be reckoned by hand.
Scenario ideal(const std::string& policy, std::vector<Duration> steps, std::uint64_t pushes) {
  Scenario scenario;
  scenario.policy = policy;
  scenario.run.workers = static_cast<std::uint32_t>(steps.size());
  scenario.run.servers = 2;
  scenario.run.samples = pushes;
  scenario.parameter_count = 2;
  scenario.network.latency = Duration{};
  for (const Duration step : steps) scenario.speeds.push_back({.step = step});
  return scenario;
}

SimResult run_unchecked(const Scenario& scenario, SimOptions options = {}) {
  options.check = false;
  return run(scenario, options);
}

class Recorder final : public Observer {
 public:
  void released(WorkerId worker, Time at) override { note("released", worker, at); }
  void computing(WorkerId worker, Time at) override { note("computing", worker, at); }
  void computed(WorkerId worker, Time at) override { note("computed", worker, at); }
  void pushed(WorkerId worker, Time at) override { note("pushed", worker, at); }
  void updated(Time at, std::size_t pushes) override {
    lines.push_back(cat("updated ", pushes, " at ", to_seconds(at)));
  }
  std::vector<std::string> lines;

 private:
  void note(const char* what, WorkerId worker, Time at) {
    lines.push_back(cat(what, " ", worker, " at ", to_seconds(at)));
  }
};

class Failing final : public roles::GradientSource, public roles::Evaluation {
 public:
  std::uint64_t parameter_count() const override { return 2; }
  void initial_parameters(std::span<float>) override {}
  Result<roles::GradientResult> gradient(const roles::GradientTask&) override {
    if (++gradients == fails_at) return paceline::fail(Code::Unavailable, "the disk is full", "");
    return roles::GradientResult{};
  }
  Result<roles::EvaluationResult> evaluate(std::span<const float>) override {
    return paceline::fail(Code::Unavailable, "no test set", "");
  }
  std::uint64_t gradients = 0;
  std::uint64_t fails_at = 0;
};

class Unchecked : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Sim, Unchecked, ::testing::ValuesIn(kPolicies));

TEST_P(Unchecked, DecidesAsTheCheckedRunDoes) {
  Scenario scenario = plain(GetParam());
  scenario.network = {.latency = milliseconds(1),
                      .jitter = milliseconds(2),
                      .bytes_per_second = 100'000,
                      .loss = {2, 100}};
  scenario.faults = {
      {.kind = Kind::Kill, .node = worker_node({1}), .step = 4, .restart_after = seconds(1)}};
  const SimResult checked = run_well(scenario);
  std::vector<std::string> lines;
  const SimResult result = run_unchecked(
      scenario, {.decisions = [&](std::string_view line) { lines.emplace_back(line); }});
  EXPECT_EQ(lines, checked.decisions);
  EXPECT_TRUE(result.decisions.empty());
  EXPECT_EQ(result.stats, checked.stats);
  EXPECT_EQ(result.parameters, checked.parameters);
  EXPECT_EQ(result.events, checked.events);
  EXPECT_EQ(result.exit_code, 0);
}

TEST_P(Unchecked, NothingToWaitForIsTheFirstReleaseAtZero) {
  const SimResult result = run_unchecked(ideal(GetParam(), {seconds(1), seconds(1)}, 8));
  EXPECT_EQ(result.stats.started, Time{});
  EXPECT_EQ(result.stats.last_applied, seconds(4));
  EXPECT_EQ(result.stats.applied, 8U);
}

TEST(Engine, APolicyOfOnesOwnTakesThePlaceOfTheScenarios) {
  Scenario scenario = plain("bsp");
  const SimOptions options{.policy = [] { return std::move(*sync::make_policy("asp")); }};
  const SimResult own = run(scenario, options);
  scenario.policy = "asp";
  const SimResult named = run_well(scenario);
  EXPECT_EQ(own.failure, "");
  EXPECT_EQ(own.decisions, named.decisions);
}

TEST(Engine, TheObserverSeesEachStep) {
  Recorder recorder;
  Scenario scenario = ideal("bsp", {seconds(1), seconds(2)}, 2);
  run(scenario, {.observer = &recorder});
  EXPECT_THAT(recorder.lines, ElementsAre("released 0 at 0", "released 1 at 0", "computing 0 at 0",
                                          "computing 1 at 0", "computed 0 at 1", "pushed 0 at 1",
                                          "computed 1 at 2", "pushed 1 at 2", "updated 2 at 2"));
}

// Repetitions of a lost message are no second release, push or update.
TEST(Engine, TheObserverSeesEachStepOnceWhateverIsLost) {
  for (const char* policy : kPolicies) {
    Scenario scenario = plain(policy);
    scenario.network.loss = {10, 100};
    scenario.network.duplication = {10, 100};
    Recorder recorder;
    const SimResult result = run(scenario, {.observer = &recorder});
    std::map<std::string, std::uint64_t> seen;
    for (const std::string& line : recorder.lines) ++seen[line.substr(0, line.find(' '))];
    EXPECT_EQ(result.failure, "");
    EXPECT_EQ(seen["released"], 60U + result.stats.leases_lost);
    EXPECT_EQ(seen["pushed"], 60U);
    EXPECT_EQ(seen["updated"], result.stats.version);
  }
}

TEST(Engine, AGradientThatFailsIsAnErrorOfTheResult) {
  Failing failing;
  failing.fails_at = 3;
  const Scenario scenario = ideal("asp", {seconds(1), seconds(1)}, 8);
  const SimResult result = run_unchecked(scenario, {.source = &failing});
  EXPECT_THAT(result.error, HasSubstr("the disk is full"));
  EXPECT_THAT(result.error, HasSubstr("worker 0"));
  EXPECT_LE(failing.gradients, 4U) << "it goes on for nothing";
  EXPECT_EQ(result.ended, seconds(2));
}

TEST(Engine, AnEvaluationThatFailsIsAnErrorOfTheResult) {
  Failing failing;
  Scenario scenario = ideal("asp", {seconds(1), seconds(1)}, 8);
  scenario.run.evaluator = true;
  scenario.run.eval_every_samples = 2;
  const SimResult result = run_unchecked(scenario, {.source = &failing, .evaluation = &failing});
  EXPECT_THAT(result.error, HasSubstr("no test set"));
  EXPECT_LT(failing.gradients, 8U);
}

TEST(Engine, TheGapOfTheClocksIsThatOfThePolicy) {
  const auto gap = [](const std::string& policy) {
    Scenario scenario = ideal(policy, {seconds(1), seconds(2)}, 1000);
    scenario.stop_at = milliseconds(11'500);
    return run_unchecked(scenario).stats.clock_gap_max;
  };
  EXPECT_EQ(gap("bsp"), 1U);
  EXPECT_EQ(gap("ssp:3"), 4U);
  EXPECT_EQ(gap("asp"), 6U) << "eleven pushes to five";
}

// ---- joining and leaving ----

TEST(Engine, LateJoinersAreNotAwaited) {
  for (const char* policy : kPolicies) {
    Scenario scenario = ideal(policy, {seconds(1), seconds(1), seconds(1)}, 30);
    scenario.start_at = {Duration{}, Duration{}, milliseconds(4500)};
    const SimResult result = run_well(scenario);
    EXPECT_EQ(result.stats.started, Time{}) << policy;
    EXPECT_GE(steps_of(result, 2), 5U) << policy;
    EXPECT_LE(steps_of(result, 2), 8U) << policy;
  }
}

TEST(Engine, AWorkerThatIsStoppedComesBack) {
  for (const char* policy : kPolicies) {
    Scenario scenario = ideal(policy, {seconds(1), seconds(1), seconds(1)}, 60);
    scenario.launcher = false;
    scenario.faults = {{.kind = Kind::Stop,
                        .node = worker_node({2}),
                        .at = milliseconds(3500),
                        .restart_after = milliseconds(4000)}};
    const SimResult result = run_well(scenario);
    EXPECT_TRUE(result.stats.failures.empty()) << policy;
    EXPECT_EQ(result.stats.leases_lost, 1U) << policy;
    EXPECT_NEAR(static_cast<double>(steps_of(result, 2)), 17, 1) << policy;
  }
}

// ---- network and servers ----

TEST(Engine, AWorkersLinksAreItsOwn) {
  Scenario scenario = ideal("asp", {seconds(1), seconds(1)}, 1000);
  scenario.links = {std::nullopt, LinkOptions{.latency = milliseconds(250)}};
  scenario.stop_at = seconds(100);
  const SimResult result = run_unchecked(scenario);
  EXPECT_EQ(steps_of(result, 0), 100U);
  // From one push to the next: the push, its notice and the release on their way, and the step.
  EXPECT_EQ(steps_of(result, 1), 66U);
}

TEST(Engine, PayloadsCountByTheirScale) {
  Scenario scenario = ideal("asp", {seconds(1)}, 1000);
  scenario.links = {LinkOptions{.bytes_per_second = 1000}};
  scenario.payload_scale = 250;  // a shard of one float takes a second, each way
  scenario.stop_at = seconds(301);
  const SimResult result = run_unchecked(scenario);
  EXPECT_NEAR(static_cast<double>(result.stats.applied), 301 / 3.1, 3);
  EXPECT_EQ(result.stats.pushed_bytes % 2000, 0U);
  EXPECT_NEAR(static_cast<double>(result.stats.pushed_bytes),
              2000.0 * static_cast<double>(result.stats.applied), 4000);
}

TEST(Engine, AServerTakesOnePushAfterTheOther) {
  Scenario scenario = ideal("bsp", {seconds(1), seconds(1), seconds(1), seconds(1)}, 40);
  scenario.service_time = milliseconds(100);
  const SimResult result = run_well(scenario);
  // A superstep is 1 s and four pushes of 0.1 s, which wait 0, 0.1, 0.2 and 0.3 s.
  EXPECT_EQ(result.stats.last_applied - result.stats.started, seconds(14));
  EXPECT_DOUBLE_EQ(result.server_queue_seconds, 0.15);
  EXPECT_THAT(result.server_busy_share,
              ElementsAre(DoubleNear(4.0 / 14, 1e-9), DoubleNear(4.0 / 14, 1e-9)));
}

// A server that is behind by more than a worker's patience is asked, and not given pushes twice.
TEST(Engine, AQuestionWaitsBehindThePush) {
  Scenario scenario = ideal("asp", {seconds(1), seconds(1), seconds(1), seconds(1)}, 40);
  scenario.service_time = seconds(1);
  const SimResult result = run_well(scenario);
  EXPECT_EQ(result.stats.repeated, 0U);
  EXPECT_NEAR(result.server_queue_seconds, 2, 0.5);
  EXPECT_THAT(result.server_busy_share[0], DoubleNear(1, 0.05));
}

// ---- the cut ----

TEST(Engine, ARunIsCutWithItsOpenWaits) {
  Scenario scenario = ideal("bsp", {seconds(1), seconds(10)}, 1000);
  scenario.stop_at = seconds(16);
  const SimResult result = run_unchecked(scenario);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.exit_code, -1);
  EXPECT_EQ(result.ended, seconds(16));
  EXPECT_EQ(result.stats.applied, 2U);
  EXPECT_EQ(result.stats.workers[0].waited, seconds(9 + 5));
  EXPECT_EQ(result.stats.now, seconds(16));
}

TEST(Engine, TheCutCountsFromTheFirstRelease) {
  Scenario scenario = ideal("asp", {seconds(1)}, 1000);
  scenario.network.latency = milliseconds(1);
  scenario.start_within = seconds(2);
  scenario.stop_at = milliseconds(5500);
  const SimResult result = run_unchecked(scenario);
  EXPECT_GT(result.stats.started, Time{});
  EXPECT_EQ(result.ended, result.stats.started + milliseconds(5500));
  EXPECT_EQ(result.stats.applied, 5U);
}

TEST(Engine, ABudgetThatEndsBeforeTheCutEndsTheRun) {
  Scenario scenario = ideal("asp", {seconds(1)}, 3);
  scenario.stop_at = seconds(10);
  const SimResult result = run_unchecked(scenario);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.stats.last_applied, seconds(3));
}

// ---- the order of what happens ----

// Against a set of (time, number): plans for now and for later, in bursts that the ring grows and
// wraps around for, and many at one time.
TEST(World, TheOneThatWasPlannedFirstComesFirst) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world;
    Rng rng(seed);
    std::set<std::pair<Time, std::uint64_t>> expected;  // to come
    std::uint64_t planned = 0;
    std::uint64_t run = 0;
    const auto plan = [&](Time at) {
      const std::uint64_t number = ++planned;
      expected.insert({at, number});
      world.plan(at, [&, at, number] {
        ASSERT_FALSE(expected.empty());
        EXPECT_EQ(*expected.begin(), std::pair(at, number)) << "seed " << seed;
        EXPECT_EQ(world.now(), at);
        expected.erase({at, number});
        ++run;
      });
    };
    for (int round = 0; round < 400; ++round) {
      for (std::uint64_t burst = rng.below(40); burst > 0; --burst) {
        plan(world.now() + Duration{rng.chance(1, 2) ? 0 : rng.between(0, 4)});
      }
      for (std::uint64_t done = rng.below(40); done > 0 && !world.is_empty(); --done) {
        EXPECT_EQ(world.next(), expected.begin()->first);
        world.run_next();
      }
    }
    while (!world.is_empty()) world.run_next();
    EXPECT_TRUE(expected.empty()) << expected.size() << " were lost";
    EXPECT_EQ(run, planned);
  }
}

// What is planned while something happens comes after what was planned for then before.
TEST(World, AnEarlierPlanForNowComesBeforeANewOne) {
  World world;
  std::vector<int> order;
  const Time then{5};
  world.plan(then, [&] {
    order.push_back(1);
    world.plan(then, [&] { order.push_back(3); });
  });
  world.plan(then, [&] { order.push_back(2); });
  while (!world.is_empty()) world.run_next();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

// Small actions lie in the world itself, others on the heap; what is left is freed once.
TEST(World, DropsWhatNeverHappened) {
  const auto alive = std::make_shared<int>(0);
  {
    World world;
    for (int i = 0; i < 100; ++i) {
      world.plan(Time{i % 3}, [alive] { FAIL() << "not asked to"; });
    }
    EXPECT_EQ(alive.use_count(), 101);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

// Two that live at a time never share bytes, and what was given back is used again.
TEST(SmallPool, GivesNoBlockTwice) {
  SmallPool pool;
  Rng rng(1);
  std::vector<MutablePayload> held;
  std::set<const std::byte*> seen;
  for (int i = 0; i < 5000; ++i) {
    if (held.size() < 300 && rng.chance(1, 2)) {
      held.push_back(pool.take(4 + rng.below(61)));
      const auto bytes = held.back()->bytes();
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 64, 0U);
      seen.insert(bytes.data());
    } else if (!held.empty()) {
      std::swap(held[rng.below(held.size())], held.back());
      held.pop_back();
    }
  }
  std::set<const std::byte*> live;
  for (const MutablePayload& each : held) live.insert(each->bytes().data());
  EXPECT_EQ(live.size(), held.size());
  EXPECT_LE(seen.size(), 320U);
  EXPECT_EQ(pool.take(65)->bytes().size(), 65U);
}

}  // namespace
}  // namespace paceline::sim
