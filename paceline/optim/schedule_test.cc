#include "paceline/optim/schedule.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

namespace paceline::optim {
namespace {

using ::testing::HasSubstr;

const Schedule kConstant{};
const Schedule kCosine{.name = ScheduleName::Cosine};
const Schedule kStep{.name = ScheduleName::Step, .at = {0.5, 0.75}, .factor = 0.1};

TEST(Schedule, ConstantIsConstant) {
  for (const double share : {0.0, 0.3, 1.0}) EXPECT_EQ(lr_at(kConstant, 0.4, share), 0.4);
}

TEST(Schedule, StepFallsAtEachShare) {
  EXPECT_DOUBLE_EQ(lr_at(kStep, 2, 0), 2);
  EXPECT_DOUBLE_EQ(lr_at(kStep, 2, std::nextafter(0.5, 0.0)), 2);
  EXPECT_DOUBLE_EQ(lr_at(kStep, 2, 0.5), 0.2);
  EXPECT_DOUBLE_EQ(lr_at(kStep, 2, 0.74), 0.2);
  EXPECT_DOUBLE_EQ(lr_at(kStep, 2, 0.75), 0.02);
  EXPECT_DOUBLE_EQ(lr_at(kStep, 2, 1), 0.02);
}

TEST(Schedule, CosineFallsToNothingAtTheEnd) {
  EXPECT_DOUBLE_EQ(lr_at(kCosine, 2, 0), 2);
  EXPECT_DOUBLE_EQ(lr_at(kCosine, 2, 1.0 / 3), 1.5);
  EXPECT_DOUBLE_EQ(lr_at(kCosine, 2, 0.5), 1);
  EXPECT_DOUBLE_EQ(lr_at(kCosine, 2, 2.0 / 3), 0.5);
  EXPECT_EQ(lr_at(kCosine, 2, 1), 0);
}

TEST(Schedule, WarmUpRisesFromATenth) {
  const Schedule warm{.warmup = 0.2};
  EXPECT_DOUBLE_EQ(lr_at(warm, 2, 0), 0.2);
  EXPECT_DOUBLE_EQ(lr_at(warm, 2, 0.1), 1.1);
  EXPECT_NEAR(lr_at(warm, 2, std::nextafter(0.2, 0.0)), 2, 1e-12);
  EXPECT_DOUBLE_EQ(lr_at(warm, 2, 0.2), 2);
  EXPECT_DOUBLE_EQ(lr_at(warm, 2, 0.9), 2);
}

TEST(Schedule, TheCosineBeginsWhereTheWarmUpEnds) {
  const Schedule warm{.name = ScheduleName::Cosine, .warmup = 0.2};
  EXPECT_DOUBLE_EQ(lr_at(warm, 2, 0), 0.2);
  EXPECT_DOUBLE_EQ(lr_at(warm, 2, 0.1), 1.1);
  EXPECT_DOUBLE_EQ(lr_at(warm, 2, 0.2), 2);
  EXPECT_DOUBLE_EQ(lr_at(warm, 2, 0.6), 1);
  EXPECT_EQ(lr_at(warm, 2, 1), 0);
}

TEST(Schedule, ShareOutsideTheBudgetIsTheNearerEnd) {
  for (const auto& schedule : {kConstant, kCosine, kStep}) {
    EXPECT_EQ(lr_at(schedule, 2, 1.01), lr_at(schedule, 2, 1));
    EXPECT_EQ(lr_at(schedule, 2, -0.01), lr_at(schedule, 2, 0));
  }
  EXPECT_EQ(lr_at(Schedule{.warmup = 0.5}, 2, -0.01), 0.2);
}

TEST(Schedule, NeverRisesAfterTheWarmUpNorFallsBelowNothing) {
  for (auto schedule : {kConstant, kCosine, kStep}) {
    for (const double warmup : {0.0, 0.1, 0.6}) {
      schedule.warmup = warmup;
      double last = std::numeric_limits<double>::infinity();
      for (int i = 0; i <= 1000; ++i) {
        const double share = i / 1000.0;
        const double lr = lr_at(schedule, 0.4, share);
        EXPECT_GE(lr, 0);
        EXPECT_LE(lr, 0.4);
        if (share >= warmup) {
          EXPECT_LE(lr, last);
          last = lr;
        }
      }
    }
  }
}

struct Wrong {
  Schedule schedule;
  std::string key;
  std::string says;
};

TEST(Schedule, AnErrorNamesTheKeyAndTheWayOut) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto step = ScheduleName::Step;
  const Wrong wrongs[] = {
      {{.warmup = 1}, "warmup", "warmup = 1"},
      {{.warmup = -0.1}, "warmup", "warmup = -0.1"},
      {{.warmup = nan}, "warmup", "warmup = nan"},
      {{.name = step}, "at", "needs the shares"},
      {{.name = step, .at = {0.5, 0.5}}, "at", "at has 0.5 after 0.5"},
      {{.name = step, .at = {0.5, 0.2}}, "at", "at has 0.2 after 0.5"},
      {{.name = step, .at = {0}}, "at", "at has 0 after 0"},
      {{.name = step, .at = {1}}, "at", "below 1"},
      {{.name = step, .at = {nan}}, "at", "nan"},
      {{.name = ScheduleName::Cosine, .at = {0.5}}, "at", "a cosine schedule has no at"},
      {{.name = step, .at = {0.5}, .factor = 0}, "factor", "factor = 0"},
      {{.name = step, .at = {0.5}, .factor = nan}, "factor", "factor = nan"},
      {{.name = step, .at = {0.5}, .factor = HUGE_VAL}, "factor", "factor = inf"},
  };
  for (const auto& wrong : wrongs) {
    const auto checked = check(wrong.schedule);
    ASSERT_FALSE(checked) << wrong.says;
    EXPECT_EQ(checked.error().code, Code::InvalidArgument);
    EXPECT_EQ(checked.error().where, "optimizer.schedule." + wrong.key);
    EXPECT_THAT(to_string(checked.error()), HasSubstr(wrong.says));
    EXPECT_FALSE(checked.error().fix.empty());
  }
  for (const auto& right : {kConstant, kCosine, kStep}) EXPECT_TRUE(check(right));
  EXPECT_TRUE(check({.warmup = 0.999}));
}

TEST(Schedule, NamesGoBothWays) {
  for (const auto* name : {"constant", "step", "cosine"}) {
    EXPECT_EQ(to_string(parse_schedule_name(name).value()), name);
  }
  for (const auto* name : {"per_sample", "per_update"}) {
    EXPECT_EQ(to_string(parse_lr_scale(name).value()), name);
  }
  EXPECT_EQ(parse_schedule_name("cosine"), ScheduleName::Cosine);
  EXPECT_EQ(parse_lr_scale("per_update"), LrScale::PerUpdate);
}

TEST(Schedule, AnUnknownNameIsMetWithTheNearest) {
  const auto schedule = parse_schedule_name("cosin");
  ASSERT_FALSE(schedule);
  EXPECT_EQ(to_string(schedule.error()),
            "optimizer.schedule.name: \"cosin\" is no schedule; did you mean \"cosine\"? There are "
            "constant, step, cosine");
  const auto scale = parse_lr_scale("linear");
  ASSERT_FALSE(scale);
  EXPECT_EQ(to_string(scale.error()),
            "optimizer.lr_scale: \"linear\" is no scale of the learning rate; use one of "
            "per_sample, per_update");
}

TEST(EffectiveLr, PerSampleEqualSamplesMoveEquallyFar) {
  EXPECT_DOUBLE_EQ(effective_lr(LrScale::PerSample, 0.4, 1, 4), 0.1);
  EXPECT_DOUBLE_EQ(effective_lr(LrScale::PerSample, 0.4, 4, 4), 0.4);
  EXPECT_DOUBLE_EQ(effective_lr(LrScale::PerSample, 0.4, 3, 2), 0.6);
  // One worker: as a single process.
  EXPECT_EQ(effective_lr(LrScale::PerSample, 0.4, 1, 1), 0.4);
}

TEST(EffectiveLr, PerUpdateEachUpdateMovesWithTheRate) {
  EXPECT_EQ(effective_lr(LrScale::PerUpdate, 0.4, 1, 4), 0.4);
  EXPECT_EQ(effective_lr(LrScale::PerUpdate, 0.4, 3, 4), 0.4);
}

TEST(EffectiveLr, WithNobodyLeftIsTheRateItself) {
  EXPECT_EQ(effective_lr(LrScale::PerSample, 0.4, 2, 0), 0.4);
}

}  // namespace
}  // namespace paceline::optim
