// The published algorithms do what print says they do, on a few instances.
#include "bench/paper/zipline_paper.h"

#include <gmock/gmock.h>

#include "paceline/base/random.h"
#include "paceline/sync/zipline.h"

namespace paceline::paper {
namespace {

using ::testing::ElementsAre;
using Matrix = std::vector<std::vector<double>>;

std::vector<std::span<const double>> views(const Matrix& rows) {
  return {rows.begin(), rows.end()};
}

TEST(ZipLinePaperTest, ExactOnesAgreeWithBruteForce) {
  Rng rng(1);
  for (int i = 0; i < 300; ++i) {
    Matrix rows(1 + rng.below(4));
    for (auto& row : rows) {
      double end = static_cast<double>(rng.below(9));
      const std::uint64_t length = 1 + rng.below(5);
      for (std::uint64_t c = 0; c < length; ++c) {
        row.push_back(end);
        end += static_cast<double>(rng.between(1, 6));
      }
    }
    const Window expected = brute_force(views(rows));
    for (const auto algorithm : {zipline, zipline_opt, zipline_opt_bs}) {
      const Window window = algorithm(views(rows));
      ASSERT_EQ(window.wait, expected.wait) << "instance " << i;
      ASSERT_EQ(window.barrier, expected.barrier) << "instance " << i;
    }
    const auto superstep = sync::zipline(views(rows));
    ASSERT_EQ(superstep.wait, expected.wait) << "instance " << i;
    ASSERT_EQ(superstep.barrier, expected.barrier) << "instance " << i;
  }
}

TEST(ZipLinePaperTest, HeuristicsMissTheOptimumOfTheCounterexample) {
  const Matrix rows{{6, 8}, {7, 13}, {9, 16}, {13, 17}};
  EXPECT_EQ(brute_force(views(rows)), (Window{13, 5, {2, 2, 1, 1}}));
  EXPECT_EQ(full_grid_scan(views(rows)).wait, 6);
  // 6 goes with 7, 9, 13 and 8 with 7, 9, 13.
  EXPECT_EQ(grid_scan(views(rows)).wait, 6);
}

TEST(ZipLinePaperTest, AWindowNamesTheEndsThatWereChosen) {
  const Matrix rows{{3, 6, 9, 12}, {4, 8, 12, 16}, {5, 10, 15, 20}};
  EXPECT_THAT(zipline(views(rows)).index, ElementsAre(1, 1, 1));
  EXPECT_EQ(grid_scan(views(rows)), (Window{5, 2, {1, 1, 1}}));
}

TEST(ZipLinePaperTest, TheTimelineMayEndWhileAWorkerIsLacking) {
  const Matrix rows{{1}, {2, 3, 4}};
  EXPECT_EQ(zipline(views(rows)), (Window{2, 1, {1, 1}}));
  EXPECT_EQ(zipline_opt(views(rows)), (Window{2, 1, {1, 1}}));
  EXPECT_EQ(zipline_opt_bs(views(rows)), (Window{2, 1, {1, 1}}));
}

TEST(ZipLinePaperTest, GeneratedWorkersStartTogetherAndKeepTheirIntervals) {
  const Matrix rows = generate(7, 100, 15);
  ASSERT_EQ(rows.size(), 100);
  double earliest = rows[0][0];
  double latest = rows[0][0];
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 15);
    earliest = std::min(earliest, row[0]);
    latest = std::max(latest, row[0]);
    for (std::size_t i = 1; i < row.size(); ++i) {
      EXPECT_EQ(row[i] - row[i - 1], row[1] - row[0]);
      EXPECT_TRUE(row[i] - row[i - 1] >= 1000 && row[i] - row[i - 1] <= 1500);
    }
  }
  EXPECT_LE(latest - earliest, 1500);
  EXPECT_EQ(generate(7, 100, 15), rows);
  EXPECT_NE(generate(8, 100, 15), rows);
}

}  // namespace
}  // namespace paceline::paper
