#include "paceline/sim/cluster_spec.h"

#include <cmath>

#include "paceline/base/text.h"

namespace paceline::sim {
namespace {

std::uint64_t bytes_per_second(const std::optional<double>& bandwidth) {
  return bandwidth ? static_cast<std::uint64_t>(std::llround(*bandwidth)) : 0;
}

void put_presence(const WorkerSpec& worker, NodeId node, Scenario& scenario) {
  for (std::size_t i = 0; i < worker.presence.size(); ++i) {
    const PresenceSpec& stay = worker.presence[i];
    if (!stay.leaves) return;
    Fault fault{.kind = stay.dies ? Fault::Kind::Kill : Fault::Kind::Stop,
                .node = node,
                .at = from_seconds(*stay.leaves)};
    if (i + 1 < worker.presence.size()) {
      fault.restart_after = from_seconds(worker.presence[i + 1].joins - *stay.leaves);
    }
    scenario.faults.push_back(fault);
  }
}

}  // namespace

ClusterSpec equal_cluster(std::uint32_t workers) {
  return {.name = cat("equal ", workers),
          .doc = "Alike, 5 % jitter.",
          .workers = std::vector<WorkerSpec>(
              workers, {.speed = {.step = std::chrono::seconds(1), .jitter = 0.05}})};
}

void put(const ClusterSpec& cluster, Scenario& scenario) {
  scenario.run.workers = static_cast<std::uint32_t>(cluster.workers.size());
  scenario.run.servers = cluster.servers;
  scenario.network = {.latency = from_seconds(cluster.network.latency),
                      .bytes_per_second = bytes_per_second(cluster.network.bandwidth)};
  scenario.service_time = from_seconds(cluster.service_time);
  scenario.speeds.clear();
  bool is_late = false;
  for (std::uint32_t w = 0; w < cluster.workers.size(); ++w) {
    const WorkerSpec& worker = cluster.workers[w];
    const NodeId node{Role::Worker, w};
    scenario.speeds.push_back(worker.speed);
    is_late = is_late || worker.presence.front().joins > 0;
    if (worker.link) {
      scenario.links.resize(cluster.workers.size());
      scenario.links[w] = LinkOptions{.latency = from_seconds(worker.link->latency),
                                      .bytes_per_second = bytes_per_second(worker.link->bandwidth)};
    }
    for (const PauseSpec& pause : worker.pauses) {
      scenario.faults.push_back({.kind = Fault::Kind::Pause,
                                 .node = node,
                                 .at = from_seconds(pause.at),
                                 .length = from_seconds(pause.length)});
    }
    put_presence(worker, node, scenario);
  }
  if (!is_late) return;
  for (const WorkerSpec& worker : cluster.workers) {
    scenario.start_at.push_back(from_seconds(worker.presence.front().joins));
  }
}

}  // namespace paceline::sim
