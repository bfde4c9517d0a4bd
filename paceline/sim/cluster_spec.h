#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/base/result.h"
#include "paceline/sim/scenario.h"

// Clusters as data: who computes how fast, over which links, and when who comes and goes.
namespace paceline::sim {

// A link's figures; those of a worker are of its links to every server and the coordinator.
struct LinkSpec {
  double latency = 0;               // seconds, one way
  std::optional<double> bandwidth;  // bytes a second, each direction; null: no bound
};

// For `length` seconds from `at` the worker does nothing (SIGSTOP, a migrating machine).
struct PauseSpec {
  double at = 0;
  double length = 0;
};

// The worker is there from `joins` on; it may go and come back.
struct PresenceSpec {
  double joins = 0;
  std::optional<double> leaves;  // null: it stays
  bool dies = false;             // it leaves as by kill -9, without a word
};

struct WorkerSpec {
  Speed speed;
  std::optional<LinkSpec> link;  // null: the network's
  std::vector<PauseSpec> pauses;
  std::vector<PresenceSpec> presence = {{}};  // in order, not overlapping; at least one
};

struct ClusterSpec {
  std::string name;
  std::string doc;  // one sentence; may be empty
  std::uint32_t servers = 2;
  double service_time = 0;               // seconds a server needs for a push, one after the other
  std::uint64_t parameters = 1'000'000;  // floats of the model, for the bytes on the wire
  LinkSpec network;
  std::vector<WorkerSpec> workers;  // at least one
};

inline constexpr std::uint32_t kMostWorkers = 1'000'000;

// The ready ones: equal, gpu_generations, one_slow_of_eight, heavy_tail, preemptible, two_sites;
// and those of the documents: uneven4 (four unequal workers), demo (what `make demo` makes of its
// machine).
std::span<const ClusterSpec> profiles();

// `workers` equal ones, 5 % jitter, steps of one second.
ClusterSpec equal_cluster(std::uint32_t workers);

// A cluster file (docs/reference/cluster-file.md). Errors name line and field: "my.json:7",
// "workers[1].step". where: the file's name, for errors.
Result<ClusterSpec> parse_cluster(std::string_view json, const std::string& where);

// A published n x R matrix of step ends: a row a worker, commas or blanks between; the differences
// of a row, the first end counting from 0, are the worker's steps, over and over.
Result<ClusterSpec> parse_end_times(std::string_view text, const std::string& where);

// A run of Paceline, from its decisions.jsonl: each worker's times from release to push, over and
// over, and when it came and went. A worker without any push is left out.
Result<ClusterSpec> cluster_of_run(std::istream& decisions, const std::string& where);

// Speeds, links, servers, comings and goings of the scenario become those of the cluster.
void put(const ClusterSpec& cluster, Scenario& scenario);

}  // namespace paceline::sim
