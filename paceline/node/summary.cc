#include "paceline/node/summary.h"

#include <nlohmann/json.hpp>

#include "paceline/base/text.h"

namespace paceline::node {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

// From the first release to the last update; none before there was one.
std::optional<double> seconds_of(const roles::RunStats& stats) {
  if (stats.applied == 0) return std::nullopt;
  return to_seconds(stats.last_applied - stats.started);
}

Json staleness_json(const roles::RunStats& stats) {
  if (stats.staleness.empty()) return {{"p50", nullptr}, {"p95", nullptr}, {"max", nullptr}};
  return {{"p50", roles::quantile(stats.staleness, 0.5)},
          {"p95", roles::quantile(stats.staleness, 0.95)},
          {"max", stats.staleness.rbegin()->first}};
}

Json histogram_json(const roles::RunStats& stats) {
  Json out = Json::array();
  for (const auto& [versions, pushes] : stats.staleness) out.push_back({versions, pushes});
  return out;
}

Json failure_json(const roles::Failure& failure) {
  const bool is_worker = failure.node.role == Role::Worker;
  return {{"role", to_string(failure.node.role)},
          {"rank", failure.node.index},
          {"cause", failure.cause},
          {"signal", failure.signal == 0 ? Json(nullptr) : Json(failure.signal)},
          {"exit_code", failure.exit_code == 0 ? Json(nullptr) : Json(failure.exit_code)},
          {"at_seconds", to_seconds(failure.at)},
          {"at_step", is_worker ? Json(failure.at_step) : Json(nullptr)},
          {"text", or_null(failure.text)}};
}

Json evaluation_json(const roles::EvaluationStats& evaluation) {
  return {{"seconds", to_seconds(evaluation.at)},
          {"samples", evaluation.samples},
          {"version", evaluation.version},
          {"accuracy", evaluation.accuracy},
          {"loss", evaluation.loss}};
}

template <typename Items, typename Make>
Json list(const Items& items, Make make) {
  Json out = Json::array();
  for (const auto& item : items) out.push_back(make(item));
  return out;
}

}  // namespace

Json summary_json(const Config& config, const roles::RunStats& stats, const RunOutcome& outcome) {
  const std::optional<double> seconds = seconds_of(stats);
  const auto wait_share = [&](const roles::WorkerStats& worker) -> Json {
    if (!seconds || *seconds <= 0) return nullptr;
    return to_seconds(worker.waited) / *seconds;
  };
  const auto steps = [](const roles::WorkerStats& worker) -> Json { return worker.steps; };
  std::optional<double> accuracy;
  if (!stats.evaluations.empty()) accuracy = stats.evaluations.back().accuracy;
  std::optional<double> to_target;
  if (stats.target_reached) to_target = to_seconds(*stats.target_reached);

  Json out;
  out["run"] = outcome.run;
  out["exit"] = exit_name(outcome.exit_code);
  out["exit_code"] = outcome.exit_code;
  out["error"] = outcome.error ? error_json(*outcome.error)["error"] : Json(nullptr);
  out["policy"] = config.sync.policy;
  out["code"] = config.code.scheme;
  const bool own = !config.model.program.empty();
  out["model"] = own ? config.model.program : config.model.name;
  out["data"] = own ? Json(nullptr) : Json(config.data.name);
  out["seed"] = config.run.seed;
  out["workers"] = config.cluster.workers;
  out["servers"] = config.cluster.servers;
  out["seconds"] = or_null(seconds);
  out["setup_seconds"] = or_null(outcome.setup_seconds);
  out["samples"] = stats.samples;
  out["samples_budget"] = or_null(config.train.samples);
  out["target_accuracy"] = or_null(config.train.target_accuracy);
  out["seconds_to_target"] = or_null(to_target);
  out["test_accuracy"] = or_null(accuracy);
  out["train_loss"] = stats.applied > 0 ? Json(stats.train_loss) : Json(nullptr);
  out["steps"] = list(stats.workers, steps);
  out["wait_share"] = list(stats.workers, wait_share);
  out["staleness"] = staleness_json(stats);
  out["pushes"] = {
      {"applied", stats.applied}, {"dropped", stats.dropped}, {"repeated", stats.repeated}};
  out["bytes"] = {{"pushed", stats.pushed_bytes}, {"pulled", stats.pulled_bytes}};
  out["versions"] = stats.version;
  out["barriers"] = stats.barriers;
  out["clock_gap_max"] = stats.clock_gap_max;
  out["leases_lost"] = stats.leases_lost;
  out["failures"] = list(stats.failures, failure_json);
  out["param_sha256"] = or_null(stats.param_sha256);
  out["accuracy"] = list(stats.evaluations, evaluation_json);
  out["staleness_histogram"] = histogram_json(stats);
  return out;
}

std::string summary_text(const Json& summary) {
  return summary.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

Result<Json> read_summary(const RunFolder& run) {
  const auto text = read_file(run.summary());
  if (!text) {
    Error error = text.error();
    if (error.code == Code::NotFound) {
      error.what = cat("run ", run.name(), " has no summary");
      error.fix = "it goes on, or was killed; its logs are in its folder";
    }
    return fail(std::move(error));
  }
  Json summary = Json::parse(*text, nullptr, false);
  if (!summary.is_object() || !summary.contains("run") || !summary.contains("policy")) {
    return fail(Code::Corruption, "this is no summary of a run", "was the file cut short?",
                run.summary().string());
  }
  return summary;
}

Json config_json(const Config& config) {
  Json out;
  for (const KeyDoc& key : config_keys(config)) {
    Json* at = &out;
    for (const std::string_view part : split(key.key, '.')) at = &(*at)[std::string(part)];
    *at = key.value.empty() ? Json(nullptr) : Json::parse(key.value, nullptr, false);
  }
  return out;
}

int exit_code(const Error& error) {
  switch (error.code) {
    case Code::InvalidArgument:
      return 2;
    case Code::NotFound:
    case Code::Corruption:
      return 3;
    case Code::Unavailable:
    case Code::DeadlineExceeded:
    case Code::StaleGeneration:
      return 4;
    case Code::Refused:
      return 5;
    case Code::Cancelled:
      return 130;
  }
  return 1;
}

std::string exit_name(int exit_code) {
  switch (exit_code) {
    case 0:
      return "ok";
    case 2:
      return "usage";
    case 3:
      return "data";
    case 4:
      return "process";
    case 5:
      return "machine";
    case 130:
      return "interrupted";
    case 143:
      return "terminated";
    default:
      return "bug";
  }
}

Json error_json(const Error& error) {
  return {{"error",
           {{"code", exit_code(error)},
            {"where", or_null(error.where)},
            {"what", error.what},
            {"fix", or_null(error.fix)}}}};
}

}  // namespace paceline::node
