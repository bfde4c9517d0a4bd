// What an event of the simulator costs, and how that grows with the workers: two servers, steps of
// one second with 5 % jitter, no network cost, nothing trained, no checkers. Processor time, the
// median of five runs; bytes are those of the heap, once early and once late in a run of its own.
//
// Beside it what a bare std::priority_queue costs that takes out and puts back what a run has
// planned at a time: a step and a timer a worker, 16 bytes each. How an event's cost grows is to be
// read against how that one's grows: both leave the caches.
//
//   sim_bench            all of the table
//   sim_bench asp 100    one cell of it, once, for a profiler
#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <malloc.h>

#include "paceline/base/random.h"
#include "paceline/base/text.h"
#include "paceline/sim/scenario.h"
#include "paceline/sim/simulate.h"

namespace paceline::sim {
namespace {

constexpr const char* kPolicies[] = {"bsp", "asp", "ssp:3", "dssp:3-15", "elastic_bsp:15"};
constexpr std::uint32_t kWorkers[] = {4, 100, 10'000};
constexpr std::uint64_t kPushes = 100'000;  // a run, at least
constexpr std::uint64_t kStepsLeast = 20;   // of each worker

Scenario cluster(const std::string& policy, std::uint32_t workers, std::uint64_t steps) {
  Scenario scenario;
  scenario.policy = policy;
  scenario.run.workers = workers;
  scenario.run.servers = 2;
  scenario.run.samples = workers * steps;
  scenario.parameter_count = 2;
  scenario.network.latency = Duration{};
  scenario.speeds = {{.step = std::chrono::seconds(1), .jitter = 0.05}};
  return scenario;
}

std::uint64_t steps_of(std::uint32_t workers) { return std::max(kPushes / workers, kStepsLeast); }

struct Cost {
  double events = 0;
  double seconds = 0;
};

Cost measure(const Scenario& scenario) {
  const std::clock_t begin = std::clock();
  const SimResult result = run(scenario, {.check = false});
  const std::clock_t end = std::clock();
  if (result.exit_code != 0) std::fprintf(stderr, "%s\n", result.failure.c_str());
  return {static_cast<double>(result.events), static_cast<double>(end - begin) / CLOCKS_PER_SEC};
}

// Seconds of so many times that the first is taken out and put back about a second later.
double measure_queue(std::uint32_t workers, std::uint64_t times) {
  using Key = std::pair<std::int64_t, std::uint64_t>;
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> queue;
  Rng rng(1);
  std::uint64_t order = 0;
  for (std::uint32_t i = 0; i < 2 * workers; ++i) queue.emplace(rng.between(0, kSecond), ++order);
  const std::clock_t begin = std::clock();
  for (std::uint64_t i = 0; i < times; ++i) {
    const std::int64_t now = queue.top().first;
    queue.pop();
    queue.emplace(now + rng.between(kSecond * 95 / 100, kSecond * 105 / 100), ++order);
  }
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

double median(std::array<double, 5> values) {
  std::ranges::sort(values);
  return values[2];
}

// The heap in use after a quarter of the run, and at its end.
class Memory final : public Observer {
 public:
  Memory(Time early, Time late) : at_{early, late} {}
  void updated(Time now, std::size_t) override {
    while (seen_ < 2 && now >= at_[seen_]) bytes_[seen_++] = mallinfo2().uordblks;
  }
  std::size_t early() const { return bytes_[0]; }
  std::size_t late() const { return bytes_[1]; }

 private:
  Time at_[2];
  std::size_t bytes_[2] = {0, 0};
  std::size_t seen_ = 0;
};

std::pair<double, double> bytes_per_worker(const std::string& policy, std::uint32_t workers) {
  const std::size_t before = mallinfo2().uordblks;
  const std::uint64_t steps = steps_of(workers);
  const Duration length = std::chrono::seconds(1) * static_cast<std::int64_t>(steps);
  Memory memory(length / 4, length * 9 / 10);
  run(cluster(policy, workers, steps), {.check = false, .observer = &memory});
  const auto share = [&](std::size_t bytes) {
    return static_cast<double>(bytes - before) / static_cast<double>(workers);
  };
  return {share(memory.early()), share(memory.late())};
}

void print_queue() {
  constexpr std::uint64_t kTimes = 2'000'000;
  std::array<std::array<double, 5>, std::size(kWorkers)> nanoseconds{};
  for (std::size_t repetition = 0; repetition < 5; ++repetition) {
    for (std::size_t n = 0; n < std::size(kWorkers); ++n) {
      nanoseconds[n][repetition] = measure_queue(kWorkers[n], kTimes) * 1e9 / kTimes;
    }
  }
  for (std::size_t n = 0; n < std::size(kWorkers); ++n) {
    const double each = median(nanoseconds[n]);
    std::printf("%-16s %8u %12.0f %10.0f %10.2f\n", "priority_queue", kWorkers[n], 1e9 / each, each,
                each / median(nanoseconds[1]));
  }
}

void print_table() {
  std::printf("%-16s %8s %12s %10s %10s %14s %14s\n", "policy", "workers", "events/s", "ns/event",
              "to 100", "bytes/worker", "late in a run");
  print_queue();
  for (const char* policy : kPolicies) {
    std::array<std::array<double, 5>, std::size(kWorkers)> nanoseconds{};
    for (std::size_t repetition = 0; repetition < 5; ++repetition) {
      for (std::size_t n = 0; n < std::size(kWorkers); ++n) {
        const Cost cost = measure(cluster(policy, kWorkers[n], steps_of(kWorkers[n])));
        nanoseconds[n][repetition] = cost.seconds * 1e9 / cost.events;
      }
    }
    const double hundred = median(nanoseconds[1]);
    for (std::size_t n = 0; n < std::size(kWorkers); ++n) {
      const double each = median(nanoseconds[n]);
      const auto [early, late] = bytes_per_worker(policy, kWorkers[n]);
      std::printf("%-16s %8u %12.0f %10.0f %10.2f %14.0f %14.0f\n", policy, kWorkers[n], 1e9 / each,
                  each, each / hundred, early, late);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace paceline::sim

int main(int argc, char** argv) {
  if (argc == 1) {
    paceline::sim::print_table();
    return 0;
  }
  const auto workers = argc == 3 ? paceline::parse_uint(argv[2]) : std::nullopt;
  if (!workers) {
    std::fprintf(stderr, "usage: sim_bench [POLICY WORKERS]\n");
    return 2;
  }
  const auto n = static_cast<std::uint32_t>(*workers);
  const auto cost =
      paceline::sim::measure(paceline::sim::cluster(argv[1], n, paceline::sim::steps_of(n)));
  std::printf("%s, %u workers: %.0f events, %.3f s, %.0f events/s, %.0f ns each\n", argv[1], n,
              cost.events, cost.seconds, cost.events / cost.seconds,
              cost.seconds * 1e9 / cost.events);
  return 0;
}
