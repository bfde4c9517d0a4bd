#include "paceline/roles/ledger.h"

#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "paceline/base/random.h"

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

// Against a set: leases end in any order, one of them very late, and come back.
TEST(Ledger, KnowsWhatIsLeasedInAnyOrder) {
  Ledger ledger(20'000);
  Rng rng(1);
  std::vector<std::uint64_t> leased;
  std::set<std::uint64_t> returned;
  std::uint64_t next = 0;
  std::uint64_t applied = 0;
  while (!ledger.all_applied()) {
    const std::optional<std::uint64_t> batch = ledger.has_free() ? ledger.lease() : std::nullopt;
    if (batch) {
      EXPECT_EQ(*batch, returned.empty() ? next : *returned.begin());
      if (returned.erase(*batch) == 0) ++next;
      leased.push_back(*batch);
    }
    ASSERT_EQ(ledger.leased_count(), leased.size());
    if (leased.size() < 200 && batch) continue;
    // The first of them, batch 0, stays to the end.
    const std::size_t place = leased.size() == 1 ? 0 : 1 + rng.below(leased.size() - 1);
    const std::uint64_t done = leased[place];
    leased[place] = leased.back();
    leased.pop_back();
    if (rng.chance(1, 10)) {
      ledger.give_back(done);
      returned.insert(done);
    } else {
      ledger.applied(done);
      ++applied;
    }
  }
  EXPECT_EQ(ledger.applied_count(), 20'000U);
  EXPECT_EQ(applied, 20'000U);
  EXPECT_EQ(ledger.leased_count(), 0U);
}

TEST(LedgerDeathTest, ABatchIsAppliedOnceAndOnlyWhileLeased) {
  Ledger ledger(2);
  ledger.lease();
  ledger.applied(0);
  EXPECT_DEATH(ledger.applied(0), "once");
  EXPECT_DEATH(ledger.give_back(0), "leased");
  EXPECT_DEATH(ledger.applied(1), "once");
  Ledger longer(200);
  for (int i = 0; i < 130; ++i) longer.lease();
  EXPECT_DEATH(longer.applied(130), "once");
  EXPECT_DEATH(longer.applied(199), "once");
  for (std::uint64_t batch = 0; batch < 128; ++batch) longer.applied(batch);
  EXPECT_DEATH(longer.applied(5), "once");
}

}  // namespace
}  // namespace paceline::roles
