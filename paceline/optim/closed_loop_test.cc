#include "paceline/optim/closed_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paceline/base/random.h"
#include "paceline/optim/optimizer.h"

namespace paceline::optim {
namespace {

// A bowl with noise, each gradient `late` updates old; explicit momentum stays where it is set or
// is steered by the loop.
struct Descent {
  double asked = 0.9;
  std::uint64_t late = 0;
  bool is_steered = true;

  ClosedLoop run(int updates) const {
    constexpr std::size_t kSize = 400;
    Rng rng(3);
    std::vector<std::vector<float>> versions{std::vector<float>(kSize)};
    for (float& w : versions[0]) w = static_cast<float>(rng.unit() - 0.5);
    const auto optimizer = std::move(*make_optimizer({.momentum = asked}, kSize));
    ClosedLoop loop(asked, false, versions[0]);
    for (int i = 0; i < updates; ++i) {
      const std::uint64_t now = versions.size() - 1;
      const std::uint64_t from = now - std::min(now, late);
      std::vector<float> gradient = versions[from];
      for (float& g : gradient) g += 0.05F * static_cast<float>(rng.unit() - 0.5);
      std::vector<float> w = versions.back();
      const auto momentum = is_steered ? loop.momentum() : std::nullopt;
      optimizer->step(w, gradient, 0.002F, momentum ? &*momentum : nullptr);
      loop.note(gradient, from, 0.002F, w);
      versions.push_back(w);
    }
    return loop;
  }
};

TEST(ClosedLoop, WithoutLateGradientsItChangesNothing) {
  const ClosedLoop loop = Descent{.late = 0}.run(300);
  EXPECT_EQ(loop.momentum(), std::nullopt);
  EXPECT_EQ(loop.explicit_momentum(), 0.9);
}

TEST(ClosedLoop, AMeanIsNoMeasurement) {
  const std::vector<float> w(100, 1);
  ClosedLoop loop(0.9, false, w);
  for (int i = 0; i < 20; ++i) loop.note(w, std::nullopt, 0.1F, w);
  EXPECT_EQ(loop.momentum(), std::nullopt);
}

// The estimate is exact where the gradient that was applied is the one that is asked about.
TEST(ClosedLoop, MeasuresTheMomentumOfUpdates) {
  for (const double momentum : {0.3, 0.6, 0.9}) {
    Rng rng(1);
    std::vector<std::vector<float>> versions{std::vector<float>(64)};
    const auto optimizer = std::move(*make_optimizer({.momentum = momentum}, 64));
    ClosedLoop loop(momentum, false, versions[0]);
    std::vector<std::vector<float>> gradients;
    for (int i = 0; i < 6; ++i) {
      std::vector<float> gradient(64);
      for (float& g : gradient) g = static_cast<float>(rng.unit() - 0.5);
      std::vector<float> w = versions.back();
      optimizer->step(w, gradient, 0.1F);
      versions.push_back(w);
      gradients.push_back(gradient);
      // Told late: the gradient of the update before.
      const bool knows = gradients.size() > 1;
      loop.note(knows ? gradients[gradients.size() - 2] : gradient,
                knows ? std::optional<std::uint64_t>(gradients.size() - 2) : std::nullopt, 0.1F, w);
      if (gradients.size() == 3) break;  // before it steers
    }
    ASSERT_TRUE(loop.total_momentum().has_value());
    EXPECT_NEAR(*loop.total_momentum(), momentum, 1e-3);
  }
}

TEST(ClosedLoop, LowersTheExplicitMomentumWhereGradientsComeLate) {
  const ClosedLoop loop = Descent{.late = 12}.run(4000);
  ASSERT_TRUE(loop.total_momentum().has_value());
  EXPECT_GE(loop.explicit_momentum(), 0);
  EXPECT_LE(loop.explicit_momentum(), 0.9);
  const Momentum momentum = *loop.momentum();
  EXPECT_FLOAT_EQ(momentum.displaced / (1 - momentum.kept), 10) << "a gradient moves as far";
  EXPECT_FLOAT_EQ(momentum.carried, momentum.displaced * momentum.kept);
}

TEST(ClosedLoop, StaysWithinBoundsWhateverItSees) {
  std::vector<float> w(10, 1);
  ClosedLoop loop(0.9, false, w);
  Rng rng(5);
  for (int i = 0; i < 500; ++i) {
    for (float& value : w) value = static_cast<float>(rng.unit() * 1e30);
    loop.note(w, static_cast<std::uint64_t>(std::max(0, i - 3)), 1e30F, w);
    EXPECT_GE(loop.explicit_momentum(), 0);
    EXPECT_LE(loop.explicit_momentum(), 0.9);
  }
}

}  // namespace
}  // namespace paceline::optim
