#include "paceline/node/stats_json.h"

#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

namespace paceline::node {
namespace {

using nlohmann::json;
using roles::RunStats;

json node_json(NodeId node) { return {static_cast<int>(node.role), node.index}; }
NodeId node_from(const json& j) {
  return {static_cast<Role>(j.at(0).get<int>()), j.at(1).get<std::uint32_t>()};
}
Duration nanoseconds(const json& j) { return Duration{j.get<std::int64_t>()}; }

json worker_json(const roles::WorkerStats& worker) {
  return {static_cast<int>(worker.state), worker.steps, worker.waited.count(), worker.loss,
          worker.compute.count()};
}
float number(const json& j) {  // JSON has no NaN: a loss that is none is null
  return j.is_null() ? std::nanf("") : j.get<float>();
}
roles::WorkerStats worker_from(const json& j) {
  return {.state = static_cast<roles::WorkerStats::State>(j.at(0).get<int>()),
          .steps = j.at(1).get<std::uint64_t>(),
          .waited = nanoseconds(j.at(2)),
          .loss = number(j.at(3)),
          .compute = nanoseconds(j.at(4))};
}

json failure_json(const roles::Failure& f) {
  return {node_json(f.node), f.cause, f.signal, f.exit_code, f.text, f.at.count(), f.at_step};
}
roles::Failure failure_from(const json& j) {
  return {.node = node_from(j.at(0)),
          .cause = j.at(1).get<std::string>(),
          .signal = j.at(2).get<int>(),
          .exit_code = j.at(3).get<int>(),
          .text = j.at(4).get<std::string>(),
          .at = nanoseconds(j.at(5)),
          .at_step = j.at(6).get<Step>()};
}

json evaluation_json(const roles::EvaluationStats& e) {
  return {e.at.count(), e.version, e.samples, e.accuracy, e.loss};
}
roles::EvaluationStats evaluation_from(const json& j) {
  return {.at = nanoseconds(j.at(0)),
          .version = j.at(1).get<Version>(),
          .samples = j.at(2).get<std::uint64_t>(),
          .accuracy = j.at(3).get<double>(),
          .loss = j.at(4).is_null() ? std::nan("") : j.at(4).get<double>()};
}

RunStats stats_from(const json& j) {
  RunStats stats;
  stats.phase = j.at("phase").get<std::string>();
  stats.training = j.at("training").get<bool>();
  stats.started = nanoseconds(j.at("started"));
  stats.last_applied = nanoseconds(j.at("last_applied"));
  stats.now = nanoseconds(j.at("now"));
  stats.version = j.at("version").get<Version>();
  stats.samples = j.at("samples").get<std::uint64_t>();
  stats.samples_budget = j.at("samples_budget").get<std::uint64_t>();
  stats.lr = j.at("lr").get<double>();
  stats.train_loss = j.at("train_loss").is_null() ? std::nan("") : j.at("train_loss").get<double>();
  for (const json& worker : j.at("workers")) stats.workers.push_back(worker_from(worker));
  for (const json& entry : j.at("staleness")) {
    stats.staleness[entry.at(0).get<std::uint64_t>()] = entry.at(1).get<std::uint64_t>();
  }
  stats.applied = j.at("applied").get<std::uint64_t>();
  stats.dropped = j.at("dropped").get<std::uint64_t>();
  stats.repeated = j.at("repeated").get<std::uint64_t>();
  stats.barriers = j.at("barriers").get<std::uint64_t>();
  stats.clock_gap_max = j.value("clock_gap_max", std::uint64_t{0});  // not in older runs
  stats.leases_lost = j.at("leases_lost").get<std::uint64_t>();
  stats.pushed_bytes = j.at("pushed_bytes").get<std::uint64_t>();
  stats.pulled_bytes = j.at("pulled_bytes").get<std::uint64_t>();
  for (const json& failure : j.at("failures")) stats.failures.push_back(failure_from(failure));
  for (const json& e : j.at("evaluations")) stats.evaluations.push_back(evaluation_from(e));
  if (!j.at("target_reached").is_null()) stats.target_reached = nanoseconds(j.at("target_reached"));
  stats.param_sha256 = j.at("param_sha256").get<std::string>();
  return stats;
}

}  // namespace

std::string to_json_line(const RunStats& stats) {
  json workers = json::array();
  for (const auto& worker : stats.workers) workers.push_back(worker_json(worker));
  json staleness = json::array();
  for (const auto& [versions, pushes] : stats.staleness) staleness.push_back({versions, pushes});
  json failures = json::array();
  for (const auto& failure : stats.failures) failures.push_back(failure_json(failure));
  json evaluations = json::array();
  for (const auto& e : stats.evaluations) evaluations.push_back(evaluation_json(e));
  const json line = {{"phase", stats.phase},
                     {"training", stats.training},
                     {"started", stats.started.count()},
                     {"last_applied", stats.last_applied.count()},
                     {"now", stats.now.count()},
                     {"version", stats.version},
                     {"samples", stats.samples},
                     {"samples_budget", stats.samples_budget},
                     {"lr", stats.lr},
                     {"train_loss", stats.train_loss},
                     {"workers", workers},
                     {"staleness", staleness},
                     {"applied", stats.applied},
                     {"dropped", stats.dropped},
                     {"repeated", stats.repeated},
                     {"barriers", stats.barriers},
                     {"clock_gap_max", stats.clock_gap_max},
                     {"leases_lost", stats.leases_lost},
                     {"pushed_bytes", stats.pushed_bytes},
                     {"pulled_bytes", stats.pulled_bytes},
                     {"failures", failures},
                     {"evaluations", evaluations},
                     {"target_reached",
                      stats.target_reached ? json(stats.target_reached->count()) : json(nullptr)},
                     {"param_sha256", stats.param_sha256}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<RunStats> parse_stats(const json& line) {
  try {
    return stats_from(line);
  } catch (const json::exception& error) {
    return fail(Code::Corruption, std::string("figures of a run: ") + error.what());
  }
}

}  // namespace paceline::node
