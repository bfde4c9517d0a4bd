#include "paceline/optim/momentum.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paceline/base/random.h"
#include "paceline/optim/optimizer.h"

namespace paceline::optim {
namespace {

constexpr MomentumScale kAll[] = {MomentumScale::None, MomentumScale::Samples,
                                  MomentumScale::Staleness, MomentumScale::Backdated,
                                  MomentumScale::ClosedLoop};

std::optional<Momentum> scaled(MomentumScale scale, double momentum, const UpdateFacts& facts) {
  return scale_momentum(scale, momentum, false, facts);
}

UpdateFacts alone(std::uint32_t workers) {
  return {.pushes = 1, .workers = workers, .rate = 1.0 / workers};
}

// Bit for bit what it was.
TEST(Momentum, NothingChangesUnderBsp) {
  for (const MomentumScale scale : kAll) {
    for (const double momentum : {0.0, 0.1, 0.5, 0.9, 0.99}) {
      for (const std::uint32_t n : {1U, 4U, 1000U}) {
        for (const bool nesterov : {false, true}) {
          EXPECT_EQ(scale_momentum(scale, momentum, nesterov, {.pushes = n, .workers = n}),
                    std::nullopt);
        }
      }
    }
  }
}

TEST(Momentum, WithoutAnyNothingIsScaled) {
  for (const MomentumScale scale : kAll) {
    const UpdateFacts late{.pushes = 1, .workers = 4, .rate = 0.25, .staleness = 3, .behind = 3};
    EXPECT_EQ(scaled(scale, 0, late), std::nullopt);
  }
}

TEST(Momentum, SamplesForgetAsFastWhateverTheUpdate) {
  // Four updates of one push forget as much as one of four.
  const auto one = scaled(MomentumScale::Samples, 0.9, alone(4));
  EXPECT_NEAR(std::pow(one->kept, 4), 0.9, 1e-6);
}

TEST(Momentum, StalenessTakesOffWhatAsynchronyGives) {
  const auto kept = [](double staleness) {
    UpdateFacts facts = alone(4);
    facts.staleness = staleness;
    return scaled(MomentumScale::Staleness, 0.9, facts)->kept;
  };
  EXPECT_FLOAT_EQ(kept(0), 0.9F);
  EXPECT_FLOAT_EQ(kept(1), 0.8F);
  EXPECT_FLOAT_EQ(kept(3), 0.6F);
  EXPECT_NEAR(kept(9), 0, 1e-6);
  EXPECT_EQ(kept(100), 0);
}

TEST(Momentum, ABackdatedGradientHasMovedAsFarAsIfOnTime) {
  // One worker: a push is an update. Two updates late, entered as six.
  static_assert(kBackdating == 3);
  const auto late = scaled(MomentumScale::Backdated, 0.5, {.pushes = 1, .workers = 1, .behind = 2});
  EXPECT_EQ(late->kept, 0.5F);
  EXPECT_EQ(late->carried, 0.5F);
  EXPECT_EQ(late->entered, 0.015625F);
  EXPECT_EQ(late->displaced, 1.984375F);  // 1 + 1/2 + ... + 1/64
}

TEST(Momentum, WhenAllHaveLeftAnUpdateIsOneOfAll) {
  for (const MomentumScale scale : {MomentumScale::Samples, MomentumScale::Backdated}) {
    EXPECT_EQ(scaled(scale, 0.9, {.pushes = 3, .workers = 0}), std::nullopt);
  }
}

// One gradient among updates of all kinds that bring nothing: how far it moves in the end.
TEST(Momentum, AGradientMovesAsFarInTheEndUnderEveryScaleAndAmongAllUpdates) {
  Rng rng(1);
  const auto draw = [&](std::uint32_t n) {
    const auto m = static_cast<std::uint32_t>(rng.between(1, static_cast<std::int64_t>(n)));
    return UpdateFacts{.pushes = m,
                       .workers = n,
                       .rate = static_cast<double>(m) / n,
                       .staleness = 10 * rng.unit(),
                       .behind = 20 * rng.unit()};
  };
  for (int i = 0; i < 40; ++i) {
    const double momentum = 0.3 + 0.6 * rng.unit();
    const auto n = static_cast<std::uint32_t>(rng.between(1, 12));
    for (const MomentumScale scale :
         {MomentumScale::Samples, MomentumScale::Staleness, MomentumScale::Backdated}) {
      for (const bool nesterov : {false, true}) {
        const auto optimizer =
            std::move(*make_optimizer({.momentum = momentum, .nesterov = nesterov}, 1));
        std::vector<float> w{0};
        const auto move = [&](float gradient, const UpdateFacts& facts) {
          const auto rule = scale_momentum(scale, momentum, nesterov, facts);
          optimizer->step(w, std::vector<float>{gradient}, static_cast<float>(0.01 * facts.rate),
                          rule ? &*rule : nullptr);
        };
        const UpdateFacts its = draw(n);
        move(1, its);
        for (int step = 0; step < 3000; ++step) move(0, draw(n));
        EXPECT_NEAR(-w[0], 0.01 * its.rate / (1 - momentum), 2e-5)
            << to_string(scale) << (nesterov ? " nesterov" : "");
      }
    }
  }
}

// Against sums in double precision: what is displaced at once is what a gradient that came so many
// steps ago would have moved by now.
TEST(Momentum, AgreesWithTheSum) {
  for (const bool nesterov : {false, true}) {
    const auto optimizer = std::move(*make_optimizer({.momentum = 0.8, .nesterov = nesterov}, 1));
    const auto late = scale_momentum(MomentumScale::Backdated, 0.8, nesterov,
                                     {.pushes = 1, .workers = 1, .behind = 2});
    std::vector<float> w{0};
    optimizer->step(w, std::vector<float>{1}, 1, &*late);
    double velocity = 0;
    double moved = 0;
    for (int step = 0; step <= 6; ++step) {  // the gradient comes at step 0; it is seen at step 6
      const double d = step == 0 ? 1 : 0;
      velocity = 0.8 * velocity + d;
      moved += nesterov ? d + 0.8 * velocity : velocity;
    }
    EXPECT_NEAR(-w[0], moved, 1e-6);
    EXPECT_NEAR(optimizer->state()[0][0], velocity, 1e-6);
  }
}

TEST(Momentum, TheUsualRuleIsASpecialCase) {
  Rng rng(2);
  for (const bool nesterov : {false, true}) {
    const OptimizerConfig rule{.momentum = 0.9, .nesterov = nesterov, .weight_decay = 0.01};
    const auto usual = std::move(*make_optimizer(rule, 100));
    const auto given = std::move(*make_optimizer(rule, 100));
    std::vector<float> a(100, 1);
    std::vector<float> b(100, 1);
    const Momentum momentum = nesterov ? Momentum{.carried = 0.81F, .displaced = 1.9F, .kept = 0.9F}
                                       : Momentum{.carried = 0.9F, .kept = 0.9F};
    for (int i = 0; i < 50; ++i) {
      std::vector<float> gradient(100);
      for (float& g : gradient) g = static_cast<float>(rng.unit() - 0.5);
      usual->step(a, gradient, 0.1F);
      given->step(b, gradient, 0.1F, &momentum);
      for (std::size_t k = 0; k < 100; ++k) ASSERT_NEAR(a[k], b[k], 2e-5);
    }
  }
}

TEST(MeanStaleness, ForgetsAfterAHundredPushes) {
  MeanStaleness mean;
  EXPECT_EQ(mean.value(), 0);
  mean.note(4);
  EXPECT_EQ(mean.value(), 4);
  mean.note(2);
  EXPECT_EQ(mean.value(), 3);
  for (int i = 0; i < 1000; ++i) mean.note(7);
  EXPECT_NEAR(mean.value(), 7, 0.001);
}

TEST(Momentum, NamesGoBothWays) {
  for (const auto* name : {"none", "samples", "staleness", "backdated", "closed_loop"}) {
    EXPECT_EQ(to_string(parse_momentum_scale(name).value()), name);
  }
  EXPECT_EQ(to_string(parse_momentum_scale("stale").error()).substr(0, 24),
            "optimizer.momentum_scale");
}

}  // namespace
}  // namespace paceline::optim
