#include "paceline/node/summary.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "paceline/base/text.h"

namespace paceline::node {
namespace {

using namespace std::chrono_literals;

Config demo() {
  Config config;
  config.run.seed = 7;
  config.train.samples = 640;
  config.train.target_accuracy = 0.88;
  config.cluster.workers = 2;
  return config;
}

// Two workers, ten seconds from the first release (at 3 s) to the last update.
roles::RunStats ended() {
  roles::RunStats stats;
  stats.phase = "done";
  stats.started = 3s;
  stats.last_applied = 13s;
  stats.now = 15s;
  stats.version = 19;
  stats.samples = 640;
  stats.train_loss = 0.25;
  stats.workers = {{.steps = 15, .waited = 1s}, {.steps = 5, .waited = 2500ms}};
  stats.staleness = {{0, 8}, {1, 2}, {2, 9}, {7, 1}};
  stats.applied = 20;
  stats.dropped = 2;
  stats.repeated = 3;
  stats.barriers = 4;
  stats.leases_lost = 1;
  stats.pushed_bytes = 8000000000;
  stats.pulled_bytes = 9000000000;
  stats.failures = {{.node = worker_node(WorkerId{1}),
                     .cause = "signal",
                     .signal = 9,
                     .text = "killed",
                     .at = 4500ms,
                     .at_step = 5},
                    {.node = kEvaluator, .cause = "exit", .exit_code = 3, .at = 5s}};
  stats.evaluations = {{.at = 5s, .version = 10, .samples = 320, .accuracy = 0.885, .loss = 0.4},
                       {.at = 10s, .version = 19, .samples = 640, .accuracy = 0.89, .loss = 0.3}};
  stats.target_reached = 5s;
  stats.param_sha256 = "ab12";
  return stats;
}

TEST(SummaryTest, HasTheFieldsOfTheContract) {
  const Json summary =
      summary_json(demo(), ended(), {.run = "a-run", .exit_code = 0, .setup_seconds = 2.1});
  // As in interface.md, in its order; other fields may stand between.
  const Json contract = Json::parse(R"({
    "run": "a-run", "exit": "ok", "policy": "elastic_bsp:15", "code": "none", "seed": 7,
    "workers": 2, "servers": 2, "seconds": 10.0, "setup_seconds": 2.1, "samples": 640,
    "target_accuracy": 0.88, "seconds_to_target": 5.0, "test_accuracy": 0.89, "train_loss": 0.25,
    "steps": [15, 5], "wait_share": [0.1, 0.25], "staleness": {"p50": 1, "p95": 2, "max": 7},
    "pushes": {"applied": 20, "dropped": 2, "repeated": 3},
    "bytes": {"pushed": 8000000000, "pulled": 9000000000}, "param_sha256": "ab12"})");
  for (const auto& [name, value] : contract.items()) {
    EXPECT_EQ(summary.value(name, Json("left out")), value) << name;
  }
  EXPECT_EQ(summary["failures"], Json::parse(R"([
    {"role": "worker", "rank": 1, "cause": "signal", "signal": 9, "exit_code": null,
     "at_seconds": 4.5, "at_step": 5, "text": "killed"},
    {"role": "evaluator", "rank": 0, "cause": "exit", "signal": null, "exit_code": 3,
     "at_seconds": 5.0, "at_step": null, "text": null}])"));
  EXPECT_EQ(summary["accuracy"][0], Json::parse(R"(
    {"seconds": 5.0, "samples": 320, "version": 10, "accuracy": 0.885, "loss": 0.4})"));
  EXPECT_EQ(summary["staleness_histogram"], Json::parse("[[0, 8], [1, 2], [2, 9], [7, 1]]"));
  EXPECT_EQ(summary["leases_lost"], 1);
  EXPECT_TRUE(summary["error"].is_null());
}

TEST(SummaryTest, WhatDoesNotApplyIsNullNeverLeftOut) {
  Config config = demo();
  config.train.target_accuracy.reset();
  roles::RunStats stats;
  stats.workers.resize(2);
  const Error error{Code::Unavailable, "server 1 died", "see its log", "server 1"};
  const Json early = summary_json(config, stats, {.run = "r", .exit_code = 4, .error = error});
  const Json whole = summary_json(demo(), ended(), {.run = "r"});
  std::set<std::string> names;
  for (const auto& [name, value] : whole.items()) names.insert(name);
  for (const auto& [name, value] : early.items()) names.erase(name);
  EXPECT_THAT(names, testing::IsEmpty());
  for (const char* name : {"seconds", "setup_seconds", "target_accuracy", "seconds_to_target",
                           "test_accuracy", "train_loss", "param_sha256"}) {
    EXPECT_TRUE(early[name].is_null()) << name;
  }
  EXPECT_EQ(early["exit"], "process");
  EXPECT_EQ(early["error"]["what"], "server 1 died");
  EXPECT_EQ(early["wait_share"], Json::parse("[null, null]"));
  EXPECT_EQ(early["staleness"], Json::parse(R"({"p50": null, "p95": null, "max": null})"));
}

// One update at the very moment of the first release: no division by nothing.
TEST(SummaryTest, ARunOfNoTimeHasNoShares) {
  roles::RunStats stats = ended();
  stats.last_applied = stats.started;
  const Json summary = summary_json(demo(), stats, {.run = "r"});
  EXPECT_EQ(summary["seconds"], 0.0);
  EXPECT_EQ(summary["wait_share"], Json::parse("[null, null]"));
}

TEST(SummaryTest, IsValidJsonWhateverTheNumbersAndNames) {
  Config config = demo();
  config.run.seed = 9223372036854775807;
  config.model.name = "not UTF-8: \xff";
  roles::RunStats stats = ended();
  stats.train_loss = std::numeric_limits<double>::quiet_NaN();
  stats.evaluations.back().loss = std::numeric_limits<double>::infinity();
  const std::string text = summary_text(summary_json(config, stats, {.run = "r"}));
  const Json again = Json::parse(text, nullptr, false);
  ASSERT_FALSE(again.is_discarded()) << text;
  EXPECT_EQ(again["seed"], 9223372036854775807);
  EXPECT_TRUE(again["train_loss"].is_null());
  EXPECT_TRUE(text.ends_with("}\n"));
}

TEST(SummaryTest, TheConfigurationAsJsonIsNestedAndComplete) {
  const Json json = config_json(demo());
  EXPECT_EQ(json["train"]["samples"], 640);
  EXPECT_TRUE(json["train"]["epochs"].is_null());
  EXPECT_EQ(json["optimizer"]["schedule"]["name"], "constant");
  EXPECT_EQ(json["cluster"]["step_floor_ms"], Json::array());
  EXPECT_EQ(json.flatten().size(), config_keys().size());
}

TEST(SummaryTest, ErrorsHaveTheExitCodeThatScriptsKeyOn) {
  const auto code = [](Code of) { return exit_code({.code = of, .what = "x"}); };
  EXPECT_EQ(code(Code::InvalidArgument), 2);
  EXPECT_EQ(code(Code::NotFound), 3);
  EXPECT_EQ(code(Code::Corruption), 3);
  EXPECT_EQ(code(Code::Unavailable), 4);
  EXPECT_EQ(code(Code::DeadlineExceeded), 4);
  EXPECT_EQ(code(Code::Refused), 5);
  EXPECT_EQ(code(Code::Cancelled), 130);
  EXPECT_EQ(error_json({Code::Refused, "port 80 is taken", "choose another", "cluster.listen"}),
            Json::parse(R"({"error": {"code": 5, "where": "cluster.listen",
                            "what": "port 80 is taken", "fix": "choose another"}})"));
  EXPECT_TRUE(error_json({.what = "x"})["error"]["where"].is_null());
}

}  // namespace
}  // namespace paceline::node
