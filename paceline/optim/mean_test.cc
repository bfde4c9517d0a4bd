#include "paceline/optim/mean.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "paceline/optim/rules_test.h"

namespace paceline::optim {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<float> mean_of(const std::vector<std::vector<float>>& gradients) {
  // Not 0 before: what was in the output must not count.
  std::vector<float> out(gradients[0].size(), 99);
  const std::vector<std::span<const float>> spans(gradients.begin(), gradients.end());
  mean_into(out, spans);
  return out;
}

TEST(Mean, IsTheSumDividedByTheCount) {
  EXPECT_THAT(mean_of({{1, -2}, {3, 0}, {5, 8}}), ElementsAre(3, 2));
  EXPECT_THAT(mean_of({{1.5F, -2}}), ElementsAre(1.5F, -2));
}

// 1e8 + 1 is 1e8 in float: the order of the additions shows in the result.
TEST(Mean, AddsInTheOrderGiven) {
  EXPECT_THAT(mean_of({{1e8F}, {1}, {-1e8F}}), ElementsAre(0));
  EXPECT_THAT(mean_of({{1e8F}, {-1e8F}, {1}}), ElementsAre(1.0F / 3));
  EXPECT_THAT(mean_of({{1}, {1e8F}, {-1e8F}, {4}}), ElementsAre(1));
}

// 5 * (1 / 3) and 5 / 3 differ in float.
TEST(Mean, DividesInsteadOfMultiplyingByTheInverse) {
  EXPECT_THAT(mean_of({{5}, {0}, {0}}), ElementsAre(5.0F / 3));
}

TEST(Mean, IsTheDumbMeanBitForBitAtAllSizes) {
  for (const std::size_t size : {0U, 1U, 7U, 63U, 255U, 256U, 257U, 6151U}) {
    for (const std::size_t count : {1U, 2U, 3U, 7U}) {
      std::vector<std::vector<float>> gradients;
      for (std::size_t i = 0; i < count; ++i) {
        gradients.push_back(testing::some_floats(Rng(size).stream("gradient", i), size));
      }
      const auto mean = mean_of(gradients);
      for (std::size_t i = 0; i < size; ++i) {
        float sum = gradients[0][i];
        for (std::size_t j = 1; j < count; ++j) sum += gradients[j][i];
        ASSERT_EQ(mean[i], sum / static_cast<float>(count)) << size << " " << count << " " << i;
      }
    }
  }
}

TEST(Mean, ANumberThatIsNoneSpoilsOnlyItself) {
  const std::size_t size = 3000;
  const std::size_t bad = 2999;
  std::vector gradients(3, std::vector<float>(size, 1));
  gradients[1][bad] = std::numeric_limits<float>::quiet_NaN();
  auto mean = mean_of(gradients);
  EXPECT_TRUE(std::isnan(mean[bad]));
  mean[bad] = 1;
  EXPECT_THAT(mean, Each(1.0F));
}

TEST(Mean, TakesSpansAtAnyAddress) {
  const std::size_t size = 500;
  const auto a = testing::some_floats(Rng(1), size + 16);
  const auto b = testing::some_floats(Rng(2), size + 16);
  for (std::size_t offset = 1; offset < 16; ++offset) {
    std::vector<float> memory(size + 32, 99);
    const std::span<const float> gradients[] = {std::span(a).subspan(offset, size),
                                                std::span(b).subspan(16 - offset, size)};
    mean_into(std::span(memory).subspan(offset, size), gradients);
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const bool inside = i >= offset && i < offset + size;
      ASSERT_EQ(memory[i], inside ? (a[i] + b[i - offset + 16 - offset]) / 2 : 99) << i;
    }
  }
}

TEST(MeanDeathTest, OfNothingOrOfDifferentSizesIsABug) {
  std::vector<float> out(2);
  const std::vector<float> three(3);
  EXPECT_DEATH(mean_into(out, {}), "at least one gradient");
  const std::span<const float> gradients[] = {std::span(three).first(2), three};
  EXPECT_DEATH(mean_into(out, gradients), "have its size");
}

}  // namespace
}  // namespace paceline::optim
