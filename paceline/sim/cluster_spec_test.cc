#include "paceline/sim/cluster_spec.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paceline/base/text.h"
#include "paceline/roles/decision_json.h"
#include "paceline/sim/compare.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace paceline::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ClusterSpec parsed(std::string_view json) {
  auto cluster = parse_cluster(json, "c.json");
  EXPECT_TRUE(cluster.has_value()) << to_string(cluster.error());
  return cluster ? std::move(*cluster) : ClusterSpec{};
}

Distribution step_of(const std::string& step) {
  return parsed(cat(R"({"workers": [{"step": )", step, "}]}")).workers.at(0).speed.step;
}

// ---- cluster files ----

TEST(ClusterFile, TheExampleOfTheInterface) {
  const ClusterSpec cluster = parsed(R"({"name": "uneven4", "servers": 2,
 "workers": [{"step": 1.0, "jitter": 0.05}, {"step": {"distribution": "lognormal", "mean": 1.1, "sigma": 0.3},
              "count": 3, "slow": {"factor": 4, "from": 100, "until": 200}}],
 "network": {"latency": 0.0, "bandwidth": null}})");
  EXPECT_EQ(cluster.name, "uneven4");
  EXPECT_EQ(cluster.servers, 2U);
  ASSERT_EQ(cluster.workers.size(), 4U);
  EXPECT_EQ(cluster.workers[0].speed, (Speed{.step = seconds(1), .jitter = 0.05}));
  const Speed slow{.step = Lognormal{.mean = milliseconds(1100), .sigma = 0.3},
                   .slow = {{.factor = 4, .from = seconds(100), .until = seconds(200)}}};
  EXPECT_EQ(cluster.workers[1].speed, slow);
  EXPECT_EQ(cluster.workers[3].speed, slow);
  EXPECT_EQ(cluster.network.latency, 0);
  EXPECT_EQ(cluster.network.bandwidth, std::nullopt);
  EXPECT_EQ(cluster.workers[0].link.has_value(), false);
}

TEST(ClusterFile, WhatIsNotSaidIsFree) {
  const ClusterSpec cluster = parsed(R"({"workers": [{"step": 2}]})");
  EXPECT_EQ(cluster.name, "c");
  EXPECT_EQ(cluster.servers, 2U);
  EXPECT_EQ(cluster.service_time, 0);
  EXPECT_EQ(cluster.parameters, 1'000'000U);
  EXPECT_EQ(cluster.network.latency, 0);
  EXPECT_EQ(cluster.workers.at(0).speed, Speed{.step = seconds(2)});
}

TEST(ClusterFile, EveryDistribution) {
  EXPECT_EQ(step_of("0.5"), Constant{milliseconds(500)});
  EXPECT_EQ(step_of(R"({"distribution": "constant", "value": 3})"), Constant{seconds(3)});
  EXPECT_EQ(step_of(R"({"distribution": "uniform", "low": 1, "high": 2})"),
            (Uniform{.low = seconds(1), .high = seconds(2)}));
  EXPECT_EQ(step_of(R"({"distribution": "normal", "mean": 1, "sigma": 0.1})"),
            (Normal{.mean = seconds(1), .sigma = milliseconds(100)}));
  EXPECT_EQ(step_of(R"({"distribution": "exponential", "mean": 1, "min": 0.25})"),
            (Exponential{.mean = seconds(1), .min = milliseconds(250)}));
  EXPECT_EQ(step_of(R"({"distribution": "pareto", "scale": 1, "alpha": 2.5})"),
            (Pareto{.scale = seconds(1), .alpha = 2.5}));
  EXPECT_EQ(step_of(R"({"distribution": "trace", "steps": [1, 0.5, 2]})"),
            trace_of({seconds(1), milliseconds(500), seconds(2)}));
}

TEST(ClusterFile, EverythingAWorkerCanHave) {
  const ClusterSpec cluster = parsed(R"({"service_time": 0.001, "parameters": 61706, "doc": "All.",
    "network": {"latency": 0.001, "bandwidth": 1e9},
    "workers": [
      {"step": 1, "drift": {"per_second": 0.01, "per_step": -0.001, "least": 0.5, "most": 3},
       "straggler": {"probability": 0.01, "factor": 5, "steps": 10},
       "slow": [{"factor": 2, "until": 10, "every": 60}, {"factor": 0.5, "from": 30}],
       "network": {"latency": 0.04},
       "pauses": [{"at": 5, "for": 1}, {"at": 6, "for": 2}],
       "presence": [{"leaves": 50}, {"joins": 60, "dies": 70}, {"joins": 80}]},
      {"step": 1, "joins": 20, "leaves": 40, "network": {"bandwidth": null}}]})");
  EXPECT_EQ(cluster.doc, "All.");
  EXPECT_EQ(cluster.service_time, 0.001);
  EXPECT_EQ(cluster.parameters, 61706U);
  const WorkerSpec& first = cluster.workers.at(0);
  EXPECT_EQ(first.speed.drift,
            (Drift{.per_second = 0.01, .per_step = -0.001, .least = 0.5, .most = 3}));
  EXPECT_EQ(first.speed.straggler, (Straggler{.probability = 0.01, .factor = 5, .steps = 10}));
  EXPECT_THAT(
      first.speed.slow,
      ElementsAre(SlowPhase{.factor = 2, .until = seconds(10), .every = seconds(60)},
                  SlowPhase{.factor = 0.5, .from = seconds(30), .until = seconds(100'000'000)}));
  EXPECT_EQ(first.link->latency, 0.04);
  EXPECT_EQ(first.link->bandwidth, 1e9);
  ASSERT_EQ(first.pauses.size(), 2U);
  EXPECT_EQ(first.pauses[1].at, 6);
  EXPECT_EQ(first.pauses[1].length, 2);
  ASSERT_EQ(first.presence.size(), 3U);
  EXPECT_EQ(first.presence[0].leaves, 50);
  EXPECT_FALSE(first.presence[0].dies);
  EXPECT_EQ(first.presence[1].joins, 60);
  EXPECT_EQ(first.presence[1].leaves, 70);
  EXPECT_TRUE(first.presence[1].dies);
  EXPECT_EQ(first.presence[2].leaves, std::nullopt);
  const WorkerSpec& second = cluster.workers.at(1);
  EXPECT_EQ(second.presence.at(0).joins, 20);
  EXPECT_EQ(second.presence.at(0).leaves, 40);
  EXPECT_EQ(second.link->latency, 0.001);
  EXPECT_EQ(second.link->bandwidth, std::nullopt);
}

struct Bad {
  const char* json;
  std::size_t line;
  const char* what;
};

std::ostream& operator<<(std::ostream& out, const Bad& bad) { return out << bad.json; }

class BadCluster : public ::testing::TestWithParam<Bad> {};

TEST_P(BadCluster, IsRefusedWithLineAndField) {
  const Bad& bad = GetParam();
  const auto cluster = parse_cluster(bad.json, "c.json");
  ASSERT_FALSE(cluster.has_value());
  EXPECT_EQ(cluster.error().code, Code::InvalidArgument);
  EXPECT_EQ(cluster.error().where, cat("c.json:", bad.line));
  EXPECT_THAT(cluster.error().what, HasSubstr(bad.what));
  EXPECT_NE(cluster.error().fix, "");
}

INSTANTIATE_TEST_SUITE_P(
    ClusterFile, BadCluster,
    ::testing::Values(
        Bad{"{\"workers\": [\n{\"step\": 1},\n{\"step\": -1}]}", 3, "workers[1].step is -1"},
        Bad{"{\"workers\": [\n{\"step\": 0}]}", 2, "workers[0].step is 0"},
        Bad{"{\"workers\": [\n{\"step\": 1e-12}]}", 2, "workers[0].step is 1e-12"},
        Bad{"{\"workers\": [\n{\"step\": 1e9\n}]}", 2, "workers[0].step is 1"},
        Bad{"{\"workers\": [\n{\"step\":\nNaN}]}", 3, "workers[0].step: this is no JSON"},
        Bad{"{\"workers\": [{}, {\n\"step\": 1e999}]}", 2, "workers[1].step: this is no JSON"},
        Bad{"{\"workers\": [{\"step\": {\"steps\": [1,\nnul]}}]}", 2,
            "workers[0].step.steps[1]: this is no JSON"},
        Bad{"{\"workers\": [{\"step\": 1}],\n\"worker\": 3}", 2, "worker is unknown"},
        Bad{"{\"workers\": [\n{\"step\": \"1\"}]}", 2, "workers[0].step is a text, not a number"},
        Bad{"{\"workers\": [\n{\"jitter\": 0.1}]}", 2, "workers[0].step is missing"},
        Bad{"{\"workers\": [\n{\"step\": null}]}", 2, "workers[0].step is missing"},
        Bad{"\n{\"workers\": []}", 2, "workers is empty"}, Bad{"\n{}", 2, "workers is missing"},
        Bad{"{\n\"workers\": 4}", 2, "workers is a number, not a list"},
        Bad{"{\n\"workers\": [4]}", 2, "workers[0] is a number, not an object"},
        Bad{"{\"workers\": [{\"step\": 1,\n\"count\": 0}]}", 2, "workers[0].count is 0"},
        Bad{"{\"workers\": [{\"step\": 1,\n\"count\": 1.5}]}", 2, "workers[0].count is 1.5"},
        Bad{"{\"workers\": [{\"step\": 1}, {\"step\": 1,\n\"count\": 1000000}]}", 2,
            "workers[1].count makes more workers than there may be"},
        Bad{"{\"workers\": [{\"step\": 1,\n\"jitter\": 1}]}", 2, "workers[0].jitter is 1"},
        Bad{"{\"workers\": [{\"step\": 1,\n\"jiter\": 0}]}", 2, "workers[0].jiter is unknown"},
        Bad{"{\"workers\": [{\"step\": 1,\n\"step\": 2}]}", 2, "workers[0].step is there twice"},
        Bad{"{\"workers\": [{\"step\": 1}],\n\"network\": {\"bandwidth\": 0}}", 2,
            "network.bandwidth is 0"},
        Bad{"{\"workers\": [{\"step\": 1,\n\"network\": {\"bandwidth\": 0.5}}]}", 2,
            "workers[0].network.bandwidth is 0.5"},
        Bad{"{\"workers\": [{\"step\": 1}],\n\"network\": {\"latency\": -0.1}}", 2,
            "network.latency is -0.1"},
        Bad{"{\"workers\": [{\"step\": 1}],\n\"servers\": 0}", 2, "servers is 0"},
        Bad{"{\"workers\": [{\"step\": 1}],\n\"service_time\": -1}", 2, "service_time is -1"},
        Bad{"{\"workers\": [{\"step\": 1}],\n\"name\": 7}", 2, "name is a number, not a text"},
        Bad{"{\"workers\": [{\"step\": 1}]}\n]", 2, "this is no JSON"}, Bad{"", 1, "no JSON"},
        Bad{"\n[]", 2, "this is a list, not a cluster"},
        Bad{"{\"workers\": [{\"step\": {\n\"distribution\": \"gauss\"}}]}", 2,
            "workers[0].step.distribution is 'gauss'"},
        Bad{"{\"workers\": [{\"step\": {\n\"mean\": 1}}]}", 1,
            "workers[0].step.distribution is missing"},
        Bad{"{\"workers\": [{\"step\": {\"distribution\": \"normal\",\n\"mean\": 1}}]}", 1,
            "workers[0].step.sigma is missing"},
        Bad{"{\"workers\": [{\"step\": {\"distribution\": \"normal\", \"mean\": 1,\n\"sigma\": "
            "-1}}]}",
            2, "workers[0].step.sigma is -1"},
        Bad{"{\"workers\": [{\"step\": {\"distribution\": \"uniform\", \"low\": 2,\n\"high\": "
            "1}}]}",
            2, "workers[0].step.high is below low"},
        Bad{"{\"workers\": [{\"step\": {\"distribution\": \"exponential\", \"mean\": 1,\n\"min\": "
            "2}}]}",
            2, "workers[0].step.min is above mean"},
        Bad{"{\"workers\": [{\"step\": {\"distribution\": \"pareto\", \"scale\": 1,\n\"alpha\": "
            "1}}]}",
            2, "workers[0].step.alpha is 1"},
        Bad{"{\"workers\": [{\"step\": {\"distribution\": \"trace\",\n\"steps\": []}}]}", 2,
            "workers[0].step.steps is no list"},
        Bad{"{\"workers\": [{\"step\": {\"distribution\": \"trace\", \"steps\": [1,\n-1]}}]}", 2,
            "workers[0].step.steps[1] is -1"},
        Bad{"{\"workers\": [{\"step\": {\"distribution\": \"constant\", \"value\": 1,\n\"mean\": "
            "1}}]}",
            2, "workers[0].step.mean is unknown"},
        Bad{"{\"workers\": [{\"step\": 1, \"slow\": {\"from\": 1}}]}", 1,
            "workers[0].slow.factor is missing"},
        Bad{"{\"workers\": [{\"step\": 1, \"slow\": [{\"factor\": 2},\n{\"factor\": 0}]}]}", 2,
            "workers[0].slow[1].factor is 0"},
        Bad{"{\"workers\": [{\"step\": 1, \"slow\": {\"factor\": 2, \"from\": 5,\n\"until\": "
            "5}}]}",
            2, "workers[0].slow.until is not above from"},
        Bad{"{\"workers\": [{\"step\": 1, \"slow\": {\"factor\": 2, \"until\": 5,\n\"every\": "
            "4}}]}",
            2, "workers[0].slow.every is shorter than the phase"},
        Bad{"{\"workers\": [{\"step\": 1, \"straggler\": {\"probability\": 2,\n\"factor\": 2}}]}",
            1, "workers[0].straggler.probability is 2"},
        Bad{"{\"workers\": [{\"step\": 1, \"pauses\": [{\"at\": 1, \"for\": 2},\n{\"at\": 2, "
            "\"for\": 1}]}]}",
            2, "workers[0].pauses[1].at is before the end"},
        Bad{"{\"workers\": [{\"step\": 1, \"joins\": 5,\n\"leaves\": 5}]}", 2,
            "workers[0].leaves is not above joins"},
        Bad{"{\"workers\": [{\"step\": 1, \"leaves\": 5,\n\"dies\": 6}]}", 2,
            "workers[0].dies and leaves are both there"},
        Bad{"{\"workers\": [{\"step\": 1, \"presence\": [{},\n{\"joins\": 6}]}]}", 2,
            "workers[0].presence[1].joins comes after a stay without end"},
        Bad{"{\"workers\": [{\"step\": 1, \"presence\": [{\"leaves\": 7},\n{\"joins\": 6}]}]}", 2,
            "workers[0].presence[1].joins is not above the end"},
        Bad{"{\"workers\": [{\"step\": 1, \"joins\": 1,\n\"presence\": [{}]}]}", 2,
            "workers[0].presence and joins"}));

TEST(ClusterFile, AnUnknownFieldIsToldItsNeighbour) {
  const auto cluster = parse_cluster(R"({"workers": [{"step": 1, "jiter": 0.1}]})", "c.json");
  EXPECT_EQ(cluster.error().fix, "did you mean jitter?");
}

TEST(ClusterFile, NestingHasABound) {
  const std::string deep(100'000, '[');
  const auto cluster = parse_cluster(deep, "c.json");
  EXPECT_THAT(cluster.error().what, HasSubstr("nested too deeply"));
}

// ---- matrices of step ends ----

TEST(EndTimes, DifferencesAreTheSteps) {
  const auto cluster = parse_end_times("1, 3,6\n2 4 5\r\n", "ends.csv");
  ASSERT_TRUE(cluster.has_value()) << to_string(cluster.error());
  EXPECT_EQ(cluster->name, "ends");
  ASSERT_EQ(cluster->workers.size(), 2U);
  EXPECT_EQ(cluster->workers[0].speed.step, trace_of({seconds(1), seconds(2), seconds(3)}));
  EXPECT_EQ(cluster->workers[1].speed.step, trace_of({seconds(2), seconds(2), seconds(1)}));
}

TEST(EndTimes, BadOnesAreRefusedWithLineAndValue) {
  const auto refused = [](const char* text) {
    return to_string(parse_end_times(text, "e").error());
  };
  EXPECT_THAT(refused("1 2 3\n1 2\n"), HasSubstr("e:2: this row has 2 ends, the first has 3"));
  EXPECT_THAT(refused("1 2\n1 x\n"), HasSubstr("e:2: value 2 is 'x', no number"));
  EXPECT_THAT(refused("1 2\n2 nan\n"), HasSubstr("e:2: value 2 is nan"));
  EXPECT_THAT(refused("1 2\n-2 3\n"), HasSubstr("e:2: value 1 is -2"));
  EXPECT_THAT(refused("1 2\n0 3\n"), HasSubstr("e:2: value 1 is 0"));
  EXPECT_THAT(refused("1 2\n3 3\n"), HasSubstr("e:2: value 2 is 3, not above"));
  EXPECT_THAT(refused("\n \n"), HasSubstr("e: there is no row"));
  EXPECT_THAT(refused("1 2\n\n1 2\n"), HasSubstr("e:2: value 1 is missing"));
}

// ---- runs ----

Experiment experiment_of(ClusterSpec cluster, const char* policy) {
  return {.cluster = std::move(cluster), .candidates = {{.policy = policy}}, .steps = 40};
}

Machine machine() {
  return {.run_all =
              [](std::size_t count, const auto& work) {
                for (std::size_t i = 0; i < count; ++i) work(i);
              },
          .processor_seconds = [] { return 0.0; }};
}

Outcome outcome_of(const Experiment& experiment) {
  const auto comparison = compare(experiment, machine());
  EXPECT_TRUE(comparison.has_value()) << to_string(comparison.error());
  return comparison ? comparison->policies[0].outcomes[0] : Outcome{};
}

TEST(Run, WhatWasRecordedReplays) {
  for (const char* policy : {"bsp", "asp", "ssp:3", "elastic_bsp:15"}) {
    std::stringstream decisions;
    Experiment recorded = experiment_of(parsed(R"({"workers": [{"step": 1, "jitter": 0.3},
      {"step": {"distribution": "lognormal", "mean": 1.5, "sigma": 0.5}}, {"step": 2}]})"),
                                        policy);
    recorded.decisions = [&](std::size_t, std::string_view line) { decisions << line << '\n'; };
    const Outcome first = outcome_of(recorded);
    const auto cluster = cluster_of_run(decisions, "runs/r7/decisions.jsonl");
    ASSERT_TRUE(cluster.has_value()) << to_string(cluster.error());
    EXPECT_EQ(cluster->name, "r7");
    const Outcome again = outcome_of(experiment_of(*cluster, policy));
    EXPECT_EQ(again.decisions_sha256, first.decisions_sha256) << policy;
  }
}

TEST(Run, ComingAndGoingIsPartOfIt) {
  std::stringstream decisions;
  Experiment recorded = experiment_of(parsed(R"({"workers": [{"step": 1},
      {"step": 2, "presence": [{"dies": 10.5}, {"joins": 20}]}, {"step": 1, "joins": 5.25}]})"),
                                      "asp");
  recorded.decisions = [&](std::size_t, std::string_view line) { decisions << line << '\n'; };
  const Outcome first = outcome_of(recorded);
  EXPECT_EQ(first.failures, 1U);
  const auto cluster = cluster_of_run(decisions, "d.jsonl");
  ASSERT_TRUE(cluster.has_value()) << to_string(cluster.error());
  ASSERT_EQ(cluster->workers.size(), 3U);
  const std::vector<PresenceSpec>& presence = cluster->workers[1].presence;
  ASSERT_EQ(presence.size(), 2U);
  EXPECT_NEAR(*presence[0].leaves, 10.5, 0.3);
  EXPECT_NEAR(presence[1].joins, 20, 0.6);
  EXPECT_EQ(presence[1].leaves, std::nullopt);
  EXPECT_NEAR(cluster->workers[2].presence.at(0).joins, 5.25, 0.3);
  EXPECT_EQ(cluster->workers[0].presence.at(0).leaves, std::nullopt);
}

sync::Event joined(int at, std::uint32_t worker) {
  return {.now = seconds(at), .what = sync::Joined{WorkerId{worker}}};
}
sync::Event left(int at, std::uint32_t worker) {
  return {.now = seconds(at), .what = sync::Left{WorkerId{worker}}};
}
sync::Event pushed(int at, std::uint32_t worker, Incarnation life, Step step) {
  return {.now = seconds(at), .what = sync::Pushed{{WorkerId{worker}, life, step}}};
}

ClusterSpec cluster_of(const std::vector<roles::DecisionLine>& lines) {
  std::stringstream text;
  for (const roles::DecisionLine& line : lines) text << to_json(line) << '\n';
  auto cluster = cluster_of_run(text, "d.jsonl");
  EXPECT_TRUE(cluster.has_value()) << to_string(cluster.error());
  return cluster ? std::move(*cluster) : ClusterSpec{};
}

// Neither a step that death cut off nor a second push of the same step is a step.
TEST(Run, AStepIsFromAReleaseToItsPush) {
  const auto release = [](std::uint32_t worker) {
    return sync::Decision{.release = {WorkerId{worker}}};
  };
  const ClusterSpec cluster = cluster_of({
      {joined(0, 0), release(0)},
      {joined(1, 1), release(1)},
      {pushed(2, 0, 1, 0), {}},
      {pushed(3, 0, 1, 1), release(0)},  // not released: no step
      {left(4, 0), {}},                  // in the middle of one
      {joined(9, 0), {}},
      {pushed(10, 0, 2, 0), release(0)},
      {pushed(13, 0, 2, 1), release(0)},
      {pushed(14, 1, 1, 0), release(1)},
      {pushed(18, 1, 1, 1), {}},
  });
  ASSERT_EQ(cluster.workers.size(), 2U);
  EXPECT_EQ(cluster.workers[0].speed.step, trace_of({seconds(2), seconds(3)}));
  EXPECT_EQ(cluster.workers[1].speed.step, trace_of({seconds(13), seconds(4)}));
}

// Back at the same instant: as if it had not gone.
TEST(Run, StaysThatTouchAreOne) {
  const auto release = [](std::uint32_t worker) {
    return sync::Decision{.release = {WorkerId{worker}}};
  };
  const ClusterSpec cluster = cluster_of({
      {joined(0, 0), release(0)},
      {joined(0, 1), release(1)},
      {left(4, 0), {}},
      {joined(4, 0), release(0)},
      {left(8, 0), {}},
      {joined(12, 0), release(0)},
      {pushed(14, 0, 3, 0), release(0)},
      {pushed(20, 1, 1, 0), release(1)},
      {pushed(24, 1, 1, 1), release(1)},
  });
  const std::vector<PresenceSpec>& presence = cluster.workers.at(0).presence;
  ASSERT_EQ(presence.size(), 2U);
  EXPECT_EQ(presence[0].leaves, 8);
  EXPECT_EQ(presence[1].joins, 12);
}

TEST(Run, ALineThatIsNoneIsNamed) {
  std::istringstream torn("{\"now\": 1, \"event\": \"joi");
  EXPECT_THAT(to_string(cluster_of_run(torn, "d.jsonl").error()), HasSubstr("d.jsonl:1"));
  std::istringstream nothing("");
  EXPECT_THAT(to_string(cluster_of_run(nothing, "d.jsonl").error()), HasSubstr("no worker pushes"));
  roles::DecisionLine late{.event = {.now = seconds(2), .what = sync::Joined{{0}}}};
  roles::DecisionLine early{.event = {.now = seconds(1), .what = sync::Joined{{1}}}};
  std::istringstream back(cat(to_json(late), "\n\n", to_json(early), "\n"));
  EXPECT_THAT(to_string(cluster_of_run(back, "d.jsonl").error()),
              HasSubstr("d.jsonl:3: time goes back here"));
}

// ---- the simulator's side ----

TEST(Put, EverythingReachesTheScenario) {
  Scenario scenario;
  scenario.speeds.resize(7);
  put(parsed(R"({"servers": 3, "service_time": 0.25, "network": {"latency": 0.5, "bandwidth": 1000},
    "workers": [{"step": 1}, {"step": 2, "network": {"latency": 0.125}, "pauses": {"at": 3, "for": 4},
                 "presence": [{"joins": 1, "leaves": 5}, {"joins": 8, "dies": 9}]}]})"),
      scenario);
  EXPECT_EQ(scenario.run.workers, 2U);
  EXPECT_EQ(scenario.run.servers, 3U);
  EXPECT_EQ(scenario.service_time, milliseconds(250));
  EXPECT_EQ(scenario.network.latency, milliseconds(500));
  EXPECT_EQ(scenario.network.jitter, Duration{});
  EXPECT_EQ(scenario.network.bytes_per_second, 1000U);
  EXPECT_EQ(scenario.speeds.size(), 2U);
  EXPECT_EQ(scenario.speeds.at(1).step, Constant{seconds(2)});
  EXPECT_FALSE(scenario.links.at(0).has_value());
  EXPECT_EQ(scenario.links.at(1)->latency, milliseconds(125));
  EXPECT_EQ(scenario.links.at(1)->bytes_per_second, 1000U);
  EXPECT_THAT(scenario.start_at, ElementsAre(Duration{}, seconds(1)));
  ASSERT_EQ(scenario.faults.size(), 3U);
  EXPECT_EQ(scenario.faults[0].kind, Fault::Kind::Pause);
  EXPECT_EQ(scenario.faults[0].at, seconds(3));
  EXPECT_EQ(scenario.faults[0].length, seconds(4));
  EXPECT_EQ(scenario.faults[1].kind, Fault::Kind::Stop);
  EXPECT_EQ(scenario.faults[1].at, seconds(5));
  EXPECT_EQ(scenario.faults[1].restart_after, seconds(3));
  EXPECT_EQ(scenario.faults[2].kind, Fault::Kind::Kill);
  EXPECT_EQ(scenario.faults[2].restart_after, std::nullopt);
  EXPECT_EQ(scenario.faults[2].node, (NodeId{Role::Worker, 1}));
}

TEST(Put, AClusterWithoutWaysToLoseIsCalm) {
  Scenario scenario;
  put(equal_cluster(3), scenario);
  EXPECT_TRUE(scenario.is_calm());
  EXPECT_EQ(scenario.network.latency, Duration{});
  EXPECT_TRUE(scenario.links.empty());
}

TEST(Profiles, EachRunsUnderEachPolicy) {
  for (const ClusterSpec& profile : profiles()) {
    for (const char* policy : {"bsp", "asp", "ssp:3", "dssp:3-15", "elastic_bsp:15"}) {
      Experiment experiment = experiment_of(profile, policy);
      experiment.steps = 300;
      const Outcome outcome = outcome_of(experiment);
      EXPECT_EQ(outcome.pushes, 300 * profile.workers.size()) << profile.name << ' ' << policy;
      EXPECT_GT(outcome.seconds, 0);
    }
  }
}

TEST(Profiles, HaveTheRatiosTheyAreNamedFor) {
  const auto step = [](const char* name, std::size_t worker) {
    const auto found = std::ranges::find(profiles(), name, &ClusterSpec::name);
    return to_seconds(mean_of(found->workers.at(worker).speed.step));
  };
  EXPECT_NEAR(step("gpu_generations", 3) / step("gpu_generations", 0), 1.9, 1e-9);
  EXPECT_NEAR(step("one_slow_of_eight", 7) / step("one_slow_of_eight", 0), 4, 1e-9);
  EXPECT_NEAR(step("heavy_tail", 0), 1, 1e-9);
  EXPECT_NEAR(step("demo", 3) / step("demo", 0), 3, 1e-9);
}

// ---- the same everywhere ----

// Whatever compiler and sanitizers: the bytes of decisions.jsonl. They change when a policy, the
// roles' order of events or the simulator's chance changes, and only then.
TEST(Golden, DecisionsOfEveryPolicyAndDistribution) {
  const ClusterSpec cluster =
      parsed(R"({"service_time": 0.01, "network": {"latency": 0.002, "bandwidth": 1e8},
    "workers": [{"step": 1, "jitter": 0.2},
      {"step": {"distribution": "uniform", "low": 0.5, "high": 2}},
      {"step": {"distribution": "normal", "mean": 1, "sigma": 0.4}},
      {"step": {"distribution": "lognormal", "mean": 1, "sigma": 0.7}, "pauses": {"at": 20, "for": 6}},
      {"step": {"distribution": "exponential", "mean": 1, "min": 0.3},
       "straggler": {"probability": 0.05, "factor": 4, "steps": 3}},
      {"step": {"distribution": "pareto", "scale": 0.5, "alpha": 2}, "presence": [{"dies": 15}, {"joins": 30}]},
      {"step": {"distribution": "trace", "steps": [1, 2, 0.25]}, "drift": {"per_second": 0.01},
       "slow": {"factor": 2, "until": 5, "every": 20}}]})");
  const std::pair<const char*, const char*> golden[] = {
      {"bsp", "3209d15258e372a8af167f7fb21366f1fddef7b1eaf0a5c2f0184b50a5685126"},
      {"asp", "a77eb6e45b37d1f6c2a26797a9d6651d0a5a77e43266dab8c86908da74817b66"},
      {"ssp:3", "43f3a86e5dc80f0f97959530f82e73e8faafa435b762f901c865acda4355fa53"},
      {"dssp:3-15", "151b4d7ebcb1fdb5f1793c3c56675fd36b980a7a4d73d018ce9640e95c753104"},
      {"dssp_literal:3-15", "f1729470354e4249708867763180723867174000eced315585f322da7309e52c"},
      {"elastic_bsp:15", "a4c06da1d7190a918ef755e2254644ed74bb05b4465777241ac8ccd6a35555ba"},
      {"elastic_bsp:15,predictor=last",
       "8a035277ca645677ae3562e988389197e520cc879277c3b95521f21a3f974b63"},
  };
  for (const auto& [policy, hash] : golden) {
    EXPECT_EQ(outcome_of(experiment_of(cluster, policy)).decisions_sha256, hash) << policy;
  }
}

TEST(Corpus, IsReadOrRefused) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(PACELINE_CORPUS) / "cluster_fuzz")) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++files;
  }
  EXPECT_GT(files, 20U);
}

}  // namespace
}  // namespace paceline::sim
