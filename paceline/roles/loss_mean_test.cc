#include "paceline/roles/loss_mean.h"

#include <limits>

#include <gtest/gtest.h>

#include "paceline/base/random.h"
#include "paceline/roles/server_set.h"

namespace paceline::roles {
namespace {

TEST(LossMean, IsTheMeanOfTheWorkersRunningMeans) {
  LossMean mean(3);
  EXPECT_EQ(mean.value(), 0);
  mean.note({1}, 2.0);
  EXPECT_EQ(mean.value(), 2.0) << "of those that have said anything";
  mean.note({0}, 1.0);
  EXPECT_DOUBLE_EQ(mean.value(), 1.5);
  mean.note({1}, 4.0);
  EXPECT_DOUBLE_EQ(mean.value(), (2.1 + 1.0) / 2);
}

TEST(LossMean, StaysWhatAllSumsMadeAnewGive) {
  constexpr std::uint32_t kWorkers = 17;
  Rng rng(3);
  LossMean mean(kWorkers);
  std::vector<double> each(kWorkers);
  for (int i = 0; i < 20'000; ++i) {
    const auto worker = static_cast<std::uint32_t>(rng.below(kWorkers));
    const double loss = rng.chance(1, 50) ? 1e9 * rng.unit() : rng.unit();
    each[worker] = each[worker] == 0 ? loss : each[worker] + 0.05 * (loss - each[worker]);
    mean.note({worker}, loss);
    double sum = 0;
    int count = 0;
    for (const double one : each) {
      sum += one;
      if (one != 0) ++count;
    }
    ASSERT_NEAR(mean.value(), sum / count, 1e-5);
  }
}

TEST(LossMean, GetsOverALossThatIsNoNumber) {
  LossMean mean(2);
  mean.note({0}, 1.0);
  mean.note({1}, std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(std::isfinite(mean.value()));
  mean.note({1}, 3.0);
  EXPECT_DOUBLE_EQ(mean.value(), 2.0);
}

TEST(ServerSet, HasAllOnceEachWasThere) {
  for (const std::uint32_t servers : {1U, 2U, 64U, 65U, 200U}) {
    ServerSet set(servers);
    for (std::uint32_t s = servers; s-- > 0;) {
      EXPECT_FALSE(set.has_all());
      set.insert(s);
      set.insert(s);
    }
    EXPECT_TRUE(set.has_all()) << servers;
  }
}

}  // namespace
}  // namespace paceline::roles
