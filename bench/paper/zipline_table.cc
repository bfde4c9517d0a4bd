// ZipLine's cost table: the published algorithms and ours, on the published kind of input, in turn
// in one loop, so that what disturbs the machine disturbs all.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/paper/zipline_paper.h"
#include "paceline/base/random.h"
#include "paceline/base/text.h"
#include "paceline/sync/zipline.h"

namespace paceline::paper {
namespace {

using Matrix = std::vector<std::vector<double>>;

struct Size {
  std::size_t n;
  std::size_t r;
};
constexpr Size kSizes[] = {{10, 15}, {10, 150}, {100, 15}, {100, 150}, {1000, 15}, {1000, 150}};
constexpr std::size_t kLargest = 5;

std::vector<std::span<const double>> views(const Matrix& rows) {
  return {rows.begin(), rows.end()};
}

Window ours(Rows rows) {
  sync::Superstep<double> superstep = sync::zipline(rows);
  return {superstep.barrier, superstep.wait, std::move(superstep.index)};
}

// Microseconds, mean of 10, Xeon E5-2620 v3 (ICDM 2019, Table II); those of 2021 are read off a
// figure, machine not stated (DSAA 2021).
struct Algorithm {
  const char* name;
  Window (*run)(Rows);
  bool exact;
  std::optional<double> published[6];  // by kSizes
};
constexpr auto kNone = std::nullopt;
const Algorithm kAlgorithms[] = {
    {"zipline() of Paceline", ours, true, {kNone, kNone, kNone, kNone, kNone, kNone}},
    {"ZipLine", zipline, true, {149, 1'320, 6'370, 49'900, 253'000, 2'380'000}},
    {"ZipLineOpt", zipline_opt, true, {kNone, kNone, kNone, kNone, kNone, 770'000}},
    {"ZipLineOptBS", zipline_opt_bs, true, {kNone, kNone, kNone, kNone, kNone, 550'000}},
    {"GridScan", grid_scan, false, {168, 5'500, 1'110, 43'800, 7'450, 257'000}},
    {"FullGridScan",
     full_grid_scan,
     false,
     {1'540, 46'700, 81'300, 2'150'000, 4'040'000, 207'000'000}},
};
constexpr std::size_t kOurs = 0;
constexpr std::size_t kZipLine = 1;
constexpr std::size_t kGridScan = 4;
constexpr std::size_t kFullGridScan = 5;

// ---- do they agree? ----

// Small integers and many ties, as in the counterexamples.
Matrix tiny_instance(Rng& rng) {
  Matrix rows(1 + rng.below(4));
  const std::uint64_t columns = 1 + rng.below(5);
  for (auto& row : rows) {
    double end = static_cast<double>(rng.between(1, 12));
    for (std::uint64_t c = 0; c < columns; ++c) {
      row.push_back(end);
      end += static_cast<double>(rng.between(1, 9));
    }
  }
  return rows;
}

bool is_choice_of(const Window& window, Rows rows) {
  double low = window.barrier;
  double high = 0;
  for (std::size_t p = 0; p < rows.size(); ++p) {
    const double end = rows[p][window.index[p] - 1];
    low = std::min(low, end);
    high = std::max(high, end);
  }
  return high == window.barrier && high - low == window.wait;
}

struct Counts {
  int instances = 0;
  int disagreements = 0;     // of exact algorithms, among themselves or with brute force
  int wrong_grid_scans = 0;  // not optimal, of those held against brute force
  int wrong_full_scans = 0;
};

void hold_together(Rows rows, bool with_brute_force, Counts& counts) {
  const Window expected = with_brute_force ? brute_force(rows) : ours(rows);
  ++counts.instances;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (!algorithm.exact) continue;
    const Window window = algorithm.run(rows);
    if (window.wait != expected.wait || window.barrier != expected.barrier ||
        !is_choice_of(window, rows)) {
      std::printf("%s disagrees: wait %g, barrier %g instead of %g, %g\n", algorithm.name,
                  window.wait, window.barrier, expected.wait, expected.barrier);
      ++counts.disagreements;
    }
  }
  if (!with_brute_force) return;
  counts.wrong_grid_scans += grid_scan(rows).wait != expected.wait;
  counts.wrong_full_scans += full_grid_scan(rows).wait != expected.wait;
}

bool check(std::uint64_t seed) {
  Rng rng(seed);
  Counts tiny;
  for (int i = 0; i < 4000; ++i) hold_together(views(tiny_instance(rng)), true, tiny);
  Counts larger;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Matrix rows = generate(seed + i, 2 + rng.below(60), 1 + rng.below(40));
    hold_together(views(rows), false, larger);
  }
  std::printf(
      "exact algorithms against brute force, 1 to 4 workers, 1 to 5 ends: %d of %d differ\n",
      tiny.disagreements, tiny.instances);
  std::printf("among themselves, 2 to 61 workers, 1 to 40 ends: %d of %d differ\n",
              larger.disagreements, larger.instances);
  std::printf("of the %d small ones GridScan misses the optimum in %d, FullGridScan in %d\n",
              tiny.instances, tiny.wrong_grid_scans, tiny.wrong_full_scans);
  const Matrix counterexample{{6, 8}, {7, 13}, {9, 16}, {13, 17}};
  const auto rows = views(counterexample);
  std::printf("[6,8] [7,13] [9,16] [13,17]: optimum %g, FullGridScan %g, GridScan %g\n\n",
              brute_force(rows).wait, full_grid_scan(rows).wait, grid_scan(rows).wait);
  return tiny.disagreements == 0 && larger.disagreements == 0;
}

// ---- how long do they take? ----

// Of the processor, so that what else runs on the machine counts less; none of these ever waits.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_of(const Algorithm& algorithm, Rows rows, int calls) {
  const double start = processor_seconds();
  double sum = 0;
  for (int i = 0; i < calls; ++i) sum += algorithm.run(rows).wait;
  const double took = processor_seconds() - start;
  volatile double kept = sum;
  static_cast<void>(kept);
  return took / calls;
}

// So many calls that a sample lasts 5 ms: far above what the clock resolves.
int calls_for(const Algorithm& algorithm, Rows rows) {
  const double once = seconds_of(algorithm, rows, 1);
  return std::clamp(static_cast<int>(5e-3 / std::max(once, 1e-7)), 1, 20'000);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

struct Options {
  std::uint64_t seed = 1;
  int repetitions = 5;
  bool full = false;
};

using Medians = std::vector<std::optional<double>>;  // [algorithm] seconds

Medians measure(std::size_t size, const Options& options) {
  const Matrix matrix = generate(options.seed, kSizes[size].n, kSizes[size].r);
  const auto rows = views(matrix);
  constexpr std::size_t kCount = std::size(kAlgorithms);
  std::vector<std::vector<double>> samples(kCount);
  std::vector<int> calls(kCount);
  const auto is_skipped = [&](std::size_t a, int repetition) {
    if (a != kFullGridScan || size != kLargest) return false;
    return !options.full || repetition > 0;  // half a minute: once is enough
  };
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    for (std::size_t a = 0; a < kCount; ++a) {
      if (is_skipped(a, repetition)) continue;
      if (calls[a] == 0) {
        calls[a] = a == kFullGridScan && size == kLargest ? 1 : calls_for(kAlgorithms[a], rows);
      }
      samples[a].push_back(seconds_of(kAlgorithms[a], rows, calls[a]));
    }
  }
  Medians medians(kCount);
  for (std::size_t a = 0; a < kCount; ++a) {
    if (!samples[a].empty()) medians[a] = median(samples[a]);
  }
  return medians;
}

std::string number(std::optional<double> value) {
  if (!value) return "";
  char text[32];
  std::snprintf(text, sizeof text, *value < 10 ? "%.2f" : *value < 100 ? "%.1f" : "%.0f", *value);
  return text;
}

void print(std::size_t size, const Medians& medians) {
  for (std::size_t a = 0; a < medians.size(); ++a) {
    if (!medians[a]) continue;
    const double micros = 1e6 * *medians[a];
    const std::optional<double> published = kAlgorithms[a].published[size];
    std::printf("| %zu | %zu | %s | %s | %s | %s | %s |\n", kSizes[size].n, kSizes[size].r,
                kAlgorithms[a].name, published ? cat(*published).c_str() : "",
                number(micros).c_str(),
                number(published ? std::optional(*published / micros) : kNone).c_str(),
                number(*medians[a] / *medians[kOurs]).c_str());
  }
  std::fflush(stdout);
}

bool holds(const char* what, double ratio, double bound) {
  const bool ok = ratio >= bound;
  std::printf("%s: %.1f, at least %.0f: %s\n", what, ratio, bound, ok ? "holds" : "FAILS");
  return ok;
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

int run(const Options& options) {
  if (!check(options.seed)) return 1;
  std::printf("%s, one thread, seed %llu, medians of %d, microseconds of it\n\n",
              processor().c_str(), static_cast<unsigned long long>(options.seed),
              options.repetitions);
  std::printf(
      "| n | R | algorithm | published | measured | published / measured | x zipline() |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  Medians last;
  for (std::size_t size = 0; size < std::size(kSizes); ++size) {
    last = measure(size, options);
    print(size, last);
  }
  if (!options.full) std::printf("\nFullGridScan at n = 1000, R = 150: not run without --full\n");
  const double best = *last[kOurs];
  std::printf("\nn = 1000, R = 150:\n");
  bool ok = holds("published ZipLine, 2.38 s, over zipline()", 2.38 / best, 100);
  ok &= holds("ZipLine as printed over zipline()", *last[kZipLine] / best, 10);
  ok &= holds("GridScan as printed over zipline()", *last[kGridScan] / best, 10);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace paceline::paper

int main(int argc, char** argv) {
  paceline::paper::Options options;
  CLI::App app(
      "Example: zipline_table --full\n\n"
      "ZipLine's cost table (ICDM 2019, Table II): what the papers print and zipline(), timed in "
      "one run.\nExits 1 if they disagree or a stated bound fails.");
  app.add_option("--seed", options.seed, "Of the matrices; 1");
  app.add_option("--repetitions", options.repetitions, "5")->check(CLI::Range(5, 1000));
  app.add_flag("--full", options.full,
               "FullGridScan at n = 1000, R = 150 too, once: half a minute");
  CLI11_PARSE(app, argc, argv);
  return paceline::paper::run(options);
}
