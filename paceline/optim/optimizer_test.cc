#include "paceline/optim/optimizer.h"

#include <bit>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "paceline/optim/rules_test.h"

namespace paceline::optim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t kSize = 1000;

class EachRule : public ::testing::TestWithParam<OptimizerConfig> {};

INSTANTIATE_TEST_SUITE_P(Rules, EachRule, ::testing::ValuesIn(testing::all_rules()),
                         [](const auto& rule) { return testing::name_of(rule.param); });

float lr_of(int step) { return 0.05F + 0.01F * static_cast<float>(step % 5); }

std::vector<float> gradient_of(int step, std::size_t size) {
  return testing::some_floats(Rng(1).stream("gradient", static_cast<std::uint64_t>(step)), size);
}

// Whatever clone the processor takes: the same bits as one number at a time.
TEST_P(EachRule, IsTheDumbRuleBitForBit) {
  auto w = testing::some_floats(Rng(2), kSize);
  auto dumb_w = w;
  std::vector dumb(kSize, testing::DumbRule(GetParam()));
  const auto rule = testing::make(GetParam(), kSize);
  for (int step = 0; step < 40; ++step) {
    const auto gradient = gradient_of(step, kSize);
    rule->step(w, gradient, lr_of(step));
    for (std::size_t i = 0; i < kSize; ++i) {
      dumb_w[i] = dumb[i].step(dumb_w[i], gradient[i], lr_of(step));
    }
    ASSERT_EQ(w, dumb_w) << "step " << step;
  }
}

TEST_P(EachRule, ShardsOfAnySizeMoveAsTheWholeDoes) {
  auto whole = testing::some_floats(Rng(3), kSize);
  auto cut = whole;
  const auto rule = testing::make(GetParam(), kSize);
  const std::size_t sizes[] = {1, 2, 3, 5, 7, 17, 31, 63, 65, 127, 0, 129, 255, 295};
  std::vector<std::unique_ptr<Optimizer>> shards;
  for (const auto size : sizes) shards.push_back(testing::make(GetParam(), size));
  for (int step = 0; step < 10; ++step) {
    const auto gradient = gradient_of(step, kSize);
    rule->step(whole, gradient, lr_of(step));
    std::size_t begin = 0;
    for (std::size_t i = 0; i < shards.size(); ++i) {
      shards[i]->step(std::span(cut).subspan(begin, sizes[i]),
                      std::span(gradient).subspan(begin, sizes[i]), lr_of(step));
      begin += sizes[i];
    }
    ASSERT_EQ(begin, kSize);
    ASSERT_EQ(whole, cut) << "step " << step;
  }
}

TEST_P(EachRule, TakesSpansAtAnyAddressAndWritesNoFurther) {
  for (std::size_t offset = 1; offset < 16; ++offset) {
    const std::size_t size = kSize - 32;
    auto memory = testing::some_floats(Rng(4), kSize);
    const auto before = memory;
    auto straight = std::vector<float>(memory.begin() + static_cast<std::ptrdiff_t>(offset),
                                       memory.begin() + static_cast<std::ptrdiff_t>(offset + size));
    const auto gradient = gradient_of(0, kSize);
    testing::make(GetParam(), size)
        ->step(std::span(memory).subspan(offset, size),
               std::span(gradient).subspan(16 - offset, size), 0.1F);
    testing::make(GetParam(), size)
        ->step(straight, std::span(gradient).subspan(16 - offset, size), 0.1F);
    for (std::size_t i = 0; i < kSize; ++i) {
      const bool inside = i >= offset && i < offset + size;
      ASSERT_EQ(memory[i], inside ? straight[i - offset] : before[i]) << i;
    }
  }
}

TEST_P(EachRule, ANumberThatIsNoneSpoilsOnlyItself) {
  for (const std::size_t bad : {std::size_t{0}, std::size_t{17}, kSize - 1}) {
    auto w = testing::some_floats(Rng(5), kSize);
    auto sound = w;
    const auto rule = testing::make(GetParam(), kSize);
    const auto sound_rule = testing::make(GetParam(), kSize);
    for (int step = 0; step < 3; ++step) {
      auto gradient = gradient_of(step, kSize);
      sound_rule->step(sound, gradient, 0.1F);
      if (step == 1) gradient[bad] = std::numeric_limits<float>::quiet_NaN();
      rule->step(w, gradient, 0.1F);
    }
    for (std::size_t i = 0; i < kSize; ++i) {
      ASSERT_TRUE(i == bad ? std::isnan(w[i]) : w[i] == sound[i]) << i;
    }
  }
}

TEST_P(EachRule, NoGradientAtRestMovesNothingButTheDecay) {
  auto w = testing::some_floats(Rng(6), kSize);
  const auto before = w;
  const std::vector<float> none(kSize);
  auto config = GetParam();
  config.weight_decay = 0;
  const auto rule = testing::make(config, kSize);
  for (int step = 0; step < 3; ++step) rule->step(w, none, 0.1F);
  EXPECT_EQ(w, before);

  config.weight_decay = 0.07;
  const auto decayed = testing::make(config, kSize);
  for (int step = 0; step < 3; ++step) decayed->step(w, none, 0.01F);
  for (std::size_t i = 0; i < kSize; ++i) EXPECT_LT(std::abs(w[i]), std::abs(before[i])) << i;
}

TEST_P(EachRule, StateWrittenBackGoesOnAsBefore) {
  auto w = testing::some_floats(Rng(7), kSize);
  const auto rule = testing::make(GetParam(), kSize);
  for (int step = 0; step < 5; ++step) rule->step(w, gradient_of(step, kSize), 0.1F);

  const auto restored = testing::make(GetParam(), kSize);
  const auto from = rule->state();
  const auto to = restored->state();
  ASSERT_EQ(from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    ASSERT_EQ(from[i].size(), to[i].size());
    std::ranges::copy(from[i], to[i].begin());
  }
  auto restored_w = w;
  rule->step(w, gradient_of(5, kSize), 0.1F);
  restored->step(restored_w, gradient_of(5, kSize), 0.1F);
  EXPECT_EQ(w, restored_w);
}

TEST_P(EachRule, TheRateOfAStepIsNotKept) {
  auto w = testing::some_floats(Rng(8), kSize);
  const auto before = w;
  testing::make(GetParam(), kSize)->step(w, gradient_of(0, kSize), 0);
  EXPECT_EQ(w, before);
}

TEST(Optimizer, StateIsWhatEachRuleKeeps) {
  const auto sizes = [](const OptimizerConfig& config) {
    std::vector<std::size_t> out;
    for (const auto part : testing::make(config, 5)->state()) out.push_back(part.size());
    return out;
  };
  EXPECT_TRUE(sizes(testing::decayed_sgd()).empty());
  EXPECT_THAT(sizes(testing::momentum()), ElementsAre(5));
  EXPECT_THAT(sizes(testing::nesterov()), ElementsAre(5));
  EXPECT_THAT(sizes(testing::adam()), ElementsAre(5, 5, 1));
}

struct Wrong {
  OptimizerConfig config;
  std::string key;
  std::string says;
};

TEST(Optimizer, AnErrorNamesTheKeyAndTheWayOut) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const Wrong wrongs[] = {
      {{.name = "adamm"}, "name", "did you mean \"adam\"?"},
      {{.name = "lamb"}, "name", "sgd, adam, adamw"},
      {{.name = ""}, "name", "sgd, adam, adamw"},
      {{.momentum = -0.1}, "momentum", "momentum = -0.1"},
      {{.momentum = 1}, "momentum", "less than 1"},
      {{.momentum = 1 - 1e-12}, "momentum", "less than 1"},
      {{.momentum = nan}, "momentum", "momentum = nan"},
      {{.nesterov = true}, "nesterov", "set optimizer.momentum"},
      {{.weight_decay = -1}, "weight_decay", "weight_decay = -1"},
      {{.weight_decay = nan}, "weight_decay", "nan"},
      {{.weight_decay = inf}, "weight_decay", "inf"},
      {{.weight_decay = 1e39}, "weight_decay", "1e+39"},
      {{.name = "adam", .weight_decay = -1}, "weight_decay", "weight_decay = -1"},
      {{.beta1 = 0.8}, "beta1", "sgd has no beta1"},
      {{.beta2 = 0.8}, "beta2", "sgd has no beta2"},
      {{.eps = 0.8}, "eps", "sgd has no eps"},
      {{.name = "adam", .momentum = 0.9}, "momentum", "adam has no momentum"},
      {{.name = "adamw", .nesterov = true}, "nesterov", "adamw has no nesterov"},
      {{.name = "adam", .beta1 = 1}, "beta1", "beta1 = 1"},
      {{.name = "adam", .beta1 = -0.1}, "beta1", "beta1 = -0.1"},
      {{.name = "adam", .beta2 = 1}, "beta2", "beta2 = 1"},
      {{.name = "adamw", .beta2 = nan}, "beta2", "beta2 = nan"},
      {{.name = "adamw", .eps = 0}, "eps", "eps = 0"},
      {{.name = "adamw", .eps = -1e-8}, "eps", "positive"},
      {{.name = "adamw", .eps = 1e-60}, "eps", "positive"},
      {{.name = "adamw", .eps = inf}, "eps", "eps = inf"},
  };
  for (const auto& wrong : wrongs) {
    const auto made = make_optimizer(wrong.config, 4);
    ASSERT_FALSE(made) << wrong.key << " " << wrong.says;
    EXPECT_EQ(made.error().code, Code::InvalidArgument);
    EXPECT_EQ(made.error().where, "optimizer." + wrong.key);
    EXPECT_THAT(to_string(made.error()), HasSubstr(wrong.says));
    EXPECT_FALSE(made.error().fix.empty());
  }
}

TEST(Optimizer, TheEndsOfEachRangeAreAllowed) {
  EXPECT_TRUE(check({}));
  EXPECT_TRUE(check({.momentum = 0.999, .nesterov = true, .weight_decay = 10}));
  EXPECT_TRUE(check({.name = "adam", .beta1 = 0, .beta2 = 0, .eps = 1e-12}));
  EXPECT_TRUE(check({.name = "adamw", .eps = 1}));
}

TEST(OptimizerDeathTest, AWrongSizeIsABug) {
  std::vector<float> four(4);
  std::vector<float> five(5);
  for (const auto& config : {testing::momentum(), testing::adam()}) {
    const auto rule = testing::make(config, 4);
    EXPECT_DEATH(rule->step(five, five, 0.1F), "the optimizer's size");
    EXPECT_DEATH(rule->step(four, five, 0.1F), "the shard's size");
  }
}

}  // namespace
}  // namespace paceline::optim
