#include "paceline/cli/comparison_report.h"

#include <limits>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paceline/base/text.h"

namespace paceline::cli {
namespace {

using sim::Comparison;
using sim::Outcome;
using sim::PolicyOutcome;
using sim::Segment;
using testing::HasSubstr;
using testing::Not;

Outcome outcome(std::uint64_t seed, std::uint32_t workers, std::optional<double> to_target) {
  Outcome made{.seed = seed, .seconds = 10, .pushes = 20};
  made.steps.assign(workers, 5);
  made.wait_share.assign(workers, 0.25);
  made.wait_share_mean = 0.25;
  made.staleness = {{0, 10}, {3, 10}};
  made.seconds_to_target = to_target;
  return made;
}

Comparison comparison_of(std::vector<PolicyOutcome> policies, std::uint32_t workers = 2) {
  Comparison made{.cluster = "c", .workers = workers, .servers = 1};
  made.policies = std::move(policies);
  for (const PolicyOutcome& policy : made.policies) {
    made.seeds = std::max<std::uint64_t>(made.seeds, policy.outcomes.size());
  }
  return made;
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

void expect_sound(const Comparison& comparison) {
  const std::string html = comparison_html(comparison);
  EXPECT_LT(html.size(), 2'000'000U);
  for (const char* number : {"nan", "\"inf", "\"-inf"}) EXPECT_THAT(html, Not(HasSubstr(number)));
  EXPECT_EQ(count(html, "<svg"), count(html, "</svg>"));
  std::set<std::string> names;
  for (const Picture& picture : comparison_pictures(comparison)) {
    EXPECT_TRUE(names.insert(picture.name).second) << picture.name;
    EXPECT_LT(picture.name.size(), 200U);
    EXPECT_EQ(picture.name.find_first_of("/\\:. "), std::string::npos) << picture.name;
    EXPECT_THAT(picture.svg, HasSubstr("xmlns=\"http://www.w3.org/2000/svg\""));
  }
}

TEST(ComparisonReportTest, SaysWhoIsFirstAndWithHowManySeeds) {
  Comparison comparison = comparison_of(
      {{.policy = "bsp", .outcomes = {outcome(1, 2, 30.0), outcome(2, 2, 50.0)}},
       {.policy = "asp", .outcomes = {outcome(1, 2, 20.0), outcome(2, 2, 40.0)}},
       {.policy = "ssp:3", .outcomes = {outcome(1, 2, 25.0), outcome(2, 2, 38.0)}},
       {.policy = "ssp:9", .outcomes = {outcome(1, 2, 1.0), outcome(2, 2, std::nullopt)}}});
  comparison.trained = true;
  comparison.target_accuracy = 0.88;
  std::string html = comparison_html(comparison);
  EXPECT_THAT(html, HasSubstr("asp reaches 88.0 % first, after 30.0 s (20.0 to 40.0)."));
  EXPECT_THAT(html, HasSubstr("With some seeds ssp:3 and ssp:9 are as fast."))
      << "bsp is slower with each, though their ranges overlap";
  EXPECT_THAT(html, HasSubstr("1 of 2 seeds"));
  for (PolicyOutcome& policy : comparison.policies) policy.outcomes[0].seconds_to_target.reset();
  html = comparison_html(comparison);
  EXPECT_THAT(html, HasSubstr("No policy reaches 88.0 % with every seed."));
}

// As advice has it: the slow ones were tried with fewer.
TEST(ComparisonReportTest, FirstIsOnlyWhoHasAllSeeds) {
  Comparison comparison =
      comparison_of({{.policy = "bsp", .outcomes = {outcome(1, 2, 20.0), outcome(2, 2, 60.0)}},
                     {.policy = "asp", .outcomes = {outcome(1, 2, 25.0)}}});
  comparison.trained = true;
  comparison.target_accuracy = 0.88;
  const std::string html = comparison_html(comparison);
  EXPECT_THAT(html, HasSubstr("bsp reaches 88.0 % first, after 40.0 s (20.0 to 60.0).<"));
  EXPECT_THAT(html, HasSubstr("<th>seeds</th>"));
  expect_sound(comparison);
}

TEST(ComparisonReportTest, PoliciesThatAreAlikeAreNamedTogether) {
  std::vector<PolicyOutcome> policies{{.policy = "asp", .outcomes = {outcome(1, 2, {})}},
                                      {.policy = "bsp", .outcomes = {outcome(1, 2, {})}},
                                      {.policy = "ssp:3", .outcomes = {outcome(1, 2, {})}}};
  EXPECT_THAT(comparison_html(comparison_of(policies)),
              HasSubstr("All policies make 2.000 steps a second."));
  policies[1].outcomes[0].seconds = 20;
  EXPECT_THAT(comparison_html(comparison_of(policies)),
              HasSubstr("asp and ssp:3 make the most steps, 2.000 a second."));
}

// Every timeline ends at the same time: where the fullest has as much as a page may hold.
TEST(ComparisonReportTest, APolicyAloneIsComparedWithNone) {
  EXPECT_THAT(comparison_html(comparison_of({{.policy = "asp", .outcomes = {outcome(1, 2, {})}}})),
              HasSubstr("asp makes 2.000 steps a second."));
}

// What comes long after the target is left out, and the axis says so.
TEST(ComparisonReportTest, CurvesEndSomeTimeAfterTheTarget) {
  Comparison comparison =
      comparison_of({{.policy = "bsp", .outcomes = {outcome(1, 2, 30.0), outcome(2, 2, 50.0)}}});
  comparison.trained = true;
  comparison.target_accuracy = 0.5;
  for (Outcome& outcome : comparison.policies[0].outcomes) {
    for (int second = 0; second <= 500; second += 10) {
      roles::EvaluationStats& evaluation = outcome.evaluations.emplace_back();
      evaluation.at = from_seconds(second);
      evaluation.accuracy = 0.001 * second;
    }
  }
  std::string svg = comparison_pictures(comparison)[0].svg;
  EXPECT_THAT(svg, HasSubstr("virtual seconds, the first 100 of 500; median of the seeds"));
  EXPECT_EQ(count(svg, "<circle"), 11U);
  EXPECT_EQ(count(svg, "class=\"band\""), 1U);
  for (Outcome& outcome : comparison.policies[0].outcomes) outcome.seconds_to_target.reset();
  svg = comparison_pictures(comparison)[0].svg;
  EXPECT_THAT(svg, HasSubstr(">virtual seconds; median of the seeds"));
  EXPECT_EQ(count(svg, "<circle"), 51U);
}

TEST(ComparisonReportTest, TimelinesStaySmallAndEndTogether) {
  std::vector<PolicyOutcome> policies;
  for (int p = 0; p < 12; ++p) {
    PolicyOutcome policy{.policy = cat("p", p), .outcomes = {outcome(1, 2, {})}};
    const double step = p == 0 ? 1.0 / 1024 : 1;  // adds up without error
    for (double at = 0; at < 15; at += step) {
      policy.timeline.segments.push_back({0, Segment::Kind::Compute, at, at + step});
    }
    policy.timeline.segments.push_back({1, Segment::Kind::Compute, 0, 15});
    policies.push_back(std::move(policy));
  }
  const Comparison comparison = comparison_of(std::move(policies));
  expect_sound(comparison);
  const auto pictures = comparison_pictures(comparison);
  ASSERT_EQ(pictures.size(), 14U) << "waiting, staleness, and each timeline";
  EXPECT_LE(count(pictures[2].svg, "class=\"compute\""), 1002U);
  EXPECT_GT(count(pictures[2].svg, "class=\"compute\""), 990U);
  EXPECT_EQ(count(pictures[3].svg, "class=\"compute\""), 3U) << "a worker's step, and the legend";
}

TEST(ComparisonReportTest, WhatIsMissingIsLeftOut) {
  expect_sound(comparison_of({}));
  Comparison none = comparison_of({{.policy = "bsp", .outcomes = {Outcome{.seed = 1}}}}, 1);
  none.trained = true;
  none.target_accuracy = 0.9;
  expect_sound(none);
  const std::string html = comparison_html(none);
  EXPECT_THAT(html, HasSubstr("No policy reaches 90.0 %."));
  EXPECT_THAT(html, HasSubstr("nothing was measured"));
  EXPECT_THAT(html, Not(HasSubstr("Test accuracy against time")));
  EXPECT_THAT(html, Not(HasSubstr("The beginning")));
  expect_sound(comparison_of({{.policy = "bsp", .outcomes = {}}}));
}

TEST(ComparisonReportTest, NamesOfAnyKindAndTenThousandWorkers) {
  const std::string longest(5000, 'x');
  std::vector<PolicyOutcome> policies;
  for (const std::string& name : {std::string("../a b"), std::string("..?a b"), longest,
                                  longest + "y", std::string("<b>&\"\x01\xff")}) {
    PolicyOutcome policy{.policy = name, .outcomes = {outcome(1, 10'000, {})}};
    for (std::uint32_t w = 0; w < 10'000; ++w) {
      policy.timeline.segments.push_back({w, Segment::Kind::Push, 0.5, 1});
    }
    policies.push_back(std::move(policy));
  }
  Comparison comparison = comparison_of(std::move(policies), 10'000);
  comparison.cluster = "<script>" + longest;
  expect_sound(comparison);
  const std::string html = comparison_html(comparison);
  EXPECT_THAT(html, HasSubstr("16 of 10000 workers, 9984 not shown"));
  EXPECT_THAT(html, HasSubstr("&lt;b&gt;&amp;&quot; \xef\xbf\xbd"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_LT(html.size(), 200'000U);
}

TEST(ComparisonReportTest, TheTailOfTheStalenessIsTold) {
  Comparison comparison = comparison_of({{.policy = "asp", .outcomes = {outcome(1, 2, {})}}});
  comparison.policies[0].outcomes[0].staleness = {{0, 500}, {2, 495}, {900, 5}};
  const std::string html = comparison_html(comparison);
  EXPECT_THAT(html, HasSubstr("the last bar is 24 to 900"));
  EXPECT_THAT(html, HasSubstr("median 0, 95 % up to 2, largest 900"));
  EXPECT_THAT(html, HasSubstr("asp, 24+: 0.5 %"));
}

}  // namespace
}  // namespace paceline::cli
