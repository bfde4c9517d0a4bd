#include "paceline/sim/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paceline/base/hash.h"
#include "paceline/base/text.h"
#include "paceline/sim/advise.h"
#include "paceline/sim/bowl.h"
#include "paceline/sim/compare_json.h"
#include "paceline/sync/registry.h"

namespace paceline::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Machine one_by_one() {
  return {.run_all =
              [](std::size_t count, const auto& work) {
                for (std::size_t i = 0; i < count; ++i) work(i);
              },
          .processor_seconds = [] { return 0.0; }};
}

Machine backwards() {
  Machine machine = one_by_one();
  machine.run_all = [](std::size_t count, const auto& work) {
    while (count > 0) work(--count);
  };
  return machine;
}

const ClusterSpec& profile(std::string_view name) {
  const auto found = std::ranges::find(profiles(), name, &ClusterSpec::name);
  EXPECT_NE(found, profiles().end()) << name;
  return *found;
}

Experiment plain(std::initializer_list<const char*> policies) {
  Experiment experiment{.cluster = profile("uneven4"), .steps = 60};
  for (const char* policy : policies) experiment.candidates.push_back({.policy = policy});
  return experiment;
}

Comparison compared(const Experiment& experiment) {
  auto comparison = compare(experiment, one_by_one());
  EXPECT_TRUE(comparison.has_value()) << to_string(comparison.error());
  return std::move(*comparison);
}

// ---- four unequal workers, as an earlier study has them: 5,996 / 6,005 / 9,531 / 9,384 in 3,000
// s, idle 1.5 % ----

TEST(Compare, UnevenWorkersMakeThePushesOfTheDossier) {
  Experiment experiment = plain({"bsp", "ssp:3", "asp", "elastic_bsp:15"});
  experiment.steps.reset();
  experiment.seconds = 3000;
  const Comparison comparison = compared(experiment);
  const double expected[] = {5996, 6005, 9531, 9384};
  for (std::size_t i = 0; i < 4; ++i) {
    const Outcome& outcome = comparison.policies[i].outcomes[0];
    EXPECT_NEAR(static_cast<double>(outcome.pushes), expected[i], 0.02 * expected[i]);
    EXPECT_DOUBLE_EQ(outcome.seconds, 3000);
  }
  EXPECT_LT(comparison.policies[3].outcomes[0].wait_share_mean, 0.02);
  EXPECT_NEAR(comparison.policies[0].outcomes[0].wait_share_mean, 0.325, 0.01);
  EXPECT_EQ(comparison.policies[2].outcomes[0].wait_share_mean, 0);
}

TEST(Compare, StepsAreAWorkersAndMakeThatManyPushesInAll) {
  const Comparison comparison = compared(plain({"bsp", "asp"}));
  for (const PolicyOutcome& policy : comparison.policies) {
    EXPECT_EQ(policy.outcomes[0].pushes, 240U);
  }
  EXPECT_THAT(comparison.policies[0].outcomes[0].steps, ElementsAre(60, 60, 60, 60));
  EXPECT_GT(comparison.policies[1].outcomes[0].steps[0], 70U);
  EXPECT_EQ(comparison.policies[0].outcomes[0].clock_gap_max, 1U);
  EXPECT_GT(comparison.policies[1].outcomes[0].clock_gap_max, 20U);
}

TEST(Compare, ASeedIsThatOfTheSpeedsAndOfTheBatches) {
  Experiment experiment = plain({"asp"});
  experiment.seeds = 2;
  const PolicyOutcome speeds = compared(experiment).policies[0];
  EXPECT_NE(speeds.outcomes[0].seconds, speeds.outcomes[1].seconds);
}

TEST(Compare, ABarrierIsAnUpdateOfMoreThanOne) {
  Experiment experiment = plain({"asp"});
  experiment.timeline = true;
  EXPECT_TRUE(compared(experiment).policies[0].timeline.barriers.empty());
}

TEST(Compare, DependsOnTheExperimentAlone) {
  Experiment experiment = plain({"ssp:3", "elastic_bsp"});
  experiment.seeds = 3;
  const auto text = [&](const Machine& machine) {
    return to_json(*compare(experiment, machine)).dump();
  };
  const std::string once = text(one_by_one());
  EXPECT_EQ(once, text(backwards()));
  experiment.first_seed = 2;
  EXPECT_NE(once, text(one_by_one()));
}

TEST(Compare, TheHashIsOfTheLinesOfTheFirstSeed) {
  Experiment experiment = plain({"asp", "bsp"});
  experiment.seeds = 2;
  std::vector<std::string> files(2);
  experiment.decisions = [&](std::size_t candidate, std::string_view line) {
    files[candidate] += cat(line, "\n");
  };
  const Comparison comparison = compared(experiment);
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_EQ(comparison.policies[c].outcomes[0].decisions_sha256, sha256_hex(files[c]));
    EXPECT_EQ(comparison.policies[c].outcomes[1].decisions_sha256, "");
  }
}

TEST(Compare, ForgetsNothingOfAWorkersTime) {
  Experiment experiment = plain({"bsp"});
  experiment.cluster.network.latency = 0.01;
  experiment.timeline = true;
  const Comparison comparison = compared(experiment);
  const Timeline& timeline = comparison.policies[0].timeline;
  std::map<std::uint32_t, double> ended;
  std::map<std::uint32_t, Segment::Kind> last;
  for (const Segment& segment : timeline.segments) {
    EXPECT_LT(segment.begin, segment.end);
    if (ended.contains(segment.worker)) {
      EXPECT_DOUBLE_EQ(segment.begin, ended[segment.worker]);
      EXPECT_NE(segment.kind, last[segment.worker]);
    }
    ended[segment.worker] = segment.end;
    last[segment.worker] = segment.kind;
  }
  EXPECT_EQ(ended.size(), 4U);
  EXPECT_EQ(timeline.barriers.size(), 60U);
}

TEST(Compare, ALinkCostsTimeAndBytesAreThoseOfTheModel) {
  Experiment experiment = plain({"asp"});
  experiment.cluster.parameters = 1000;
  const Outcome free = compared(experiment).policies[0].outcomes[0];
  EXPECT_EQ(free.pushed_bytes, 240U * 4000);
  experiment.cluster.network = {.latency = 0.1, .bandwidth = 4000};
  const Outcome dear = compared(experiment).policies[0].outcomes[0];
  // A step more: release and pull, push and report: four ways, and two half models each way.
  EXPECT_GT(dear.seconds, 1.8 * free.seconds);
}

TEST(Compare, OnesOwnPolicyTakesPart) {
  Experiment experiment = plain({"bsp"});
  experiment.candidates.push_back({"mine", [] { return std::move(*sync::make_policy("bsp")); }});
  const Comparison comparison = compared(experiment);
  EXPECT_EQ(comparison.policies[1].policy, "mine");
  EXPECT_EQ(comparison.policies[1].outcomes[0].decisions_sha256,
            comparison.policies[0].outcomes[0].decisions_sha256);
}

TEST(Compare, NamesThePolicyThatIsNone) {
  const auto none = compare(plain({"bsp", "bps"}), one_by_one());
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(to_string(none.error()), HasSubstr("bps"));
}

// ---- real gradients: a bowl ----

class BowlEvaluation final : public roles::Evaluation {
 public:
  std::uint64_t parameter_count() const override { return 24; }
  Result<roles::EvaluationResult> evaluate(std::span<const float> parameters) override {
    return roles::EvaluationResult{.accuracy = Bowl::accuracy(parameters)};
  }
};

class Broken final : public roles::GradientSource {
 public:
  std::uint64_t parameter_count() const override { return 24; }
  void initial_parameters(std::span<float> parameters) override {
    std::ranges::fill(parameters, 0.0F);
  }
  Result<roles::GradientResult> gradient(const roles::GradientTask&) override {
    return fail(Code::Corruption, "the data are gone");
  }
};

Experiment trained(std::initializer_list<const char*> policies) {
  Experiment experiment = plain(policies);
  experiment.steps.reset();
  experiment.training =
      Training{.run = {.samples = 2400, .batch_size = 4, .lr = 0.02, .eval_every_samples = 40},
               .dataset_size = 500,
               .make = [](std::uint64_t) {
                 return Result<Sources>(
                     Sources{std::make_unique<Bowl>(24), std::make_unique<BowlEvaluation>()});
               }};
  return experiment;
}

TEST(Train, GivesAccuracyAgainstVirtualSeconds) {
  Experiment experiment = trained({"bsp", "asp"});
  experiment.training->run.target_accuracy = 0.5;
  const Comparison comparison = compared(experiment);
  EXPECT_TRUE(comparison.trained);
  for (const PolicyOutcome& policy : comparison.policies) {
    const Outcome& outcome = policy.outcomes[0];
    EXPECT_EQ(outcome.pushes, 600U);
    ASSERT_GT(outcome.evaluations.size(), 20U);
    EXPECT_EQ(outcome.test_accuracy, outcome.evaluations.back().accuracy);
    ASSERT_TRUE(outcome.seconds_to_target.has_value());
    EXPECT_EQ(to_seconds(first_at(outcome, 0.5)->at), *outcome.seconds_to_target);
    EXPECT_EQ(outcome.pushed_bytes, 600U * 24 * 4);
  }
  EXPECT_LT(*comparison.policies[1].outcomes[0].seconds_to_target,
            *comparison.policies[0].outcomes[0].seconds_to_target);
}

TEST(Train, ASeedDrawsOtherBatches) {
  Experiment experiment = trained({"bsp"});
  experiment.seeds = 2;
  const PolicyOutcome policy = compared(experiment).policies[0];
  EXPECT_NE(policy.outcomes[0].test_accuracy, policy.outcomes[1].test_accuracy);
}

TEST(Train, ASourceThatFailsEndsTheComparisonWithItsWords) {
  Experiment experiment = trained({"bsp"});
  experiment.training->make = [](std::uint64_t) {
    return Result<Sources>(Sources{std::make_unique<Broken>(), nullptr});
  };
  const auto none = compare(experiment, one_by_one());
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(to_string(none.error()), HasSubstr("the data are gone"));
}

TEST(Json, HasEveryFieldAndNullForWhatDoesNotApply) {
  const auto json = to_json(compared(plain({"bsp"})));
  EXPECT_EQ(json["workers"], 4);
  const auto& policy = json["policies"][0];
  for (const char* field :
       {"policy", "seconds", "pushes", "steps", "wait_share", "wait_share_mean", "events",
        "events_per_second", "staleness", "clock_gap_max", "barriers", "bytes", "seconds_to_target",
        "test_accuracy", "spread", "decisions_sha256", "steps_per_second", "server_queue"}) {
    EXPECT_TRUE(policy.contains(field)) << field;
  }
  EXPECT_TRUE(policy["seconds_to_target"].is_null());
  EXPECT_TRUE(policy["test_accuracy"].is_null());
  EXPECT_EQ(policy["pushes"], 240);
  EXPECT_EQ(policy["spread"]["pushes"][0], 240);
  EXPECT_EQ(policy["staleness"]["max"], 0);
}

TEST(Json, ATimeToTargetIsOneOnlyIfEverySeedHasIt) {
  PolicyOutcome policy{.policy = "bsp", .outcomes = std::vector<Outcome>(2)};
  policy.outcomes[0].seconds_to_target = 10;
  Comparison comparison{.policies = {policy}};
  EXPECT_TRUE(to_json(comparison)["policies"][0]["seconds_to_target"].is_null());
  comparison.policies[0].outcomes[1].seconds_to_target = 20;
  EXPECT_EQ(to_json(comparison)["policies"][0]["seconds_to_target"], 15);
}

// ---- advice ----

TEST(Advise, TakesTheFastestToTheTargetAndSaysWhy) {
  Experiment experiment = trained({"bsp", "ssp:3", "asp", "elastic_bsp:15"});
  experiment.training->run.target_accuracy = 0.5;
  experiment.seeds = 4;
  const auto advice = advise(experiment, one_by_one());
  ASSERT_TRUE(advice.has_value()) << to_string(advice.error());
  const std::string& best = advice->ranking.front().policy;
  EXPECT_TRUE(best == "asp" || best == "elastic_bsp:15") << best;
  EXPECT_EQ(advice->ranking.front().reached, 4U);
  EXPECT_EQ(advice->ranking.size(), 4U);
  EXPECT_THAT(advice->why, HasSubstr("steps a second"));
  EXPECT_EQ(std::ranges::count(advice->why, '.') > 1, true);
  EXPECT_NE(advice->how_sure, "");
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_LE(advice->ranking[i - 1].seconds, advice->ranking[i].seconds);
  }
}

TEST(Advise, WithoutATargetItIsAPointBelowBsp) {
  Experiment experiment = trained({"bsp", "asp"});
  const auto advice = advise(experiment, one_by_one());
  ASSERT_TRUE(advice.has_value());
  EXPECT_TRUE(advice->target_is_ours);
  const Comparison bsp = compared(trained({"bsp"}));
  EXPECT_DOUBLE_EQ(advice->target, *bsp.policies[0].outcomes[0].test_accuracy - 0.01);
}

TEST(Advise, SaysWhenNothingReachesTheTarget) {
  Experiment experiment = trained({"bsp", "asp"});
  experiment.training->run.target_accuracy = 0.9999;
  const auto advice = advise(experiment, one_by_one());
  ASSERT_TRUE(advice.has_value());
  EXPECT_EQ(advice->certainty, Certainty::None);
  EXPECT_EQ(advice->ranking.front().reached, 0U);
  EXPECT_THAT(advice->why, HasSubstr("Nothing reaches"));
}

}  // namespace
}  // namespace paceline::sim
