// SSP's bound: traces by hand, and the limits that the count form implies.
#include "paceline/sync/ssp.h"

#include <gmock/gmock.h>

#include "paceline/base/random.h"
#include "paceline/sync/testing.h"

namespace paceline::sync {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two workers, a step takes 1 and 3; who goes on after each event, in the order of (time, worker).
TEST(SSPTest, TraceWithStaleness0) {
  SSP ssp(0);
  ssp.step(join(0));
  ssp.step(join(1));
  EXPECT_THAT(ssp.step(push(0, 0, 1)).release, IsEmpty());
  EXPECT_EQ(ssp.step(push(1, 0, 3)).release, workers({0, 1}));
  EXPECT_THAT(ssp.step(push(0, 1, 4)).release, IsEmpty());
  EXPECT_EQ(ssp.step(push(1, 1, 6)).release, workers({0, 1}));
  EXPECT_THAT(ssp.step(push(0, 2, 7)).release, IsEmpty());
  EXPECT_EQ(ssp.step(push(1, 2, 9)).release, workers({0, 1}));
}

TEST(SSPTest, TraceWithStaleness1) {
  SSP ssp(1);
  ssp.step(join(0));
  ssp.step(join(1));
  EXPECT_EQ(ssp.step(push(0, 0, 1)).release, workers({0}));
  const Decision held = ssp.step(push(0, 1, 2));
  EXPECT_THAT(held.release, IsEmpty());
  EXPECT_THAT(held.apply, ElementsAre(Apply{{id(0, 1)}}));  // applied all the same
  EXPECT_EQ(held.reason, "worker 0 waits: clock 2 is 2 ahead of worker 1, bound 1");
  EXPECT_EQ(ssp.step(push(1, 0, 3)).release, workers({0, 1}));
  EXPECT_THAT(ssp.step(push(0, 2, 4)).release, IsEmpty());
  EXPECT_EQ(ssp.step(push(1, 1, 6)).release, workers({0, 1}));
  EXPECT_THAT(ssp.step(push(0, 3, 7)).release, IsEmpty());
  EXPECT_EQ(ssp.step(push(1, 2, 9)).release, workers({0, 1}));
}

TEST(SSPTest, ALeaverFreesThoseWhoWaitedForIt) {
  SSP ssp(0);
  for (std::uint32_t w : {0U, 1U, 2U}) ssp.step(join(w));
  ssp.step(push(0, 0));
  ssp.step(push(1, 0));
  const Decision decision = ssp.step(leave(2));
  EXPECT_EQ(decision.release, workers({0, 1}));
  EXPECT_THAT(decision.apply, IsEmpty());
  EXPECT_THAT(decision.reason, HasSubstr("2 workers go on"));
}

TEST(SSPTest, AJoinerStartsAtTheSlowestClock) {
  SSP ssp(2);
  ssp.step(join(0));
  ssp.step(join(1));
  for (Step step = 0; step < 10; ++step) {
    ssp.step(push(0, step));
    ssp.step(push(1, step));
  }
  ssp.step(push(0, 10));
  EXPECT_THAT(ssp.step(join(2)).reason, HasSubstr("clock 10"));
  EXPECT_EQ(ssp.step(push(0, 11)).release, workers({0}));  // clock 12, slowest 10
  EXPECT_THAT(ssp.step(push(0, 12)).release, IsEmpty());
}

TEST(SSPTest, AWorkerAloneNeverWaits) {
  SSP ssp(0);
  ssp.step(join(3));
  for (Step step = 0; step < 5; ++step) EXPECT_EQ(ssp.step(push(3, step)).release, workers({3}));
}

// Two workers, a step takes 1 and 2 (or 4.3): pushes in 2,000 units.
TEST(SSPTest, CountsOnAnUnevenPair) {
  struct Row {
    std::int64_t slow;
    std::vector<std::uint64_t> counts;
  };
  for (const Row& row :
       std::vector<Row>{{20, {1015, 1000}}, {19, {1068, 1052}}, {43, {480, 465}}}) {
    SSP ssp(15);
    const Drive run(ssp, 2, 20'000, [&](std::uint32_t w) { return w == 0 ? 10 : row.slow; });
    EXPECT_EQ(run.pushes, row.counts) << row.slow;
  }
}

TEST(SSPTest, GapAndStalenessStayBelowTheirBounds) {
  for (const std::uint32_t n : {2U, 4U}) {
    for (const Step s : {0U, 1U, 3U}) {
      std::uint64_t staleness = 0;
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        SSP ssp(s);
        Rng rng(seed);
        const auto length = [&](std::uint32_t) {
          return rng.chance(1, 2) ? rng.between(1, 3) : rng.between(1, 200);
        };
        const Drive run(ssp, n, 5000, length);
        EXPECT_LE(run.gap_max, s + 1);
        EXPECT_LE(run.staleness_max, (n - 1) * (2 * s + 1));
        staleness = std::max(staleness, run.staleness_max);
      }
      EXPECT_GE(staleness,
                n == 2 ? 2 * s + 1 : (n - 1) * (s + 1));  // the bound is attained, or near
    }
  }
}

}  // namespace
}  // namespace paceline::sync
