// BSP's barrier and ASP's absence of one, by hand.
#include "paceline/sync/bsp.h"

#include <gmock/gmock.h>

#include "paceline/sync/asp.h"
#include "paceline/sync/testing.h"

namespace paceline::sync {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(BSPTest, AppliesOneMeanInWorkerOrderWhenTheLastPushIsThere) {
  BSP bsp;
  for (std::uint32_t w : {0U, 1U, 2U}) EXPECT_EQ(bsp.step(join(w)).release, workers({w}));
  EXPECT_THAT(bsp.step(push(2, 0)).apply, IsEmpty());
  EXPECT_THAT(bsp.step(push(0, 0)).release, IsEmpty());
  const Decision barrier = bsp.step(push(1, 0));
  EXPECT_THAT(barrier.apply, ElementsAre(Apply{{id(0, 0), id(1, 0), id(2, 0)}}));
  EXPECT_EQ(barrier.release, workers({0, 1, 2}));
  EXPECT_THAT(barrier.reason, HasSubstr("superstep 1"));
  EXPECT_THAT(bsp.step(push(0, 1)).reason, HasSubstr("superstep 2: 1 of 3"));
}

TEST(BSPTest, APushOfAWorkerThatLeftStillCounts) {
  BSP bsp;
  bsp.step(join(0));
  bsp.step(join(1));
  bsp.step(push(0, 0));
  EXPECT_THAT(bsp.step(leave(0)).apply, IsEmpty());
  const Decision barrier = bsp.step(push(1, 0));
  EXPECT_THAT(barrier.apply, ElementsAre(Apply{{id(0, 0), id(1, 0)}}));
  EXPECT_EQ(barrier.release, workers({1}));
}

TEST(BSPTest, ALeaveMakesTheBarrierThatWaitedForIt) {
  BSP bsp;
  bsp.step(join(0));
  bsp.step(join(1));
  bsp.step(push(0, 0));
  const Decision barrier = bsp.step(leave(1));
  EXPECT_THAT(barrier.apply, ElementsAre(Apply{{id(0, 0)}}));
  EXPECT_EQ(barrier.release, workers({0}));
}

TEST(BSPTest, WhenTheLastWorkerLeavesWhatWaitsIsApplied) {
  BSP bsp;
  bsp.step(join(0));
  bsp.step(join(1));
  bsp.step(push(0, 0));
  bsp.step(leave(0));
  const Decision last = bsp.step(leave(1));
  EXPECT_THAT(last.apply, ElementsAre(Apply{{id(0, 0)}}));
  EXPECT_THAT(last.release, IsEmpty());
  EXPECT_EQ(bsp.step(join(2)).release, workers({2}));
  EXPECT_THAT(bsp.step(push(2, 0)).apply, ElementsAre(Apply{{id(2, 0)}}));
}

TEST(BSPTest, AReturningWorkerCountsWithBothLives) {
  BSP bsp;
  bsp.step(join(0));
  bsp.step(join(1));
  bsp.step(push(0, 7));
  bsp.step(leave(0));
  EXPECT_EQ(bsp.step(join(0)).release, workers({0}));
  EXPECT_THAT(bsp.step(push(1, 0)).apply, IsEmpty());  // it waits for the new life too
  const Decision barrier = bsp.step(push(0, 0, 0, 2));
  EXPECT_THAT(barrier.apply, ElementsAre(Apply{{id(0, 7, 1), id(0, 0, 2), id(1, 0)}}));
  EXPECT_EQ(barrier.release, workers({0, 1}));
}

TEST(BSPTest, AJoinerInMidSuperstepIsReleasedAndWaitedFor) {
  BSP bsp;
  bsp.step(join(0));
  bsp.step(join(1));
  bsp.step(push(0, 0));
  EXPECT_EQ(bsp.step(join(2)).release, workers({2}));
  EXPECT_THAT(bsp.step(push(1, 0)).release, IsEmpty());
  EXPECT_EQ(bsp.step(push(2, 0)).release, workers({0, 1, 2}));
}

TEST(ASPTest, AppliesAndReleasesAtOnce) {
  ASP asp;
  asp.step(join(0));
  asp.step(join(1));
  for (Step step = 0; step < 50; ++step) {
    const Decision decision = asp.step(push(1, step));
    EXPECT_THAT(decision.apply, ElementsAre(Apply{{id(1, step)}}));
    EXPECT_EQ(decision.release, workers({1}));
  }
  EXPECT_THAT(asp.step(leave(1)).reason, HasSubstr("worker 1 left"));
}

}  // namespace
}  // namespace paceline::sync
