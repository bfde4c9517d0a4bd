#include "paceline/roles/ledger.h"

#include <gtest/gtest.h>

namespace paceline::roles {
namespace {

TEST(Ledger, LeasesInOrderAndReturnedOnesFirst) {
  Ledger ledger(5);
  for (std::uint64_t batch = 0; batch < 4; ++batch) EXPECT_EQ(ledger.lease(), batch);
  ledger.give_back(2);
  ledger.give_back(1);
  EXPECT_EQ(ledger.returned_count(), 2U);
  EXPECT_EQ(ledger.lease(), 1U);
  EXPECT_EQ(ledger.lease(), 2U);
  EXPECT_EQ(ledger.lease(), 4U);
  EXPECT_FALSE(ledger.has_free());
  EXPECT_FALSE(ledger.lease().has_value());
}

TEST(Ledger, EndsWhenEveryBatchIsApplied) {
  Ledger ledger(2);
  ledger.lease();
  ledger.lease();
  ledger.applied(1);
  EXPECT_FALSE(ledger.all_applied());
  EXPECT_EQ(ledger.leased_count(), 1U);
  ledger.applied(0);
  EXPECT_TRUE(ledger.all_applied());
  EXPECT_EQ(ledger.applied_count(), 2U);
}

TEST(LedgerDeathTest, ABatchIsAppliedOnceAndOnlyWhileLeased) {
  Ledger ledger(2);
  ledger.lease();
  ledger.applied(0);
  EXPECT_DEATH(ledger.applied(0), "once");
  EXPECT_DEATH(ledger.give_back(0), "leased");
  EXPECT_DEATH(ledger.applied(1), "once");
}

}  // namespace
}  // namespace paceline::roles
