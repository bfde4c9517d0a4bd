// Each byte string is read as a cluster file, a matrix and a run. What is accepted can be
// simulated.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string_view>

#include "paceline/base/check.h"
#include "paceline/sim/cluster_spec.h"

using namespace paceline;  // NOLINT: a fuzzer of one function

namespace {

void check(const Result<sim::ClusterSpec>& cluster) {
  if (!cluster) {
    PACELINE_CHECK(!cluster.error().what.empty(), "an error says what is wrong");
    PACELINE_CHECK(cluster.error().where.starts_with("f"), "an error says where");
    return;
  }
  PACELINE_CHECK(!cluster->workers.empty(), "a cluster has workers");
  PACELINE_CHECK(cluster->servers > 0, "a cluster has servers");
  for (const sim::WorkerSpec& worker : cluster->workers) {
    PACELINE_CHECK(sim::mean_of(worker.speed.step) > Duration{}, "a step takes time");
    PACELINE_CHECK(!worker.presence.empty(), "a worker is there at some time");
    PACELINE_CHECK(!worker.link || worker.link->latency >= 0, "latency is no time machine");
  }
  sim::Scenario scenario;
  put(*cluster, scenario);
  sim::StepClock clock(scenario.speeds.front(), Rng(1));
  Time now{};
  for (int i = 0; i < 4; ++i) {
    const Duration step = clock.next(now);
    PACELINE_CHECK(step > Duration{} && step <= sim::kLongestStep, "a step has a length");
    now += step;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(sim::parse_cluster(text, "f"));
  check(sim::parse_end_times(text, "f"));
  std::istringstream lines{std::string(text)};
  check(sim::cluster_of_run(lines, "f"));
  return 0;
}
