// Clusters from what was recorded: a run's decisions, a matrix of step ends.

#include <algorithm>
#include <map>
#include <optional>

#include "paceline/base/text.h"
#include "paceline/roles/decision_json.h"
#include "paceline/sim/cluster_spec.h"
#include "paceline/sync/end_times.h"

namespace paceline::sim {
namespace {

std::string name_of(const std::string& file) {
  // A run is known by its folder.
  const std::string_view folder = folder_of(file);
  const bool is_run = file.ends_with("/decisions.jsonl") && !folder.empty();
  return std::string(is_run ? folder.substr(folder.rfind('/') + 1) : stem_of(file));
}

// What one worker did in a run.
struct Recorded {
  std::vector<Duration> steps;
  std::optional<Time> released;  // and not pushed yet
  std::vector<PresenceSpec> presence;
};

class Recording {
 public:
  Status add(const roles::DecisionLine& line);
  Result<ClusterSpec> cluster(const std::string& where) &&;

 private:
  double since_start(Time at) const {
    return start_ ? std::max(0.0, to_seconds(at - *start_)) : 0.0;
  }

  std::map<std::uint32_t, Recorded> workers_;
  std::optional<Time> start_;  // of the first release
  Time last_begun_{};          // of the steps that were pushed
  Time last_{};
};

Status Recording::add(const roles::DecisionLine& line) {
  const sync::Event& event = line.event;
  if (event.now < last_) return fail(Code::Corruption, "time goes back here");
  last_ = event.now;
  if (const auto* joined = std::get_if<sync::Joined>(&event.what)) {
    workers_[joined->worker.value].presence.push_back({.joins = since_start(event.now)});
  } else if (const auto* left = std::get_if<sync::Left>(&event.what)) {
    Recorded& worker = workers_[left->worker.value];
    worker.released.reset();
    if (!worker.presence.empty()) worker.presence.back().leaves = since_start(event.now);
  } else if (const auto* pushed = std::get_if<sync::Pushed>(&event.what)) {
    Recorded& worker = workers_[pushed->push.worker.value];
    if (worker.released && event.now > *worker.released) {
      last_begun_ = std::max(last_begun_, *worker.released);
      worker.steps.push_back(std::min(event.now - *worker.released, kLongestStep));
    }
    worker.released.reset();
  }
  for (const WorkerId released : line.decision.release) {
    if (!start_) start_ = event.now;
    workers_[released.value].released = event.now;
  }
  return {};
}

// In order, none without length. Who left when nobody began a step any more had no more data: it
// stayed to the end.
std::vector<PresenceSpec> tidy(const std::vector<PresenceSpec>& recorded, double end) {
  std::vector<PresenceSpec> presence;
  for (PresenceSpec stay : recorded) {
    if (stay.leaves && *stay.leaves >= end) stay.leaves.reset();
    if (stay.leaves && *stay.leaves <= stay.joins) continue;
    if (!presence.empty() && !presence.back().leaves) continue;
    if (!presence.empty() && stay.joins <= *presence.back().leaves) {
      presence.back().leaves = stay.leaves;
      continue;
    }
    presence.push_back(stay);
  }
  if (presence.empty()) presence.emplace_back();
  return presence;
}

Result<ClusterSpec> Recording::cluster(const std::string& where) && {
  ClusterSpec cluster{.name = name_of(where), .doc = "Recorded."};
  for (auto& [id, worker] : workers_) {
    if (worker.steps.empty()) continue;
    cluster.workers.push_back({.speed = {.step = trace_of(std::move(worker.steps))},
                               .presence = tidy(worker.presence, since_start(last_begun_))});
  }
  if (!cluster.workers.empty()) return cluster;
  return fail(Code::InvalidArgument, "no worker pushes in it",
              "give a run in which each worker made a step", where);
}

}  // namespace

Result<ClusterSpec> parse_end_times(std::string_view text, const std::string& where) {
  const auto matrix = sync::parse_end_times(text, where);
  if (!matrix) return fail(matrix.error());
  ClusterSpec cluster{.name = name_of(where), .doc = "A matrix of step ends."};
  const std::vector<std::span<const double>> rows = matrix->rows();
  for (std::size_t w = 0; w < rows.size(); ++w) {
    const auto wrong = [&](std::string what, std::string fix) {
      return fail(Code::InvalidArgument, std::move(what), std::move(fix), cat(where, ":", w + 1));
    };
    if (rows[w].size() != rows.front().size()) {
      return wrong(
          cat("this row has ", rows[w].size(), " ends, the first has ", rows.front().size()),
          "give as many to each worker");
    }
    std::vector<Duration> steps;
    double last = 0;
    for (std::size_t i = 0; i < rows[w].size(); ++i) {
      const double step = rows[w][i] - last;
      if (!(step >= 1e-9 && step <= to_seconds(kLongestStep))) {
        return wrong(cat("value ", i + 1, " is ", rows[w][i], ": a step of ", step, " s"),
                     "a step takes 1e-9 to 1e7 seconds; the first begins at 0");
      }
      steps.push_back(from_seconds(step));
      last = rows[w][i];
    }
    cluster.workers.push_back({.speed = {.step = trace_of(std::move(steps))}});
  }
  if (cluster.workers.size() <= kMostWorkers) return cluster;
  return fail(Code::InvalidArgument, cat(cluster.workers.size(), " rows are too many workers"),
              cat("at most ", kMostWorkers), where);
}

Result<ClusterSpec> cluster_of_run(std::istream& decisions, const std::string& where) {
  Recording recording;
  std::string text;
  for (std::size_t number = 1; std::getline(decisions, text); ++number) {
    if (trim(text).empty()) continue;
    const auto line = roles::parse_decision(text);
    Status added = line ? recording.add(*line) : Status(fail(line.error()));
    if (added) continue;
    Error error = std::move(added.error());
    error.where = cat(where, ":", number);
    return fail(std::move(error));
  }
  return std::move(recording).cluster(where);
}

}  // namespace paceline::sim
