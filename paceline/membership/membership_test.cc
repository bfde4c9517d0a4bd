#include "paceline/membership/membership.h"

#include <gtest/gtest.h>

namespace paceline::membership {
namespace {

using namespace std::chrono_literals;
using Verdict = Membership::Verdict;

constexpr WorkerId kFirst{0};
constexpr WorkerId kSecond{1};

TEST(Membership, EachLifeHasAnIncarnationOfItsOwn) {
  Membership membership;
  EXPECT_EQ(membership.admit(kSecond, 70, 1, 0s).incarnation, 1U);
  EXPECT_EQ(membership.admit(kFirst, 71, 1, 0s).incarnation, 2U);
  EXPECT_TRUE(membership.leave(kSecond));
  EXPECT_EQ(membership.admit(kSecond, 70, 2, 0s).incarnation, 3U);
  EXPECT_FALSE(membership.is_current(kSecond, 1));
  EXPECT_TRUE(membership.is_current(kSecond, 3));
  EXPECT_EQ(membership.generation(), 4U);
  EXPECT_EQ(membership.members(), (std::vector{kFirst, kSecond}));
}

TEST(Membership, ARepeatedRequestChangesNothing) {
  Membership membership;
  membership.admit(kFirst, 70, 2, 0s);
  EXPECT_EQ(membership.admit(kFirst, 70, 2, 0s).verdict, Verdict::Repeated);
  EXPECT_EQ(membership.admit(kFirst, 70, 1, 0s).verdict, Verdict::Stale);
  EXPECT_EQ(membership.generation(), 1U);
  membership.leave(kFirst);
  // The request of the life that is over, late: it must not bring that life back.
  EXPECT_EQ(membership.admit(kFirst, 70, 2, 0s).verdict, Verdict::Stale);
  EXPECT_FALSE(membership.is_in(kFirst));
}

TEST(Membership, AReplacedProcessDoesNotGetItsPlaceBack) {
  Membership membership;
  membership.admit(kFirst, 70, 1, 0s);
  EXPECT_EQ(membership.admit(kFirst, 71, 1, 0s).verdict, Verdict::Admitted);
  EXPECT_EQ(membership.admit(kFirst, 70, 2, 0s).verdict, Verdict::Replaced);
  EXPECT_EQ(membership.incarnation(kFirst), 2U);
}

TEST(Membership, LeavingTwiceIsLeavingOnce) {
  Membership membership;
  EXPECT_FALSE(membership.leave(kFirst));
  membership.admit(kFirst, 70, 1, 0s);
  EXPECT_TRUE(membership.leave(kFirst));
  EXPECT_FALSE(membership.leave(kFirst));
  EXPECT_EQ(membership.generation(), 2U);
}

TEST(Membership, TheSilentAreFoundOnlyWhileTheyAreIn) {
  Membership membership;
  membership.admit(kFirst, 70, 1, 0s);
  membership.admit(kSecond, 71, 1, 0s);
  membership.heard(kSecond, 8s);
  EXPECT_TRUE(membership.silent(10s, 10s).empty());
  EXPECT_EQ(membership.silent(11s, 10s), (std::vector{kFirst}));
  membership.leave(kFirst);
  EXPECT_TRUE(membership.silent(11s, 10s).empty());
}

TEST(Membership, CountsAndKnowsWhoWasHeardOfLeastRecently) {
  Membership membership;
  EXPECT_EQ(membership.count(), 0U);
  EXPECT_EQ(membership.oldest_heard(Time{9}), Time{9});
  membership.admit({3}, 1, 1, Time{2});
  membership.admit({0}, 2, 1, Time{4});
  membership.admit({0}, 2, 2, Time{5});  // the same place again
  EXPECT_EQ(membership.count(), 2U);
  EXPECT_EQ(membership.oldest_heard(Time{9}), Time{2});
  membership.heard({3}, Time{8});
  EXPECT_EQ(membership.oldest_heard(Time{9}), Time{5});
  membership.leave({0});
  membership.leave({0});
  EXPECT_EQ(membership.count(), 1U);
  EXPECT_EQ(membership.oldest_heard(Time{9}), Time{8});
}

}  // namespace
}  // namespace paceline::membership
