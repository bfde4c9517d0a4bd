#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "paceline/base/hash.h"
#include "paceline/base/text.h"
#include "paceline/roles/coordinator.h"

// The end of a run, and what is said of it meanwhile.
namespace paceline::roles {
namespace {

constexpr Step kFinalStep = 1;  // of the coordinator's own, only pull
constexpr Duration kRepeat = std::chrono::seconds(1);

}  // namespace

// The last version goes to the evaluator, and to us for its hash.
void Coordinator::begin_finish(const std::string& why) {
  state_ = State::Finishing;
  stats_.phase = "finishing";
  finishing_since_ = now_;
  finish_why_ = why;
  record_metrics();
  wire::Decide decide;
  decide.recipients.push_back({kCoordinator, 0, kFinalStep});
  if (evaluator_in_) {
    const bool asked = !evaluations_.empty() && evaluations_.back().stats.version == stats_.version;
    final_evaluation_ = asked ? evaluations_.back().number : ask_evaluation(decide);
  }
  issue(std::move(decide));
  log(Level::Info, cat("training ends: ", why));
}

void Coordinator::take(NodeId from, const wire::Parameters& parameters, const Payload& payload) {
  ServerState* server = server_of(from);
  if (server == nullptr || state_ != State::Finishing) return;
  if (parameters.step != kFinalStep || parameters.version != stats_.version || !payload) return;
  server->final_shard = payload;
  finish_if_done();
}

void Coordinator::watch_the_finish() {
  for (std::uint32_t s = 0; s < servers_.size(); ++s) {
    if (servers_[s].final_shard || now_ - servers_[s].sent < kRepeat) continue;
    servers_[s].sent = now_;
    send(server_node(s), wire::Pull{0, kFinalStep});
  }
  finish_if_done();
}

void Coordinator::finish_if_done() {
  if (state_ != State::Finishing) return;
  for (const ServerState& server : servers_) {
    if (!server.final_shard) return;
  }
  // In a short run the evaluator may still be starting.
  const bool to_come = options_.evaluator && !evaluator_gone_ && final_evaluation_ == 0;
  const bool measured = !to_come && (evaluations_.empty() || !evaluator_in_);
  const Duration deadline = to_come ? std::min(options_.start_deadline, options_.finish_deadline)
                                    : options_.finish_deadline;
  const bool late = now_ - finishing_since_ > deadline;
  if (!measured && !late) return;
  if (!measured) log(Level::Warning, "the last evaluation did not come; test_accuracy is older");
  Sha256 hash;
  Final final;
  for (ServerState& server : servers_) {
    hash.update(server.final_shard->bytes());
    final.parameters.push_back(std::exchange(server.final_shard, nullptr));
  }
  stats_.param_sha256 = hash.hex();
  out_.emplace_back(std::move(final));
  end(0, finish_why_);
}

void Coordinator::end(int exit_code, const std::string& why) {
  if (state_ == State::Done) return;
  if (state_ == State::Training) record_metrics();
  state_ = State::Done;
  stats_.phase = "done";
  events_.clear();
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    if (workers_[w].up) send(worker_node({w}), wire::Finish{why});
  }
  if (evaluator_up_) send(kEvaluator, wire::Finish{why});
  for (std::uint32_t s = 0; s < servers_.size(); ++s) {
    if (servers_[s].up) send(server_node(s), wire::Finish{why});
  }
  log(exit_code == 0 ? Level::Info : Level::Error, cat("the run ends: ", why));
  out_.emplace_back(Stop{exit_code, why});
}

// ---- metrics.jsonl ----

void Coordinator::record_metrics() {
  recorded_ = now_;
  const double seconds = to_seconds(since_start());
  nlohmann::ordered_json line;
  line["seconds"] = seconds;
  line["version"] = stats_.version;
  line["samples"] = stats_.samples;
  line["lr"] = stats_.lr;
  line["train_loss"] = stats_.train_loss;
  line["steps"] = nlohmann::ordered_json::array();
  line["wait_share"] = nlohmann::ordered_json::array();
  for (const WorkerStats& worker : stats_.workers) {
    line["steps"].push_back(worker.steps);
    line["wait_share"].push_back(seconds > 0 ? to_seconds(worker.waited) / seconds : 0);
  }
  out_.emplace_back(Record{Record::File::Metrics, line.dump()});
}

void Coordinator::record_evaluation(const EvaluationStats& evaluation) {
  nlohmann::ordered_json line;
  line["seconds"] = to_seconds(evaluation.at);
  line["version"] = evaluation.version;
  line["samples"] = evaluation.samples;
  line["test_accuracy"] = evaluation.accuracy;
  line["test_loss"] = evaluation.loss;
  out_.emplace_back(Record{Record::File::Metrics, line.dump()});
}

}  // namespace paceline::roles
