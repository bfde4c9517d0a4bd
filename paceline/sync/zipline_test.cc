// ZipLine is exact: the table, the cases that break heuristics, and every combination tried.
#include "paceline/sync/zipline.h"

#include <limits>

#include <gmock/gmock.h>

#include "paceline/base/random.h"

namespace paceline::sync {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Matrix = std::vector<std::vector<double>>;

template <typename T>
std::vector<std::span<const T>> views(const std::vector<std::vector<T>>& rows) {
  return {rows.begin(), rows.end()};
}

Superstep<double> solve(const Matrix& rows) { return zipline(views(rows)); }

TEST(ZiplineTest, Plain) {
  const auto s = solve({{3, 6, 9, 12}, {4, 8, 12, 16}, {5, 10, 15, 20}});
  EXPECT_EQ(s, (Superstep<double>{5, 2, 3, {1, 1, 1}}));
}
TEST(ZiplineTest, ExactMeet) {
  EXPECT_EQ(solve({{2, 4, 6}, {3, 6, 9}, {6, 12, 18}}), (Superstep<double>{6, 0, 0, {3, 2, 1}}));
}
TEST(ZiplineTest, OneWorker) { EXPECT_EQ(solve({{5, 7, 9}}), (Superstep<double>{5, 0, 0, {1}})); }
TEST(ZiplineTest, OneEndEach) {
  EXPECT_EQ(solve({{5}, {9}, {7}}), (Superstep<double>{9, 4, 6, {1, 1, 1}}));
}
TEST(ZiplineTest, AVerySlowWorker) {
  const auto s = solve({{1, 2, 3, 4}, {1.5, 3, 4.5, 6}, {20, 40, 60, 80}});
  EXPECT_EQ(s, (Superstep<double>{20, 16, 30, {4, 4, 1}}));  // not (4, 3, 1), a step lost
}
TEST(ZiplineTest, OfEqualWindowsTheEarliest) {
  EXPECT_EQ(solve({{1, 5, 9}, {2, 6, 10}}), (Superstep<double>{2, 1, 1, {1, 1}}));
}
// FullGridScan of the ICDM paper finds 6 here.
TEST(ZiplineTest, WhereFullGridScanIsWrong) {
  const auto s = solve({{6, 8}, {7, 13}, {9, 16}, {13, 17}});
  EXPECT_EQ(s.wait, 5);
  EXPECT_EQ(s.barrier, 13);
  EXPECT_THAT(s.index, ElementsAre(2, 2, 1, 1));
}
TEST(ZiplineTest, NegativeAndSignedZeroEndsKeepTheirOrder) {
  EXPECT_EQ(solve({{-5, -1, 4}, {-2, 0.0, 9}}), (Superstep<double>{-1, 1, 1, {2, 1}}));
}

// Over all choices: the least (wait, barrier); then the latest end not after it.
template <typename T>
Superstep<T> brute(const std::vector<std::vector<T>>& rows) {
  std::vector<std::size_t> choice(rows.size());
  bool found = false;
  Superstep<T> best;
  for (;;) {
    T low = rows[0][choice[0]];
    T high = low;
    for (std::size_t p = 1; p < rows.size(); ++p) {
      low = std::min(low, rows[p][choice[p]]);
      high = std::max(high, rows[p][choice[p]]);
    }
    if (!found || std::pair(high - low, high) < std::pair(best.wait, best.barrier)) {
      best.wait = high - low;
      best.barrier = high;
      found = true;
    }
    std::size_t p = 0;
    while (p < rows.size() && ++choice[p] == rows[p].size()) choice[p++] = 0;
    if (p == rows.size()) break;
  }
  for (const auto& row : rows) {
    std::uint32_t index = 0;
    while (index < row.size() && row[index] <= best.barrier) ++index;
    best.index.push_back(index);
    best.total_wait += best.barrier - row[index - 1];
  }
  return best;
}

TEST(ZiplineTest, AgreesWithEveryCombination) {
  Rng rng(1);
  for (int i = 0; i < 10'000; ++i) {
    Matrix rows(1 + rng.below(5));
    for (auto& row : rows) {  // small integers: many ties; uneven lengths
      double end = static_cast<double>(rng.below(8));
      const std::uint64_t length = 1 + rng.below(6);
      for (std::uint64_t c = 0; c < length; ++c) {
        row.push_back(end);
        end += static_cast<double>(rng.between(1, 5));
      }
    }
    ASSERT_EQ(solve(rows), brute(rows)) << "instance " << i;
  }
}

TEST(ZiplineTest, LazyRowsAgreeWithTheSameRowsInMemory) {
  Rng rng(2);
  for (int i = 0; i < 10'000; ++i) {
    std::vector<Progression> lazy(1 + rng.below(5));
    std::vector<std::vector<Time>> stored;
    for (Progression& row : lazy) {
      row = {Time{rng.between(0, 20)}, Duration{rng.between(1, 9)},
             static_cast<std::uint32_t>(rng.between(1, 6))};
      auto& ends = stored.emplace_back();
      for (std::int64_t c = 0; c < row.count; ++c) ends.push_back(row.first + c * row.interval);
    }
    const Superstep<Time> expected = brute(stored);
    ASSERT_EQ(zipline(lazy), expected) << "instance " << i;
    ASSERT_EQ(zipline(views(stored)), expected) << "instance " << i;
  }
}

// More workers than brute force can do: sort all ends, slide a window that holds every worker.
TEST(ZiplineTest, AgreesWithSortAndSweepOnManyWorkers) {
  Rng rng(4);
  for (int i = 0; i < 200; ++i) {
    Matrix rows(2 + rng.below(69));
    std::vector<std::pair<double, std::size_t>> all;
    for (std::size_t p = 0; p < rows.size(); ++p) {
      double end = 0;
      for (int c = 0; c < 20; ++c) {
        end += 0.5 + rng.unit() * static_cast<double>(1 + p % 3);
        rows[p].push_back(end);
        all.emplace_back(end, p);
      }
    }
    std::sort(all.begin(), all.end());
    std::vector<int> inside(rows.size());
    std::size_t missing = rows.size();
    double wait = std::numeric_limits<double>::infinity();
    double barrier = 0;
    for (std::size_t low = 0, high = 0; high < all.size(); ++high) {
      if (inside[all[high].second]++ == 0) --missing;
      while (missing == 0) {
        if (all[high].first - all[low].first < wait) {
          wait = all[high].first - all[low].first;
          barrier = all[high].first;
        }
        if (--inside[all[low++].second] == 0) ++missing;
      }
    }
    const auto s = solve(rows);
    ASSERT_EQ(s.wait, wait) << "instance " << i;
    ASSERT_EQ(s.barrier, barrier) << "instance " << i;
  }
}

std::string refusal(const Matrix& rows) {
  const Status status = check_ends(views(rows));
  return status ? "" : status.error().what;
}

TEST(ZiplineTest, CheckEndsNamesRowAndColumn) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal({{0, 1}, {0.5}}), "");
  EXPECT_EQ(refusal({}), "no rows");
  EXPECT_EQ(refusal({{1}, {}}), "row 2 is empty");
  EXPECT_THAT(refusal({{1}, {1, inf}}), HasSubstr("row 2, column 2: inf"));
  EXPECT_THAT(refusal({{std::nan("")}}), HasSubstr("row 1, column 1: nan"));
  EXPECT_THAT(refusal({{-1, 2}}), HasSubstr("row 1, column 1: -1"));
  EXPECT_THAT(refusal({{1, 2, 2}}), HasSubstr("row 1, column 3: 2 is not after 2"));
}

}  // namespace
}  // namespace paceline::sync
