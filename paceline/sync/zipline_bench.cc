// zipline() over a matrix, against std::sort of the same numbers: both in turn in one loop, so that
// what disturbs the machine disturbs both. x_std_sort, the ratio of their times, shall be at
// most 1.
#include <algorithm>
#include <chrono>

#include <benchmark/benchmark.h>

#include "paceline/base/random.h"
#include "paceline/sync/zipline.h"

namespace paceline::sync {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<double> make_matrix(std::size_t n, std::size_t columns) {
  Rng rng(1);
  std::vector<double> ends;
  ends.reserve(n * columns);
  for (std::size_t row = 0; row < n; ++row) {
    const double interval = 1 + 0.5 * rng.unit();
    double end = rng.unit();
    for (std::size_t c = 0; c < columns; ++c) {
      end += interval * (0.95 + 0.1 * rng.unit());
      ends.push_back(end);
    }
  }
  return ends;
}

void BM_Zipline(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto columns = static_cast<std::size_t>(state.range(1));
  const std::vector<double> matrix = make_matrix(n, columns);
  std::vector<std::span<const double>> rows;
  for (std::size_t row = 0; row < n; ++row)
    rows.push_back(std::span(matrix).subspan(row * columns, columns));

  double zipline_seconds = 0;
  double sort_seconds = 0;
  for (auto _ : state) {
    std::vector<double> sorted = matrix;
    const auto start = Clock::now();
    std::sort(sorted.begin(), sorted.end());
    const auto between = Clock::now();
    benchmark::DoNotOptimize(zipline(rows));
    const auto end = Clock::now();
    benchmark::DoNotOptimize(sorted.data());
    sort_seconds += std::chrono::duration<double>(between - start).count();
    const double took = std::chrono::duration<double>(end - between).count();
    zipline_seconds += took;
    state.SetIterationTime(took);
  }
  state.counters["x_std_sort"] = zipline_seconds / sort_seconds;
}
BENCHMARK(BM_Zipline)
    ->ArgsProduct({{10, 100, 1000, 10'000}, {150}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

// The rows that a plan is made of: predicted lazily, no matrix.
void BM_ZiplineLazy(benchmark::State& state) {
  Rng rng(1);
  std::vector<Progression> rows;
  for (std::int64_t row = 0; row < state.range(0); ++row) {
    rows.push_back({Time{rng.between(1, 1'000'000'000)},
                    Duration{rng.between(1'000'000'000, 1'500'000'000)},
                    static_cast<std::uint32_t>(state.range(1))});
  }
  for (auto _ : state) benchmark::DoNotOptimize(zipline(rows));
}
BENCHMARK(BM_ZiplineLazy)
    ->ArgsProduct({{4, 100, 1000, 10'000}, {15, 150}})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace paceline::sync
