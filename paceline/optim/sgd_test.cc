#include "paceline/optim/sgd.h"

#include <gmock/gmock.h>

#include "paceline/optim/rules_test.h"

namespace paceline::optim {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

// Two steps from w = 1, by hand; gradients 2 and -1, lr 0.5.
float after_two(const OptimizerConfig& config) {
  float w[] = {1};
  SGD sgd(config, 1);
  sgd.step(w, std::vector{2.0F}, 0.5F);
  sgd.step(w, std::vector{-1.0F}, 0.5F);
  return w[0];
}

TEST(SGD, WithoutMomentum) {
  EXPECT_FLOAT_EQ(after_two({}), 0.5F);  // 1 - 1 = 0; 0 + 0.5
}

TEST(SGD, WithWeightDecay) {
  // d = 2 + 0.5 = 2.5, w = -0.25; d = -1 - 0.125 = -1.125, w = 0.3125
  EXPECT_FLOAT_EQ(after_two({.weight_decay = 0.5}), 0.3125F);
}

TEST(SGD, WithMomentum) {
  // v = 2, w = 0; v = 0.25 * 2 - 1 = -0.5, w = 0.25
  EXPECT_FLOAT_EQ(after_two({.momentum = 0.25}), 0.25F);
}

TEST(SGD, WithNesterov) {
  // v = 2, d + mu v = 2.5, w = -0.25; v = -0.5, d + mu v = -1.125, w = 0.3125
  EXPECT_FLOAT_EQ(after_two({.momentum = 0.25, .nesterov = true}), 0.3125F);
}

TEST(SGD, WithMomentumAndWeightDecay) {
  // d = 2.5 = v, w = -0.25; d = -1.125, v = 0.625 - 1.125 = -0.5, w = 0
  EXPECT_FLOAT_EQ(after_two({.momentum = 0.25, .weight_decay = 0.5}), 0);
}

// The velocity holds no rate: a rate that falls takes effect at once on all that was gathered.
TEST(SGD, TheVelocityHoldsNoRate) {
  float w[] = {0};
  SGD sgd({.momentum = 0.5}, 1);
  sgd.step(w, std::vector{1.0F}, 100);
  EXPECT_FLOAT_EQ(w[0], -100);
  EXPECT_FLOAT_EQ(sgd.state()[0][0], 1);
  sgd.step(w, std::vector{1.0F}, 0.5F);
  EXPECT_FLOAT_EQ(w[0], -100.75);
  EXPECT_FLOAT_EQ(sgd.state()[0][0], 1.5);
}

// Gradients all equal: the velocity comes to 1 / (1 - mu) of one.
TEST(SGD, MomentumGathersToItsLimit) {
  std::vector<float> w(3);
  SGD sgd({.momentum = 0.9}, 3);
  for (int i = 0; i < 300; ++i) sgd.step(w, std::vector{1.0F, -2.0F, 0.0F}, 0.01F);
  EXPECT_THAT(sgd.state()[0], Pointwise(FloatNear(1e-3F), {10.0F, -20.0F, 0.0F}));
}

}  // namespace
}  // namespace paceline::optim
