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
  for (Gradient* gradient : held_in_order()) report(*gradient);
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
  rule_ = {.name = configure.optimizer,
           .momentum = configure.momentum,
           .nesterov = configure.nesterov,
           .weight_decay = configure.weight_decay,
           .beta1 = configure.beta1,
           .beta2 = configure.beta2,
           .eps = configure.eps};
  is_steered_ = configure.closed_loop && rule_.name == "sgd" && rule_.momentum > 0;
  auto optimizer = optim::make_optimizer(rule_, configure.count);
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
    if (is_steered_) loop_.emplace(rule_.momentum, rule_.nesterov, parameters_);
  }
  send(from, wire::Initialised{});
  send(kCoordinator, wire::Initialised{});
}

// ---- pushes ----

Server::Gradient* Server::find(Worker& worker, const PushId& push) {
  const auto found = std::ranges::find(worker.held, push, &Gradient::push);
  return found == worker.held.end() ? nullptr : &*found;
}

bool Server::is_decided(const Worker& worker, const PushId& push) {
  return worker.last_decided && push <= *worker.last_decided &&
         std::ranges::find(worker.held, push, &Gradient::push) == worker.held.end();
}

// It is decided: not held any more, and never again.
void Server::forget(const PushId& push) {
  Worker& worker = workers_[push.worker];
  held_count_ -= std::erase_if(worker.held, [&](const Gradient& g) { return g.push == push; });
  worker.last_decided = std::max(worker.last_decided.value_or(push), push);
}

std::vector<Server::Gradient*> Server::held_in_order() {
  std::vector<Gradient*> held;
  held.reserve(held_count_);
  workers_.for_each([&](Worker& worker) {
    for (Gradient& gradient : worker.held) held.push_back(&gradient);
  });
  std::ranges::sort(held, {}, [](const Gradient* gradient) { return gradient->push; });
  return held;
}

void Server::take(NodeId from, const wire::Push& message, const Payload& payload) {
  const PushId& push = message.push;
  if (from != worker_node(push.worker)) return;
  Worker& worker = workers_[push.worker];
  if (is_decided(worker, push)) {
    ++repeated_;
    return send(from, wire::PushAck{push});
  }
  if (Gradient* held = find(worker, push)) {
    ++repeated_;
    send(from, wire::PushAck{push});
    return report(*held);
  }
  if (!initialised_ || size_of(payload) != parameters_.size() * sizeof(float)) {
    return send(from,
                wire::PushRefused{push, cat("it has ", size_of(payload), " bytes, this shard has ",
                                            parameters_.size() * sizeof(float))});
  }
  if (worker.held.size() >= kHeldPerWorker) return;  // back-pressure: it asks again
  Gradient& gradient = worker.held.emplace_back();
  ++held_count_;
  gradient.push = push;
  gradient.payload = payload;
  send(from, wire::PushAck{push});
  report(gradient);
}

void Server::report(Gradient& gradient) {
  gradient.reported = now_;
  gradient.wait =
      gradient.wait == Duration::zero() ? options_.retry : std::min(2 * gradient.wait, kReportMax);
  report_due_ = std::min(report_due_, now_ + gradient.wait);
  send(kCoordinator, wire::Held{gradient.push});
}

void Server::report_again() {
  if (now_ < report_due_) return;
  report_due_ = Time::max();
  for (Gradient* gradient : held_in_order()) {
    if (now_ - gradient->reported >= gradient->wait) report(*gradient);
    report_due_ = std::min(report_due_, gradient->reported + gradient->wait);
  }
}

void Server::take(NodeId from, const wire::PushQuery& query) {
  if (from != worker_node(query.push.worker)) return;
  const Worker* worker = workers_.find(query.push.worker);
  const bool is_held =
      worker != nullptr &&
      std::ranges::find(worker->held, query.push, &Gradient::push) != worker->held.end();
  if (is_held || (worker != nullptr && is_decided(*worker, query.push))) {
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
    for (const PushId& push : decide.drop) forget(push);
    for (const wire::Recipient& recipient : decide.recipients) {
      if (recipient.node.role == Role::Worker) {
        Worker& worker = workers_[{recipient.node.index}];
        worker.recipient = recipient;
        worker.recipient_version = version_;
      } else {
        recipients_[recipient.node] = recipient;
      }
      serve(recipient);
    }
    decided_ = decide.number;
  }
  send(kCoordinator, wire::Decided{decided_, repeated_});
}

bool Server::apply(const wire::Update& update) {
  std::vector<std::span<const float>> gradients;
  for (const PushId& push : update.pushes) {
    Worker* const worker = workers_.find(push.worker);
    const Gradient* const held = worker == nullptr ? nullptr : find(*worker, push);
    if (held == nullptr) {
      fail(1, cat("told to apply a push that is not here: ", to_string(push)));
      return false;
    }
    gradients.push_back(floats(held->payload));
  }
  if (gradients.empty()) return true;
  if (gradients.size() == 1) {
    move(gradients.front(), update);
  } else {
    mean_.resize(parameters_.size());
    optim::mean_into(mean_, gradients);
    move(mean_, update);
  }
  ++version_;
  snapshot_ = nullptr;
  for (const PushId& push : update.pushes) forget(push);
  return true;
}

void Server::move(std::span<const float> gradient, const wire::Update& update) {
  std::optional<optim::Momentum> momentum = loop_ ? loop_->momentum() : std::nullopt;
  if (const auto& told = update.momentum) {
    momentum = {told->carried, told->displaced, told->kept, told->entered};
  }
  optimizer_->step(parameters_, gradient, update.lr, momentum ? &*momentum : nullptr);
  if (!loop_) return;
  const PushId& push = update.pushes.front();
  const Worker& worker = *workers_.find(push.worker);
  const bool is_known = update.pushes.size() == 1 && worker.recipient &&
                        worker.recipient->incarnation == push.incarnation &&
                        worker.recipient->step == push.step;
  loop_->note(gradient, is_known ? std::optional(worker.recipient_version) : std::nullopt,
              update.lr, parameters_);
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
  const wire::Recipient* recipient = nullptr;
  if (from.role == Role::Worker) {
    const Worker* worker = workers_.find({from.index});
    if (worker != nullptr && worker->recipient) recipient = &*worker->recipient;
  } else if (const auto found = recipients_.find(from); found != recipients_.end()) {
    recipient = &found->second;
  }
  if (recipient == nullptr || recipient->incarnation != pull.incarnation ||
      recipient->step != pull.step) {
    return;
  }
  serve(*recipient);
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
  report_again();
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
