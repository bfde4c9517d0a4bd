#include "paceline/optim/adam.h"

#include <cmath>

#include <gtest/gtest.h>

#include "paceline/optim/rules_test.h"

namespace paceline::optim {
namespace {

constexpr float kLr = 0.1F;

// beta1 0.5, beta2 0.75, by hand; gradients 2 and -1, from w = 1.
OptimizerConfig by_hand(const char* name, double weight_decay) {
  return {.name = name, .weight_decay = weight_decay, .beta1 = 0.5, .beta2 = 0.75, .eps = 0.25};
}

TEST(Adam, TheFirstTwoSteps) {
  float w[] = {1};
  Adam adam(by_hand("adam", 0), 1);
  adam.step(w, std::vector{2.0F}, kLr);
  // m = 1, v = 1; corrected 2 and 4: 2 / (2 + 0.25)
  EXPECT_FLOAT_EQ(w[0], 1 - kLr * 2 / 2.25F);
  const float first = w[0];
  adam.step(w, std::vector{-1.0F}, kLr);
  // m = 0.5 - 0.5 = 0: nothing moves; v = 0.75 + 0.25 = 1
  EXPECT_FLOAT_EQ(w[0], first);
  adam.step(w, std::vector{1.0F}, kLr);
  // m = 0.5, v = 0.75 + 0.25 = 1; corrected 0.5 / 0.875 and 1 / 0.578125
  EXPECT_FLOAT_EQ(w[0], first - kLr * (0.5F / 0.875F) / (std::sqrt(1 / 0.578125F) + 0.25F));
}

TEST(Adam, ItsDecayIsPartOfTheGradient) {
  float w[] = {1};
  Adam adam(by_hand("adam", 0.5), 1);
  adam.step(w, std::vector{1.5F}, kLr);
  EXPECT_FLOAT_EQ(w[0], 1 - kLr * 2 / 2.25F);  // as a gradient of 2
}

TEST(AdamW, ItsDecayIsApartFromTheGradient) {
  float w[] = {1};
  Adam adamw(by_hand("adamw", 0.5), 1);
  adamw.step(w, std::vector{2.0F}, kLr);
  EXPECT_FLOAT_EQ(w[0], 0.95F - kLr * 2 / 2.25F);
  EXPECT_FLOAT_EQ(adamw.state()[0][0], 1);
}

// The bias correction: the first step is lr long, whatever the gradient's size.
TEST(Adam, TheFirstStepHasTheLengthOfTheRate) {
  for (const float gradient : {1e-3F, 1.0F, 1e6F}) {
    float w[] = {0};
    Adam({.name = "adam"}, 1).step(w, std::vector{gradient}, kLr);
    EXPECT_NEAR(w[0], -kLr, 2e-6) << gradient;
  }
}

TEST(Adam, CountsItsStepsInItsState) {
  float w[] = {0};
  Adam adam({.name = "adam"}, 1);
  for (int i = 0; i < 3; ++i) adam.step(w, std::vector{1.0F}, kLr);
  EXPECT_EQ(adam.state()[2][0], 3);
}

// 1 - beta2^t needs double: in float 1 - 0.9999999 would be off by a fifth.
TEST(Adam, TheCorrectionsAreComputedInDouble) {
  float w[] = {0};
  Adam adam({.name = "adam", .beta1 = 0, .beta2 = 0.9999999}, 1);
  for (int i = 0; i < 3; ++i) adam.step(w, std::vector{1.0F}, kLr);
  EXPECT_NEAR(w[0], -3 * kLr, 1e-5);
}

}  // namespace
}  // namespace paceline::optim
