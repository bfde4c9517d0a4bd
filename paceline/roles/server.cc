#include "paceline/roles/server.h"

#include <algorithm>
#include <utility>

#include "paceline/base/text.h"
#include "paceline/optim/mean.h"

namespace paceline::roles {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(500);
constexpr Duration kReportMax = std::chrono::seconds(8);

}  // namespace

Server::Server(ServerOptions options, BufferPool& pool)
    : options_(std::move(options)), pool_(pool) {}

Outputs Server::step(Time now, const Input& input) {
  Outputs outputs;
  step(now, input, outputs);
  return outputs;
}

void Server::step(Time now, const Input& input, Outputs& outputs) {
  out_.swap(outputs);
  now_ = now;
  if (!stopped_) std::visit([this](const auto& what) { on(what); }, input);
  out_.swap(outputs);
}

void Server::send(NodeId to, wire::Message message, Payload payload) {
  out_.emplace_back(Send{to, std::move(message), std::move(payload)});
}

void Server::fail(int exit_code, const std::string& why) {
  if (coordinator_up_) {
    send(kCoordinator, wire::Failed{static_cast<std::uint32_t>(exit_code), why});
  }
  out_.emplace_back(Stop{exit_code, why});
  stopped_ = true;
}

void Server::on(const Started&) {
  coordinator_heard_ = now_;
  ticked_ = now_;
  out_.emplace_back(Connect{kCoordinator, options_.coordinator});
  out_.emplace_back(SetTimer{TimerId::Tick, now_ + kTick});
}

void Server::on(const PeerUp& up) {
  if (up.node != kCoordinator) return;
  coordinator_up_ = true;
  coordinator_heard_ = now_;
  send(kCoordinator, wire::Register{options_.life, options_.address});
  for (auto& [push, gradient] : held_) report(push, gradient);
}

void Server::on(const PeerDown& down) {
  if (down.node != kCoordinator) return;
  coordinator_up_ = false;
  out_.emplace_back(Log{Level::Warning, cat("lost the coordinator: ", down.why)});
}

void Server::take(NodeId from, const wire::Configure& configure) {
  if (from != kCoordinator) return;
  if (optimizer_) {
    if (initialised_) send(kCoordinator, wire::Initialised{});
    return;
  }
  auto optimizer = optim::make_optimizer({.name = configure.optimizer,
                                          .momentum = configure.momentum,
                                          .nesterov = configure.nesterov,
                                          .weight_decay = configure.weight_decay,
                                          .beta1 = configure.beta1,
                                          .beta2 = configure.beta2,
                                          .eps = configure.eps},
                                         configure.count);
  if (!optimizer) return fail(2, to_string(optimizer.error()));
  optimizer_ = std::move(*optimizer);
  parameters_.resize(configure.count);
}

void Server::take(NodeId from, const wire::Initialise&, const Payload& payload) {
  if (!optimizer_ || from.role != Role::Worker) return;  // not configured yet: it is sent again
  if (!initialised_) {
    const auto values = floats(payload);
    if (size_of(payload) != parameters_.size() * sizeof(float)) {
      out_.emplace_back(
          Log{Level::Warning, cat(to_string(from), " sent first parameters of ", size_of(payload),
                                  " bytes, not of ", parameters_.size() * sizeof(float))});
      return;
    }
    std::ranges::copy(values, parameters_.begin());
    initialised_ = true;
  }
  send(from, wire::Initialised{});
  send(kCoordinator, wire::Initialised{});
}

// ---- pushes ----

bool Server::is_decided(const PushId& push) const {
  const auto last = last_decided_.find(push.worker);
  return last != last_decided_.end() && push <= last->second && !held_.contains(push);
}

void Server::note_decided(const PushId& push) {
  const auto [last, inserted] = last_decided_.try_emplace(push.worker, push);
  if (!inserted) last->second = std::max(last->second, push);
}

std::size_t Server::held_of(WorkerId worker) const {
  const auto begin = held_.lower_bound(PushId{worker, 0, 0});
  const auto end = held_.upper_bound(PushId{worker, ~Incarnation{0}, ~Step{0}});
  return static_cast<std::size_t>(std::distance(begin, end));
}

void Server::take(NodeId from, const wire::Push& message, const Payload& payload) {
  const PushId& push = message.push;
  if (from != worker_node(push.worker)) return;
  if (is_decided(push)) {
    ++repeated_;
    return send(from, wire::PushAck{push});
  }
  if (const auto held = held_.find(push); held != held_.end()) {
    ++repeated_;
    send(from, wire::PushAck{push});
    return report(push, held->second);
  }
  if (!initialised_ || size_of(payload) != parameters_.size() * sizeof(float)) {
    return send(from,
                wire::PushRefused{push, cat("it has ", size_of(payload), " bytes, this shard has ",
                                            parameters_.size() * sizeof(float))});
  }
  if (held_of(push.worker) >= kHeldPerWorker) return;  // back-pressure: it asks again
  Gradient& gradient = held_[push];
  gradient.payload = payload;
  send(from, wire::PushAck{push});
  report(push, gradient);
}

void Server::report(const PushId& push, Gradient& gradient) {
  gradient.reported = now_;
  gradient.wait =
      gradient.wait == Duration::zero() ? options_.retry : std::min(2 * gradient.wait, kReportMax);
  send(kCoordinator, wire::Held{push});
}

void Server::take(NodeId from, const wire::PushQuery& query) {
  if (from != worker_node(query.push.worker)) return;
  if (held_.contains(query.push) || is_decided(query.push)) {
    send(from, wire::PushAck{query.push});
  } else {
    send(from, wire::PushMissing{query.push});
  }
}

// ---- decisions ----

void Server::take(NodeId from, const wire::Decide& decide) {
  if (from != kCoordinator || !initialised_ || decide.number > decided_ + 1) return;
  if (decide.number == decided_ + 1) {
    for (const wire::Update& update : decide.updates) {
      if (!apply(update)) return;
    }
    for (const PushId& push : decide.drop) {
      held_.erase(push);
      note_decided(push);
    }
    for (const wire::Recipient& recipient : decide.recipients) {
      recipients_[recipient.node] = recipient;
      serve(recipient);
    }
    decided_ = decide.number;
  }
  send(kCoordinator, wire::Decided{decided_, repeated_});
}

bool Server::apply(const wire::Update& update) {
  std::vector<std::span<const float>> gradients;
  for (const PushId& push : update.pushes) {
    const auto held = held_.find(push);
    if (held == held_.end()) {
      fail(1, cat("told to apply a push that is not here: ", to_string(push)));
      return false;
    }
    gradients.push_back(floats(held->second.payload));
  }
  if (gradients.empty()) return true;
  if (gradients.size() == 1) {
    optimizer_->step(parameters_, gradients.front(), update.lr);
  } else {
    mean_.resize(parameters_.size());
    optim::mean_into(mean_, gradients);
    optimizer_->step(parameters_, mean_, update.lr);
  }
  ++version_;
  snapshot_ = nullptr;
  for (const PushId& push : update.pushes) {
    held_.erase(push);
    note_decided(push);
  }
  return true;
}

void Server::serve(const wire::Recipient& recipient) {
  if (!snapshot_ || snapshot_version_ != version_) {
    const MutablePayload copy = pool_.take(parameters_.size() * sizeof(float));
    std::ranges::copy(parameters_, floats(copy).begin());
    snapshot_ = copy;
    snapshot_version_ = version_;
  }
  send(recipient.node, wire::Parameters{recipient.incarnation, recipient.step, version_},
       snapshot_);
}

void Server::take(NodeId from, const wire::Pull& pull) {
  const auto recipient = recipients_.find(from);
  if (recipient == recipients_.end()) return;
  if (recipient->second.incarnation != pull.incarnation || recipient->second.step != pull.step) {
    return;
  }
  serve(recipient->second);
}

// ---- liveness and the end ----

void Server::on(const TimerFired& fired) {
  if (fired.id != TimerId::Tick) return;
  out_.emplace_back(SetTimer{TimerId::Tick, now_ + kTick});
  if (now_ - std::exchange(ticked_, now_) > kFrozen) coordinator_heard_ = now_;
  if (now_ - coordinator_heard_ > options_.give_up) {
    return fail(4, cat("the coordinator at ", options_.coordinator, " has said nothing for ",
                       fixed(to_seconds(now_ - coordinator_heard_), 0),
                       " s; is it running, and is there a way to it from here?"));
  }
  if (!coordinator_up_) return;
  if (!initialised_) send(kCoordinator, wire::Register{options_.life, options_.address});
  for (auto& [push, gradient] : held_) {
    if (now_ - gradient.reported >= gradient.wait) report(push, gradient);
  }
}

void Server::take(NodeId from, const wire::Ping& ping) { send(from, wire::Pong{ping.number}); }

void Server::take(NodeId from, const wire::Finish& finish) {
  if (from != kCoordinator) return;
  out_.emplace_back(Stop{0, finish.why});
  stopped_ = true;
}

void Server::on(const StopRequested& stop) {
  out_.emplace_back(Stop{stop.exit_code, stop.why});
  stopped_ = true;
}

void Server::on(const Received& received) {
  if (received.from == kCoordinator) coordinator_heard_ = now_;
  std::visit(
      [&](const auto& message) {
        if constexpr (requires { take(received.from, message, received.payload); }) {
          take(received.from, message, received.payload);
        } else if constexpr (requires { take(received.from, message); }) {
          take(received.from, message);
        }
      },
      received.message);
}

}  // namespace paceline::roles
