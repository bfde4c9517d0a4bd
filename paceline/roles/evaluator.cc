#include "paceline/roles/evaluator.h"

#include <algorithm>
#include <utility>

#include "paceline/base/text.h"

namespace paceline::roles {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(500);

}  // namespace

Evaluator::Evaluator(EvaluatorOptions options) : options_(std::move(options)) {}

Outputs Evaluator::step(Time now, const Input& input) {
  Outputs outputs;
  step(now, input, outputs);
  return outputs;
}

void Evaluator::step(Time now, const Input& input, Outputs& outputs) {
  out_.swap(outputs);
  now_ = now;
  if (!stopped_) std::visit([this](const auto& what) { on(what); }, input);
  out_.swap(outputs);
}

void Evaluator::send(NodeId to, wire::Message message, Payload payload) {
  out_.emplace_back(Send{to, std::move(message), std::move(payload)});
}

void Evaluator::stop(int exit_code, const std::string& why) {
  if (exit_code != 0 && coordinator_up_) {
    send(kCoordinator, wire::Failed{static_cast<std::uint32_t>(exit_code), why});
  }
  out_.emplace_back(Stop{exit_code, why});
  stopped_ = true;
}

void Evaluator::on(const Started&) {
  coordinator_heard_ = now_;
  ticked_ = now_;
  out_.emplace_back(Connect{kCoordinator, options_.coordinator});
  out_.emplace_back(SetTimer{TimerId::Tick, now_ + kTick});
}

void Evaluator::join() {
  asked_ = now_;
  send(kCoordinator, wire::Join{options_.life, attempt_, options_.parameter_count, 0});
}

void Evaluator::on(const PeerUp& up) {
  if (up.node.role == Role::Server && up.node.index < shards_.size()) {
    for (const Task& task : tasks_) {  // what was sent before the link was there is lost
      if (!task.parameters[up.node.index]) send(up.node, wire::Pull{0, task.what.number});
    }
  }
  if (up.node != kCoordinator) return;
  coordinator_up_ = true;
  coordinator_heard_ = now_;
  ++attempt_;
  join();
}

void Evaluator::on(const PeerDown& down) {
  if (down.node == kCoordinator) coordinator_up_ = false;
}

void Evaluator::take(NodeId from, const wire::Welcome& welcome) {
  if (from != kCoordinator || !shards_.empty()) return;
  shards_ = welcome.shards;
  std::ranges::sort(shards_, {}, &wire::Shard::server);
  for (std::uint32_t s = 0; s < shards_.size(); ++s) {
    if (shards_[s].server != s) return stop(1, "the coordinator's shards are not in order");
    out_.emplace_back(Connect{server_node(s), shards_[s].address});
  }
}

void Evaluator::take(NodeId from, const wire::Expelled& expelled) {
  if (from == kCoordinator && expelled.incarnation == 0) stop(4, expelled.why);
}

void Evaluator::take(NodeId from, const wire::Evaluate& evaluate) {
  if (from != kCoordinator || shards_.empty()) return;
  if (answer_ && answer_->number == evaluate.number) return send(kCoordinator, *answer_);
  if (answer_ && answer_->number > evaluate.number) return;
  if (measuring_ && measuring_->number == evaluate.number) return;
  const bool known = std::ranges::any_of(
      tasks_, [&](const Task& task) { return task.what.number == evaluate.number; });
  if (known || tasks_.size() >= kWaitingMax + 2) return;
  Task task{evaluate, std::vector<Payload>(shards_.size())};
  const auto early =
      std::ranges::find(early_, evaluate.number, [](const auto& e) { return e.first; });
  if (early != early_.end()) {
    task.parameters = std::move(early->second);
    early_.erase(early);
  }
  const auto behind = std::ranges::find_if(
      tasks_, [&](const Task& other) { return other.what.number > evaluate.number; });
  tasks_.insert(behind, std::move(task));
  measure_next();
}

void Evaluator::take(NodeId from, const wire::Parameters& parameters, const Payload& payload) {
  if (from.role != Role::Server || from.index >= shards_.size()) return;
  if (size_of(payload) != shards_[from.index].count * sizeof(float)) return;
  for (Task& task : tasks_) {
    if (task.what.number != parameters.step) continue;
    task.parameters[from.index] = payload;
    return measure_next();
  }
  if (answer_ && answer_->number >= parameters.step) return;
  if (measuring_ && measuring_->number >= parameters.step) return;
  auto early = std::ranges::find(early_, parameters.step, [](const auto& e) { return e.first; });
  if (early == early_.end()) {
    if (early_.size() >= kWaitingMax + 2) early_.erase(early_.begin());
    early = early_.insert(early_.end(), {parameters.step, std::vector<Payload>(shards_.size())});
  }
  early->second[from.index] = payload;
}

void Evaluator::measure_next() {
  if (measuring_) return;
  const auto gathered = std::ranges::find_if(tasks_, [](const Task& task) {
    return std::ranges::all_of(task.parameters, [](const Payload& p) { return p != nullptr; });
  });
  if (gathered == tasks_.end()) return;
  // A link keeps its order: what an earlier task still misses is lost, and was never to be had.
  tasks_.erase(tasks_.begin(), gathered);
  Task& task = tasks_.front();
  measuring_ = task.what;
  out_.emplace_back(Measure{task.what.number, std::move(task.parameters)});
  tasks_.pop_front();
}

void Evaluator::on(const Measured& measured) {
  if (!measuring_ || measuring_->number != measured.number) return;
  if (!measured.error.empty()) return stop(4, cat("no evaluation: ", measured.error));
  answer_ = wire::Evaluated{measured.number, measuring_->version, measured.accuracy, measured.loss};
  measuring_.reset();
  send(kCoordinator, *answer_);
  measure_next();
}

void Evaluator::on(const TimerFired& fired) {
  if (fired.id != TimerId::Tick) return;
  out_.emplace_back(SetTimer{TimerId::Tick, now_ + kTick});
  if (now_ - std::exchange(ticked_, now_) > kFrozen) coordinator_heard_ = now_;
  if (now_ - coordinator_heard_ > options_.give_up) {
    return stop(4, cat("the coordinator at ", options_.coordinator, " has said nothing for ",
                       fixed(to_seconds(now_ - coordinator_heard_), 0), " s; is it running?"));
  }
  if (now_ - asked_ < options_.retry || !coordinator_up_) return;
  asked_ = now_;
  if (shards_.empty()) return join();
  for (const Task& task : tasks_) {
    for (std::uint32_t s = 0; s < shards_.size(); ++s) {
      if (!task.parameters[s]) send(server_node(s), wire::Pull{0, task.what.number});
    }
  }
}

void Evaluator::take(NodeId from, const wire::Ping& ping) { send(from, wire::Pong{ping.number}); }

void Evaluator::take(NodeId from, const wire::Finish& finish) {
  if (from == kCoordinator) stop(0, finish.why);
}

void Evaluator::on(const StopRequested& request) { stop(request.exit_code, request.why); }

void Evaluator::on(const Received& received) {
  if (received.from == kCoordinator) coordinator_heard_ = now_;
  std::visit(
      [&](const auto& message) {
        using M = std::decay_t<decltype(message)>;
        if constexpr (std::is_same_v<M, wire::Parameters>) {
          take(received.from, message, received.payload);
        } else if constexpr (requires { take(received.from, message); }) {
          take(received.from, message);
        }
      },
      received.message);
}

}  // namespace paceline::roles
