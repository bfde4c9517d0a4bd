#include "paceline/roles/worker.h"

#include <algorithm>
#include <utility>

#include "paceline/base/text.h"

namespace paceline::roles {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(500);

}  // namespace

Worker::Worker(WorkerOptions options, BufferPool& pool)
    : options_(std::move(options)), pool_(pool), retry_wait_(options_.retry) {}

Outputs Worker::step(Time now, const Input& input) {
  Outputs outputs;
  step(now, input, outputs);
  return outputs;
}

void Worker::step(Time now, const Input& input, Outputs& outputs) {
  out_.swap(outputs);
  now_ = now;
  if (!stopped_) std::visit([this](const auto& what) { on(what); }, input);
  out_.swap(outputs);
}

void Worker::send(NodeId to, wire::Message message, Payload payload) {
  out_.emplace_back(Send{to, std::move(message), std::move(payload)});
}

void Worker::fail(int exit_code, const std::string& why) {
  if (coordinator_up_) {
    send(kCoordinator, wire::Failed{static_cast<std::uint32_t>(exit_code), why});
  }
  out_.emplace_back(Stop{exit_code, why});
  stopped_ = true;
}

Worker::Server* Worker::server_of(NodeId node) {
  if (node.role != Role::Server || node.index >= servers_.size()) return nullptr;
  return &servers_[node.index];
}

// ---- into the run ----

void Worker::on(const Started&) {
  coordinator_heard_ = now_;
  ticked_ = now_;
  out_.emplace_back(Connect{kCoordinator, options_.coordinator});
  out_.emplace_back(SetTimer{TimerId::Tick, now_ + kTick});
}

void Worker::join() {
  abandon();
  ++attempt_;
  progressed();
  send(kCoordinator,
       wire::Join{options_.life, attempt_, options_.parameter_count, options_.dataset_size});
}

// Forgets this life: nothing of it may reach the next one.
void Worker::abandon() {
  incarnation_ = 0;
  ready_ = false;
  next_step_ = 0;
  task_.reset();
  done_.reset();
  computing_is_ours_ = false;
  unanswered_.reset();
  for (Server& server : servers_) {
    server.initial = nullptr;
    server.stashed = nullptr;
  }
}

void Worker::take(NodeId from, const wire::Welcome& welcome) {
  if (from != kCoordinator || welcome.attempt != attempt_) return;
  if (incarnation_ == 0) {
    incarnation_ = welcome.incarnation;
    progressed();
    std::vector<Server> servers(welcome.shards.size());
    for (const wire::Shard& shard : welcome.shards) {
      if (shard.server >= servers.size())
        return fail(1, "the coordinator's shards are not in order");
      Server& server = servers[shard.server];
      if (shard.server < servers_.size() && servers_[shard.server].address == shard.address) {
        server.up = servers_[shard.server].up;
      }
      server.address = shard.address;
      server.count = shard.count;
      server.since = now_;
    }
    servers_ = std::move(servers);
    for (std::uint32_t s = 0; s < servers_.size(); ++s) {
      if (!servers_[s].up) out_.emplace_back(Connect{server_node(s), servers_[s].address});
    }
  }
  if (incarnation_ == welcome.incarnation && welcome.initialise) initialise();
  ready_if_prepared();
}

// Whoever is asked does it, even if it is ready: the one that was asked before may have died.
void Worker::initialise() {
  const bool sending = std::ranges::any_of(servers_, [](const Server& s) { return !!s.initial; });
  if (sending || std::ranges::all_of(servers_, &Server::initialised)) return;
  MakeInitial initial;
  for (Server& server : servers_) {
    const MutablePayload payload = pool_.take(server.count * sizeof(float));
    initial.parameters.push_back(payload);
    server.initial = payload;
  }
  out_.emplace_back(std::move(initial));
  for (std::uint32_t s = 0; s < servers_.size(); ++s) {
    if (servers_[s].up) send(server_node(s), wire::Initialise{}, servers_[s].initial);
  }
}

void Worker::take(NodeId from, const wire::Initialised&) {
  if (Server* server = server_of(from)) {
    server->initial = nullptr;
    server->initialised = true;
    progressed();
    ready_if_prepared();
  }
}

void Worker::ready_if_prepared() {
  if (incarnation_ == 0 || ready_) return;
  for (const Server& server : servers_) {
    if (!server.up || server.initial) return;
  }
  ready_ = true;
  progressed();
  send(kCoordinator, wire::Ready{incarnation_});
}

void Worker::take(NodeId from, const wire::Expelled& expelled) {
  if (from != kCoordinator) return;
  if (expelled.incarnation == 0) return fail(4, expelled.why);
  if (expelled.incarnation != incarnation_) return;
  out_.emplace_back(Log{Level::Warning, cat("out of the run: ", expelled.why, "; joining again")});
  join();
}

void Worker::on(const PeerUp& up) {
  if (up.node == kCoordinator) {
    coordinator_up_ = true;
    coordinator_heard_ = now_;
    return join();
  }
  Server* server = server_of(up.node);
  if (server == nullptr) return;
  server->up = true;
  server->since = now_;
  if (incarnation_ == 0) return;
  ask_again_from(up.node.index);
  ready_if_prepared();
}

void Worker::on(const PeerDown& down) {
  if (down.node == kCoordinator) {
    coordinator_up_ = false;
    out_.emplace_back(Log{Level::Warning, cat("lost the coordinator: ", down.why)});
    return abandon();  // the coordinator counts us out as soon as it notices, and it does at once
  }
  if (Server* server = server_of(down.node); server != nullptr && server->up) {
    server->up = false;
    server->initialised = false;  // another process may take its place
    server->since = now_;
    out_.emplace_back(Log{Level::Warning, cat("lost ", to_string(down.node), ": ", down.why)});
  }
}

// ---- the life of a gradient ----

void Worker::take(NodeId from, const wire::Release& release) {
  if (from != kCoordinator || release.incarnation != incarnation_) return;
  if (release.step != next_step_ || task_ || done_ || (computing_ && computing_is_ours_)) return;
  progressed();
  unanswered_.reset();  // released: all servers hold what we pushed, or it was dropped
  task_ = Task{release, std::vector<Payload>(servers_.size())};
  for (std::uint32_t s = 0; s < servers_.size(); ++s) {
    Server& server = servers_[s];
    if (server.stashed) {
      take(server_node(s), server.stashed_head, std::exchange(server.stashed, nullptr));
    }
  }
}

void Worker::take(NodeId from, const wire::Parameters& parameters, const Payload& payload) {
  Server* server = server_of(from);
  if (server == nullptr || parameters.incarnation != incarnation_) return;
  if (parameters.step != next_step_) return;
  if (size_of(payload) != server->count * sizeof(float)) return;
  if (!task_) {  // a server sends as soon as it has them: often before the release is here
    if (computing_ && computing_is_ours_) return;
    server->stashed = payload;
    server->stashed_head = parameters;
    return;
  }
  Payload& slot = task_->parameters[from.index];
  if (slot) return;
  slot = payload;
  pulled_bytes_ += size_of(payload);
  progressed();
  start_if_gathered();
}

void Worker::start_if_gathered() {
  if (!task_ || computing_) return;
  if (std::ranges::any_of(task_->parameters, [](const Payload& p) { return !p; })) return;
  gradient_.clear();
  for (const Server& server : servers_) {
    gradient_.push_back(pool_.take(server.count * sizeof(float)));
  }
  computing_ = task_->release.step;
  computing_is_ours_ = true;
  started_ = now_;
  out_.emplace_back(Compute{task_->release.step, std::move(task_->release.samples),
                            std::move(task_->parameters), gradient_});
  task_.reset();
}

void Worker::on(const GradientComputed& computed) {
  if (!computing_ || *computing_ != computed.step) return;
  computing_.reset();
  if (!computed.error.empty()) return fail(4, cat("no gradient: ", computed.error));
  if (!std::exchange(computing_is_ours_, false)) return start_if_gathered();
  done_ = computed;
  const Time floor = started_ + options_.step_floor;
  if (now_ < floor) {
    out_.emplace_back(SetTimer{TimerId::StepFloor, floor});
  } else {
    push_gradient();
  }
}

void Worker::push_gradient() {
  const GradientComputed computed = *std::exchange(done_, std::nullopt);
  unanswered_ =
      Unanswered{{options_.id, incarnation_, computed.step}, {gradient_.begin(), gradient_.end()}};
  gradient_.clear();
  ++next_step_;
  progressed();
  for (std::size_t s = 0; s < servers_.size(); ++s) push_to(s);
  send(kCoordinator,
       wire::Progress{.incarnation = incarnation_,
                      .step = computed.step,
                      .loss = computed.loss,
                      .compute_nanoseconds = static_cast<std::uint64_t>(computed.took.count()),
                      .pushed_bytes = std::exchange(pushed_bytes_, 0),
                      .pulled_bytes = std::exchange(pulled_bytes_, 0)});
}

void Worker::push_to(std::size_t server) {
  const Payload& payload = unanswered_->payloads[server];
  if (!servers_[server].up) return;  // asked for when the link is back
  pushed_bytes_ += size_of(payload);
  send(server_node(static_cast<std::uint32_t>(server)), wire::Push{unanswered_->push}, payload);
}

void Worker::take(NodeId from, const wire::PushAck& ack) {
  if (server_of(from) == nullptr || !unanswered_ || unanswered_->push != ack.push) return;
  unanswered_->payloads[from.index] = nullptr;
  progressed();
}

void Worker::take(NodeId from, const wire::PushMissing& missing) {
  if (server_of(from) == nullptr || !unanswered_ || unanswered_->push != missing.push) return;
  if (unanswered_->payloads[from.index]) push_to(from.index);
}

void Worker::take(NodeId from, const wire::PushRefused& refused) {
  if (server_of(from) == nullptr || !unanswered_ || unanswered_->push != refused.push) return;
  fail(1, cat(to_string(from), " refuses our gradient: ", refused.why));
}

void Worker::take(NodeId from, const wire::Dropped& dropped) {
  if (from != kCoordinator || dropped.push.incarnation != incarnation_) return;
  out_.emplace_back(Log{Level::Info, cat("not applied: the push of ", to_string(dropped.push))});
  if (unanswered_ && unanswered_->push == dropped.push) unanswered_.reset();
}

// ---- what is still unanswered ----

void Worker::on(const TimerFired& fired) {
  if (fired.id == TimerId::StepFloor) {
    if (done_ && now_ >= started_ + options_.step_floor) push_gradient();
    return;
  }
  out_.emplace_back(SetTimer{TimerId::Tick, now_ + kTick});
  if (now_ - std::exchange(ticked_, now_) > kFrozen) {
    coordinator_heard_ = now_;
    for (Server& server : servers_) server.since = now_;
  }
  if (now_ - coordinator_heard_ > options_.give_up) {
    return fail(4, cat("the coordinator at ", options_.coordinator, " has said nothing for ",
                       fixed(to_seconds(now_ - coordinator_heard_), 0),
                       " s; is it running, and is there a way to it from here?"));
  }
  for (std::uint32_t s = 0; s < servers_.size(); ++s) {
    const Server& server = servers_[s];
    if (incarnation_ == 0 || server.up || now_ - server.since <= options_.give_up) continue;
    return fail(4, cat("cannot reach ", to_string(server_node(s)), " at ", server.address, " for ",
                       fixed(to_seconds(now_ - server.since), 0),
                       " s; is it running, and is there a way to it from here?"));
  }
  if (now_ - asked_ < retry_wait_) return;
  asked_ = now_;
  retry_wait_ = std::min(2 * retry_wait_, options_.retry_max);
  ask_again();
}

void Worker::ask_again() {
  if (coordinator_up_ && incarnation_ == 0) {
    send(kCoordinator,
         wire::Join{options_.life, attempt_, options_.parameter_count, options_.dataset_size});
    return;
  }
  if (incarnation_ == 0) return;
  for (std::size_t s = 0; s < servers_.size(); ++s) ask_again_from(s);
  const bool idle = ready_ && !task_ && !done_ && !(computing_ && computing_is_ours_);
  if (idle) send(kCoordinator, wire::Ask{incarnation_, next_step_});
}

void Worker::ask_again_from(std::size_t index) {
  const Server& server = servers_[index];
  if (!server.up) return;
  const NodeId node = server_node(static_cast<std::uint32_t>(index));
  if (server.initial) send(node, wire::Initialise{}, server.initial);
  if (unanswered_ && unanswered_->payloads[index]) send(node, wire::PushQuery{unanswered_->push});
  if (task_ && !task_->parameters[index]) {
    send(node, wire::Pull{incarnation_, task_->release.step});
  }
}

// ---- the end ----

void Worker::take(NodeId from, const wire::Ping& ping) { send(from, wire::Pong{ping.number}); }

void Worker::take(NodeId from, const wire::Finish& finish) {
  if (from != kCoordinator) return;
  out_.emplace_back(Stop{0, finish.why});
  stopped_ = true;
}

void Worker::on(const StopRequested& stop) {
  if (coordinator_up_) send(kCoordinator, wire::Goodbye{});
  out_.emplace_back(Stop{stop.exit_code, stop.why});
  stopped_ = true;
}

void Worker::on(const Received& received) {
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
