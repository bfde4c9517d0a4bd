#include "paceline/roles/sample_stream.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace paceline::roles {
namespace {

std::vector<std::uint64_t> all(SampleStream& stream) {
  std::vector<std::uint64_t> samples;
  for (std::uint64_t batch = 0; batch < stream.batches(); ++batch) {
    for (const std::uint64_t sample : stream.samples_of(batch)) samples.push_back(sample);
  }
  return samples;
}

TEST(SampleStream, EveryEpochIsAPermutationAndNoTwoAreAlike) {
  SampleStream stream(7, 10, 4, 30);  // batches lie across the ends of epochs
  const auto samples = all(stream);
  ASSERT_EQ(samples.size(), 30U);
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    const std::set<std::uint64_t> seen(samples.begin() + static_cast<long>(10 * epoch),
                                       samples.begin() + static_cast<long>(10 * epoch + 10));
    EXPECT_EQ(seen.size(), 10U);
    EXPECT_EQ(*seen.rbegin(), 9U);
  }
  EXPECT_FALSE(std::equal(samples.begin(), samples.begin() + 10, samples.begin() + 10));
}

TEST(SampleStream, TheLastBatchMayBeShort) {
  SampleStream stream(7, 100, 8, 20);
  EXPECT_EQ(stream.batches(), 3U);
  EXPECT_EQ(stream.size_of(1), 8U);
  EXPECT_EQ(stream.size_of(2), 4U);
  EXPECT_EQ(stream.samples_of(2).size(), 4U);
}

TEST(SampleStream, DependsOnTheSeedAndNotOnTheOrderOfQuestions) {
  SampleStream forward(7, 13, 5, 130);
  SampleStream backward(7, 13, 5, 130);
  std::vector<std::vector<std::uint64_t>> batches;
  for (std::uint64_t b = 0; b < 26; ++b) batches.push_back(forward.samples_of(b));
  for (std::uint64_t b = 26; b-- > 0;) EXPECT_EQ(backward.samples_of(b), batches[b]);
  SampleStream other(8, 13, 5, 130);
  EXPECT_NE(other.samples_of(0), batches[0]);
}

}  // namespace
}  // namespace paceline::roles
