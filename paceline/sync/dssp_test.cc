// DSSP in both readings: the controller by its table, traces by hand, counts of a long run.
#include "paceline/sync/dssp.h"

#include <gmock/gmock.h>

#include "paceline/base/random.h"
#include "paceline/sync/dssp_literal.h"
#include "paceline/sync/ssp.h"
#include "paceline/sync/testing.h"

namespace paceline::sync {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Pace pace(std::int64_t last, std::int64_t before) { return {Time{last}, Duration{last - before}}; }

TEST(DSSPControllerTest, ByTheTable) {
  EXPECT_EQ(dssp_extra_steps(pace(10, 9), pace(9, 5), 4), 3u);
  EXPECT_EQ(dssp_extra_steps(pace(10, 9), pace(9, 5), 2), 2u);
  EXPECT_EQ(dssp_extra_steps(pace(10, 9), pace(9, 5), 0), 0u);
  EXPECT_EQ(dssp_extra_steps(pace(4, 3), pace(4, 3), 12), 1u);
  EXPECT_EQ(dssp_extra_steps(pace(6, 5), pace(3, 0), 3), 0u);
  EXPECT_EQ(dssp_extra_steps(pace(20, 18), pace(19, 12), 6), 3u);
  EXPECT_EQ(dssp_extra_steps(pace(5, 4), pace(5, 1), 5), 4u);
  EXPECT_EQ(dssp_extra_steps(pace(10, 8), pace(8, 3), 8), 4u);
}

TEST(DSSPControllerTest, AnOverdueSlowestIsExpectedNow) {
  // Expected at 4, now is 10: so at 10, 13, ..., and no extra step is best.
  EXPECT_EQ(dssp_extra_steps(pace(10, 8), pace(1, -2), 4), 0u);
}

// The double minimum as printed, over random tables that include intervals of 0 and overdue pushes.
TEST(DSSPControllerTest, AgreesWithTheDoubleMinimum) {
  Rng rng(3);
  for (int i = 0; i < 10'000; ++i) {
    const Pace fast{Time{rng.between(20, 40)}, Duration{rng.between(0, 6)}};
    const Pace slow{Time{rng.between(10, 40)}, Duration{rng.between(0, 12)}};
    const Step r_max = rng.below(9);
    std::tuple<std::int64_t, Step, Step> best{INT64_MAX, 0, 0};
    for (Step r = 0; r <= r_max; ++r) {
      for (Step k = 0; k <= r_max; ++k) {
        std::int64_t first = slow.last.count() + slow.interval.count();
        if (first < fast.last.count()) first = fast.last.count();
        const std::int64_t sim_q = first + static_cast<std::int64_t>(k) * slow.interval.count();
        const std::int64_t sim_p =
            fast.last.count() + static_cast<std::int64_t>(r) * fast.interval.count();
        best = std::min(best, {std::abs(sim_q - sim_p), r, k});
      }
    }
    ASSERT_EQ(dssp_extra_steps(fast, slow, r_max), std::get<1>(best)) << "table " << i;
  }
}

// Two workers, a step takes 1 and 3; events in the order of (time, worker).
TEST(DSSPTest, Trace) {
  DSSP dssp(1, 3);
  dssp.step(join(0));
  dssp.step(join(1));
  EXPECT_EQ(dssp.step(push(0, 0, 1)).release, workers({0}));
  const Decision unknown = dssp.step(push(0, 1, 2));
  EXPECT_THAT(unknown.release, IsEmpty());
  EXPECT_THAT(unknown.reason, HasSubstr("worker 1 has not pushed yet"));
  EXPECT_EQ(dssp.step(push(1, 0, 3)).release, workers({0, 1}));
  const Decision granted = dssp.step(push(0, 2, 4));
  EXPECT_EQ(granted.release, workers({0}));
  EXPECT_THAT(granted.reason, HasSubstr("clock 3 is 2 ahead of worker 1, range 1 to 3; granted 2"));
  EXPECT_EQ(dssp.step(push(0, 3, 5)).release, workers({0}));
  EXPECT_THAT(dssp.step(push(0, 4, 6)).release, IsEmpty());
  EXPECT_EQ(dssp.step(push(1, 1, 6)).release, workers({1}));
  EXPECT_EQ(dssp.step(push(1, 2, 9)).release, workers({1}));
}

TEST(DSSPLiteralTest, Trace) {
  DSSPLiteral dssp(1, 3);
  dssp.step(join(0));
  dssp.step(join(1));
  EXPECT_EQ(dssp.step(push(0, 0, 1)).release, workers({0}));
  EXPECT_THAT(dssp.step(push(0, 1, 2)).release, IsEmpty());
  EXPECT_EQ(dssp.step(push(1, 0, 3)).release, workers({0, 1}));
  const Decision granted = dssp.step(push(0, 2, 4));
  EXPECT_EQ(granted.release, workers({0}));
  EXPECT_THAT(granted.reason, HasSubstr("granted 1 extra steps"));
  EXPECT_EQ(dssp.step(push(0, 3, 5)).release, workers({0}));
  EXPECT_THAT(dssp.step(push(0, 4, 6)).release, IsEmpty());
  EXPECT_EQ(dssp.step(push(1, 1, 6)).release, workers({1}));
  EXPECT_EQ(dssp.step(push(1, 2, 9)).release, workers({1}));
}

// The objective aims at worker 1's next push, at 8. What frees worker 0 is its fourth one, at 20:
// that wait is the one told.
TEST(DSSPTest, TellsThePredictedWait) {
  DSSP dssp(0, 8);
  dssp.step(join(0));
  dssp.step(join(1));
  const std::int64_t s = 1'000'000'000;
  dssp.step(push(1, 0, 4 * s));
  dssp.step(push(0, 0, 4 * s));
  EXPECT_THAT(dssp.step(push(0, 1, 5 * s)).reason,
              HasSubstr("granted 3 extra steps, then a predicted wait of 12.000 s for worker 1"));
  dssp.step(push(0, 2, 6 * s));
  dssp.step(push(0, 3, 7 * s));
  // Now 4 ahead: worker 1's push at 8 is the first of four that it takes.
  EXPECT_THAT(dssp.step(push(0, 4, 8 * s)).reason,
              HasSubstr("granted 0 extra steps, then a predicted wait of 12.000 s for worker 1"));
}

TEST(DSSPTest, ALeaverFreesThoseWhoWaitedForIt) {
  for (const bool literal : {false, true}) {
    std::unique_ptr<SyncPolicy> policy = std::make_unique<DSSP>(0, 2);
    if (literal) policy = std::make_unique<DSSPLiteral>(0, 2);
    policy->step(join(0));
    policy->step(join(1));
    EXPECT_THAT(policy->step(push(0, 0, 1)).release, IsEmpty());
    EXPECT_EQ(policy->step(leave(1, 2)).release, workers({0}));
  }
}

// A step takes 1 and 2 (1.9, 4.3), 2,000 units. In floating point 1.9 gives 1,060 pushes and a gap
// of 16: ties in the controller then fall by rounding.
TEST(DSSPTest, CountsOnAnUnevenPair) {
  struct Row {
    std::int64_t slow;
    std::vector<std::uint64_t> literal;
    std::uint64_t literal_gap;
    std::vector<std::uint64_t> bounded;
    std::uint64_t bounded_gap;
  };
  for (const Row& row : std::vector<Row>{{20, {2000, 1000}, 1001, {1004, 1000}, 5},
                                         {19, {2000, 1052}, 948, {1064, 1052}, 13},
                                         {43, {1999, 465}, 1535, {468, 465}, 16}}) {
    const auto length = [&](std::uint32_t w) { return w == 0 ? 10 : row.slow; };
    DSSPLiteral literal(3, 15);
    const Drive free(literal, 2, 20'000, length);
    EXPECT_EQ(free.pushes, row.literal) << row.slow;
    EXPECT_EQ(free.gap_max, row.literal_gap) << row.slow;
    DSSP dssp(3, 15);
    const Drive bounded(dssp, 2, 20'000, length);
    EXPECT_EQ(bounded.pushes, row.bounded) << row.slow;
    EXPECT_EQ(bounded.gap_max, row.bounded_gap) << row.slow;
  }
}

TEST(DSSPTest, AnEmptyRangeIsSSP) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const Step s = rng.below(5);
    DSSP dssp(s, s);
    SSP ssp(s);
    Rng again = rng;
    const Drive a(dssp, 4, 5000, [&](std::uint32_t w) { return rng.between(5, 8 + 10 * w); });
    const Drive b(ssp, 4, 5000, [&](std::uint32_t w) { return again.between(5, 8 + 10 * w); });
    EXPECT_EQ(a.pushes, b.pushes);
    EXPECT_EQ(a.held, b.held);
    EXPECT_EQ(a.gap_max, b.gap_max);
  }
}

TEST(DSSPTest, TheGapStaysInTheRange) {
  std::uint64_t largest = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    DSSP dssp(1, 6);
    const Drive run(dssp, 3, 5000, [&](std::uint32_t w) { return rng.between(5, 8 + 20 * w); });
    EXPECT_LE(run.gap_max, 7u);
    largest = std::max(largest, run.gap_max);
  }
  EXPECT_EQ(largest, 7u);
}

}  // namespace
}  // namespace paceline::sync
