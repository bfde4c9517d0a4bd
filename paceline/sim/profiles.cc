#include "paceline/base/text.h"
#include "paceline/sim/cluster_spec.h"

namespace paceline::sim {
namespace {

std::vector<WorkerSpec> workers_of(std::initializer_list<double> steps, double jitter) {
  std::vector<WorkerSpec> workers;
  for (const double step : steps) {
    workers.push_back({.speed = {.step = from_seconds(step), .jitter = jitter}});
  }
  return workers;
}

ClusterSpec equal() {
  ClusterSpec cluster = equal_cluster(8);
  cluster.name = "equal";
  cluster.doc = "Eight alike, 5 % jitter.";
  return cluster;
}

ClusterSpec heavy_tail() {
  // alpha 2: mean 1 s, infinite variance; the longest of 1,000 steps is about 16 s.
  return {.name = "heavy_tail",
          .doc = "Eight alike whose steps have a Pareto tail: mean 1 s, at least 0.5 s.",
          .workers = std::vector<WorkerSpec>(
              8, {.speed = {.step = Pareto{.scale = std::chrono::milliseconds(500), .alpha = 2}}})};
}

ClusterSpec preemptible() {
  ClusterSpec cluster = equal_cluster(8);
  cluster.name = "preemptible";
  cluster.doc =
      "Eight alike that are taken away in turn: each for 120 s of every 800 s, one of them without "
      "notice.";
  constexpr double kRound = 800;
  constexpr double kAway = 120;
  constexpr int kRounds = 100;
  for (std::size_t w = 0; w < cluster.workers.size(); ++w) {
    std::vector<PresenceSpec>& presence = cluster.workers[w].presence;
    for (int round = 0; round < kRounds; ++round) {
      const double leaves = kRound * round + 50 + 100 * static_cast<double>(w);
      presence.back().leaves = leaves;
      presence.back().dies = w == 0;
      presence.push_back({.joins = leaves + kAway});
    }
  }
  return cluster;
}

ClusterSpec two_sites() {
  ClusterSpec cluster = equal_cluster(8);
  cluster.name = "two_sites";
  cluster.doc =
      "Four beside the servers (0.2 ms, 10 Gb/s), four far away (40 ms, 100 Mb/s); a model of 4 "
      "MB.";
  cluster.network = {.latency = 0.0002, .bandwidth = 1.25e9};
  for (std::size_t w = 4; w < cluster.workers.size(); ++w) {
    cluster.workers[w].link = {.latency = 0.04, .bandwidth = 12.5e6};
  }
  return cluster;
}

}  // namespace

std::span<const ClusterSpec> profiles() {
  static const std::vector<ClusterSpec> all{
      equal(),
      {.name = "gpu_generations",
       .doc = "Two generations of GPUs, two of each: GTX 1080 Ti to GTX 1060 as 1 to 1.9.",
       .workers = workers_of({1, 1, 1.9, 1.9}, 0.05)},
      {.name = "one_slow_of_eight",
       .doc = "One of eight takes four times as long.",
       .workers = workers_of({1, 1, 1, 1, 1, 1, 1, 4}, 0.05)},
      heavy_tail(),
      preemptible(),
      two_sites(),
      {.name = "uneven4",
       .doc = "Four unequal ones: 1, 1.1, 1.3 and 2 s.",
       .workers = workers_of({1, 1.1, 1.3, 2}, 0.05)},
      {.name = "demo",
       .doc = "What `make demo` makes of its machine: three of 60 ms, one of 180 ms.",
       .workers = workers_of({0.06, 0.06, 0.06, 0.18}, 0.01)},
  };
  return all;
}

}  // namespace paceline::sim
