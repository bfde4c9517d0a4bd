#include "paceline/roles/coordinator.h"

#include <algorithm>
#include <utility>

#include "paceline/base/check.h"
#include "paceline/base/text.h"

// Who is in the run. The life of a push is in coordinator_decide.cc, the end in
// coordinator_finish.cc.
namespace paceline::roles {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(250);
constexpr Duration kPing = std::chrono::seconds(1);
constexpr Duration kRemind = std::chrono::seconds(10);
constexpr Duration kRepeat = std::chrono::seconds(1);
constexpr std::uint64_t kDatasetMost = std::uint64_t{1} << 40U;  // its order is held in memory

Failure failure_of(NodeId node, std::string cause, std::string text) {
  return {.node = node, .cause = std::move(cause), .text = std::move(text)};
}

}  // namespace

Coordinator::Coordinator(CoordinatorOptions options, std::unique_ptr<sync::SyncPolicy> policy)
    : options_(std::move(options)),
      policy_(std::move(policy)),
      awaited_(options_.workers),
      losses_(options_.workers) {
  PACELINE_CHECK(policy_ != nullptr, "a coordinator has a policy");
  workers_.resize(options_.workers);
  servers_.resize(options_.servers);

  stats_.workers.resize(options_.workers);
  stats_.samples_budget = options_.samples;
  stats_.phase = "starting";
  next_evaluation_at_ = options_.eval_every_samples;
}

Outputs Coordinator::step(Time now, const Input& input) {
  Outputs outputs;
  step(now, input, outputs);
  return outputs;
}

void Coordinator::step(Time now, const Input& input, Outputs& outputs) {
  out_.swap(outputs);
  now_ = now;
  if (state_ != State::Done) std::visit([this](const auto& what) { on(what); }, input);
  stats_.now = now_;
  out_.swap(outputs);
}

RunStats Coordinator::stats_at(Time now) const {
  RunStats stats = stats_;
  stats.now = now;
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    if (workers_[w].waits_since) stats.workers[w].waited += now - *workers_[w].waits_since;
  }
  return stats;
}

void Coordinator::send(NodeId to, wire::Message message, Payload payload) {
  out_.emplace_back(Send{to, std::move(message), std::move(payload)});
}

void Coordinator::log(Level level, std::string text) {
  out_.emplace_back(Log{level, std::move(text)});
}

void Coordinator::set_state(WorkerState& worker, bool ready, bool died) {
  if (worker.ready) --ready_;
  if (!worker.ready && !worker.died) --awaited_;
  worker.ready = ready;
  worker.died = died;
  if (worker.ready) ++ready_;
  if (!worker.ready && !worker.died) ++awaited_;
}

Coordinator::WorkerState* Coordinator::worker_of(NodeId node) {
  if (node.role != Role::Worker || node.index >= workers_.size()) return nullptr;
  return &workers_[node.index];
}

Coordinator::ServerState* Coordinator::server_of(NodeId node) {
  if (node.role != Role::Server || node.index >= servers_.size()) return nullptr;
  return &servers_[node.index];
}

// True if `from` is a worker in that life; tells it otherwise.
bool Coordinator::is_current(NodeId from, Incarnation incarnation) {
  if (worker_of(from) == nullptr) return false;
  if (membership_.is_current(WorkerId{from.index}, incarnation)) return true;
  if (incarnation != 0) send(from, wire::Expelled{incarnation, "this life is over"});
  return false;
}

void Coordinator::refuse(NodeId node, const std::string& why) {
  log(Level::Warning, cat("refused ", to_string(node), ": ", why));
  send(node, wire::Expelled{0, why});
}

void Coordinator::on(const Started&) {
  nobody_since_ = now_;
  reminded_ = now_;
  evaluator_heard_ = now_;
  ticked_ = now_;
  stats_.started = now_;
  out_.emplace_back(SetTimer{TimerId::Tick, now_ + kTick});
}

// ---- links ----

void Coordinator::on(const PeerUp& up) {
  if (WorkerState* worker = worker_of(up.node)) worker->up = true;
  if (up.node.role == Role::Evaluator) {
    evaluator_up_ = true;
    evaluator_heard_ = now_;
  }
  if (ServerState* server = server_of(up.node)) {
    server->up = true;
    server->since = now_;
    server->heard = now_;
  }
}

void Coordinator::on(const PeerDown& down) {
  if (WorkerState* worker = worker_of(down.node)) {
    worker->up = false;
    leave(WorkerId{down.node.index}, failure_of(down.node, "connection", down.why));
  }
  if (down.node.role == Role::Evaluator) {
    evaluator_up_ = false;
    if (evaluator_in_) evaluator_left(failure_of(kEvaluator, "connection", down.why));
  }
  if (ServerState* server = server_of(down.node)) {
    server->up = false;
    server->since = now_;
    if (server->life != 0) {
      log(Level::Warning, cat("lost ", to_string(down.node), ": ", down.why, "; waiting ",
                              fixed(to_seconds(options_.server_grace), 0), " s for it"));
    }
  }
}

void Coordinator::on(const ProcessDied& died) {
  Failure failure{.node = died.node,
                  .cause = died.signal != 0 ? "signal" : "exit",
                  .signal = died.signal,
                  .exit_code = died.exit_code,
                  .text = died.cause};
  if (WorkerState* worker = worker_of(died.node)) {
    set_state(*worker, worker->ready, true);
    if (membership_.is_in(WorkerId{died.node.index})) {
      leave(WorkerId{died.node.index}, failure);
    } else if (died.signal != 0 || died.exit_code != 0) {
      explain_failure(failure);
    }
    if (state_ == State::Starting) start_if_ready();
    end_if_nobody_is_left(failure);
  } else if (died.node.role == Role::Evaluator) {
    if (evaluator_in_) {
      evaluator_left(failure);
    } else {
      explain_failure(failure);
      evaluator_gone_ = true;
      finish_if_done();
    }
  } else if (server_of(died.node) != nullptr && state_ != State::Done) {
    note_failure(failure);
    end(4, cat(to_string(died.node), " ended: ", died.cause,
               "; its part of the parameters is lost with it"));
  }
}

// ---- joining ----

void Coordinator::take(NodeId from, const wire::Register& message) {
  ServerState* server = server_of(from);
  if (server == nullptr || message.life == 0) return;
  if (server->life != 0 && server->life != message.life) {
    if (state_ != State::Starting) {
      return end(4, cat(to_string(from), " came back without its part of the parameters"));
    }
    server->initialised = false;
  }
  const bool is_new = server->life != message.life;
  server->life = message.life;
  server->address = message.address;
  configure(from.index);
  resend(from.index);
  if (!is_new || !all_registered()) return;
  if (evaluator_in_) welcome(kEvaluator, evaluator_attempt_, 0);
  choose_initialiser();
  for (const WorkerId worker : membership_.members()) {
    welcome(worker_node(worker), workers_[worker.value].attempt, membership_.incarnation(worker));
  }
}

bool Coordinator::fits(NodeId from, const wire::Join& join) {
  if (join.parameter_count < options_.servers) {
    refuse(from, cat("a model of ", join.parameter_count, " parameters cannot be cut over ",
                     options_.servers, " servers"));
    return false;
  }
  if (parameter_count_ == 0) parameter_count_ = join.parameter_count;
  if (join.parameter_count != parameter_count_) {
    refuse(from, cat("its model has ", join.parameter_count, " parameters, the run's has ",
                     parameter_count_, "; do all processes read the same configuration?"));
    return false;
  }
  if (from.role == Role::Evaluator) return true;
  if (join.dataset_size > kDatasetMost) {
    refuse(from, cat("a training set of ", join.dataset_size, " samples is none"));
    return false;
  }
  if (join.dataset_size == 0 || (dataset_size_ != 0 && join.dataset_size != dataset_size_)) {
    refuse(from, cat("its training set has ", join.dataset_size, " samples, the run's has ",
                     dataset_size_, "; do all processes read the same files?"));
    return false;
  }
  dataset_size_ = join.dataset_size;
  return true;
}

void Coordinator::take(NodeId from, const wire::Join& join) {
  if (state_ == State::Finishing && from.role == Role::Worker) {
    return send(from, wire::Finish{finish_why_});
  }
  if (from.role == Role::Worker && worker_of(from) == nullptr) {
    return refuse(from, cat("this run has ", options_.workers, " workers, counted from 0"));
  }
  if (join.life == 0 || (from.role != Role::Worker && from.role != Role::Evaluator)) return;
  if (!fits(from, join)) return;
  for (std::uint32_t s = 0; s < options_.servers; ++s) configure(s);
  if (from.role == Role::Evaluator) {
    const bool again = !evaluator_in_;
    evaluator_in_ = true;
    evaluator_gone_ = false;
    evaluator_attempt_ = join.attempt;
    welcome(from, join.attempt, 0);
    if (again && state_ == State::Finishing) {
      wire::Decide decide;
      final_evaluation_ = ask_evaluation(decide);
      issue(std::move(decide));
    }
    return;
  }
  using Verdict = membership::Membership::Verdict;
  const WorkerId worker{from.index};
  const bool was_in = membership_.is_in(worker);
  const auto [verdict, incarnation] = membership_.admit(worker, join.life, join.attempt, now_);
  if (verdict == Verdict::Stale) return;
  if (verdict == Verdict::Replaced) {
    return refuse(from, cat("another process took the place of ", to_string(from)));
  }
  WorkerState& state = workers_[worker.value];
  if (verdict == Verdict::Admitted) {
    if (was_in) {
      note_failure(failure_of(from, "connection", "it came back before it was missed"));
      depart(worker);
    }
    set_state(state, false, false);
    state.attempt = join.attempt;
    state.next_step = 0;
    log(Level::Info, cat(to_string(from), " is in (life ", incarnation, ")"));
  }
  choose_initialiser();
  welcome(from, join.attempt, incarnation);
}

void Coordinator::welcome(NodeId node, std::uint64_t attempt, Incarnation incarnation) {
  if (!all_registered()) return;  // it asks again, or is told once they are
  wire::Welcome welcome{.attempt = attempt, .incarnation = incarnation, .shards = {}};
  for (std::uint32_t s = 0; s < options_.servers; ++s) {
    const std::uint64_t begin = parameter_count_ * s / options_.servers;
    const std::uint64_t end = parameter_count_ * (s + 1) / options_.servers;
    welcome.shards.push_back({s, servers_[s].address, begin, end - begin});
  }
  welcome.initialise =
      node.role == Role::Worker && initialiser_ == WorkerId{node.index} && !all_initialised();
  send(node, std::move(welcome));
}

void Coordinator::configure(std::uint32_t s) {
  if (parameter_count_ == 0 || servers_[s].life == 0 || servers_[s].initialised) return;
  const std::uint64_t begin = parameter_count_ * s / options_.servers;
  const std::uint64_t end = parameter_count_ * (s + 1) / options_.servers;
  const optim::OptimizerConfig& rule = options_.optimizer;
  send(server_node(s),
       wire::Configure{.begin = begin,
                       .count = end - begin,
                       .optimizer = rule.name,
                       .momentum = rule.momentum,
                       .nesterov = rule.nesterov,
                       .weight_decay = rule.weight_decay,
                       .beta1 = rule.beta1,
                       .beta2 = rule.beta2,
                       .eps = rule.eps,
                       .closed_loop = options_.momentum_scale == optim::MomentumScale::ClosedLoop});
}

// All models begin alike, so any worker will do: the lowest that is there.
void Coordinator::choose_initialiser() {
  if (all_initialised() || !all_registered()) return;
  if (initialiser_ && membership_.is_in(*initialiser_)) return;
  const auto members = membership_.members();
  if (members.empty()) return;
  initialiser_ = members.front();
  welcome(worker_node(*initialiser_), workers_[initialiser_->value].attempt,
          membership_.incarnation(*initialiser_));
}

bool Coordinator::all_initialised() const {
  return std::ranges::all_of(servers_, &ServerState::initialised);
}

bool Coordinator::all_registered() const {
  return std::ranges::all_of(servers_, [](const ServerState& s) { return s.life != 0; });
}

void Coordinator::take(NodeId from, const wire::Initialised&) {
  ServerState* server = server_of(from);
  if (server == nullptr || server->initialised) return;
  server->initialised = true;
  start_if_ready();
}

void Coordinator::take(NodeId from, const wire::Ready& ready) {
  if (!is_current(from, ready.incarnation)) return;
  WorkerState& worker = workers_[from.index];
  if (worker.ready) return;
  set_state(worker, true, worker.died);
  if (state_ == State::Starting) return start_if_ready();
  if (state_ != State::Training) return;
  worker.place = Place::Held;
  feed(sync::Joined{WorkerId{from.index}});
}

void Coordinator::take(NodeId from, const wire::Ask& ask) {
  if (!is_current(from, ask.incarnation)) return;
  WorkerState& worker = workers_[from.index];
  if (!worker.ready) return take(from, wire::Ready{ask.incarnation});
  if (worker.place == Place::Released && worker.release.step == ask.step) {
    send_release(WorkerId{from.index});
  }
}

// ---- the start ----

void Coordinator::start_if_ready() {
  if (state_ != State::Starting || !all_initialised()) return;
  const bool enough = options_.start_workers != 0 && ready_ >= options_.start_workers;
  if (enough || (awaited_ == 0 && ready_ > 0)) start();
}

void Coordinator::start() {
  state_ = State::Training;
  stats_.phase = "training";
  stats_.training = true;
  stats_.started = now_;
  stats_.last_applied = now_;
  recorded_ = now_;
  stream_.emplace(options_.seed, dataset_size_, options_.batch_size, options_.samples);
  ledger_.emplace(stream_->batches());
  log(Level::Info, cat("training begins: ", ready_, " workers, ", options_.servers, " servers, ",
                       parameter_count_, " parameters, ", stream_->batches(), " batches"));
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    if (workers_[w].ready) workers_[w].place = Place::Held;
  }
  // By id: the batches of the first superstep go out in rank order too.
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    if (workers_[w].place == Place::Held) feed(sync::Joined{WorkerId{w}});
  }
}

std::string Coordinator::missing() const {
  std::vector<std::string> names;
  for (std::uint32_t s = 0; s < servers_.size(); ++s) {
    if (servers_[s].life == 0) names.push_back(to_string(server_node(s)));
  }
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    if (!workers_[w].ready && !workers_[w].died) names.push_back(to_string(worker_node({w})));
  }
  return join(names);
}

void Coordinator::watch_the_start() {
  for (std::uint32_t s = 0; s < servers_.size(); ++s) configure(s);
  if (initialiser_ && !all_initialised()) {
    welcome(worker_node(*initialiser_), workers_[initialiser_->value].attempt,
            membership_.incarnation(*initialiser_));
  }
  if (now_ - reminded_ >= kRemind) {
    reminded_ = now_;
    log(Level::Warning, cat("still waiting for ", missing()));
  }
  if (now_ - stats_.started < options_.start_deadline) return;
  if (!all_initialised() || ready_ == 0) {
    return end(4, cat("not all were there after ", fixed(to_seconds(options_.start_deadline), 0),
                      " s: ", missing(), " missing; see logs/ of the run"));
  }
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    if (options_.start_workers != 0 || workers_[w].ready || workers_[w].died) continue;
    note_failure(failure_of(
        worker_node({w}), "late",
        cat("was not there after ", fixed(to_seconds(options_.start_deadline), 0), " s")));
  }
  start();
}

// ---- leaving ----

void Coordinator::leave(WorkerId worker, std::optional<Failure> failure) {
  if (!membership_.leave(worker)) return;
  if (failure) note_failure(*failure);
  if (membership_.count() == 0) nobody_since_ = now_;
  depart(worker);
  if (state_ == State::Starting) {
    choose_initialiser();
    start_if_ready();
  }
}

// Takes a worker out of the policy, and its lease back. A complete push stays.
void Coordinator::depart(WorkerId id) {
  WorkerState& worker = workers_[id.value];
  const Place place = std::exchange(worker.place, Place::Out);
  if (place == Place::Drained) --drained_;
  set_state(worker, false, worker.died);
  worker.waits_since.reset();
  stats_.workers[id.value].state = WorkerStats::State::Out;
  if (state_ != State::Training) return;
  if (place == Place::Released) {
    wire::Decide decide;
    drop({id, worker.release.incarnation, worker.release.step}, decide);
    issue(std::move(decide));
  }
  if (place == Place::Released || place == Place::Held) feed(sync::Left{id});
  recall_drained();
}

void Coordinator::note_failure(Failure failure) {
  if (state_ == State::Done) return;
  failure.at = since_start();
  if (failure.node.role == Role::Worker) failure.at_step = stats_.workers[failure.node.index].steps;
  log(Level::Warning, cat(to_string(failure.node), " is out: ", failure.text));
  stats_.failures.push_back(std::move(failure));
}

// A process that is out already has ended: what was noted then (a broken link, its last words) and
// how it ended are one failure.
void Coordinator::explain_failure(Failure failure) {
  const auto known = std::find_if(stats_.failures.rbegin(), stats_.failures.rend(),
                                  [&](const Failure& other) { return other.node == failure.node; });
  if (known == stats_.failures.rend() || known->cause == "signal" || known->cause == "exit") {
    return note_failure(std::move(failure));
  }
  known->cause = failure.cause;
  known->signal = failure.signal;
  known->exit_code = failure.exit_code;
  known->text = known->text.empty() ? failure.text : cat(failure.text, " (", known->text, ")");
}

void Coordinator::evaluator_left(Failure failure) {
  evaluator_in_ = false;
  evaluator_gone_ = true;
  evaluations_.clear();
  note_failure(std::move(failure));
  finish_if_done();
}

int Coordinator::exit_code_of_failures() const {
  for (const Failure& failure : stats_.failures) {
    if (failure.exit_code == 3 || failure.exit_code == 5) return failure.exit_code;
  }
  return 4;
}

// last: what brought us here; not among the failures if that worker left in order.
void Coordinator::end_if_nobody_is_left(const Failure& last) {
  if (state_ != State::Starting && state_ != State::Training) return;
  const bool all_died = std::ranges::all_of(workers_, &WorkerState::died);
  if (!all_died) return;
  const auto known =
      std::find_if(stats_.failures.rbegin(), stats_.failures.rend(),
                   [](const Failure& failure) { return failure.node.role == Role::Worker; });
  const Failure& named = known == stats_.failures.rend() ? last : *known;
  end(exit_code_of_failures(), cat("no worker is left; ", to_string(named.node), ": ", named.text));
}

void Coordinator::take(NodeId from, const wire::Failed& failed) {
  Failure failure = failure_of(from, "error", failed.why);
  failure.exit_code = static_cast<int>(failed.exit_code);
  if (worker_of(from) != nullptr) {
    leave(WorkerId{from.index}, failure);
  } else if (from.role == Role::Evaluator) {
    evaluator_left(failure);
  } else if (server_of(from) != nullptr && state_ != State::Done) {
    note_failure(failure);
    end(4, cat(to_string(from), " failed: ", failed.why));
  }
}

void Coordinator::take(NodeId from, const wire::Goodbye&) {
  if (worker_of(from) == nullptr) return;
  log(Level::Info, cat(to_string(from), " leaves"));
  leave(WorkerId{from.index}, std::nullopt);
}

// ---- liveness ----

void Coordinator::on(const TimerFired& fired) {
  if (fired.id != TimerId::Tick) return;
  out_.emplace_back(SetTimer{TimerId::Tick, now_ + kTick});
  if (now_ - std::exchange(ticked_, now_) > kFrozen) forgive_silence();
  if (now_ - pinged_ >= kPing) {
    ping();
    repeat_evaluations();
  }
  watch_the_servers();
  if (state_ != State::Done) watch_the_workers();
  if (state_ == State::Starting) watch_the_start();
  if (state_ == State::Finishing) watch_the_finish();
  if (state_ == State::Training && now_ - recorded_ >= options_.metrics_every) record_metrics();
}

void Coordinator::forgive_silence() {
  for (const WorkerId worker : membership_.members()) membership_.heard(worker, now_);
  for (ServerState& server : servers_) server.since = server.heard = now_;
  evaluator_heard_ = now_;
  nobody_since_ = now_;
}

void Coordinator::ping() {
  pinged_ = now_;
  ++ping_number_;
  for (std::uint32_t s = 0; s < servers_.size(); ++s) {
    if (servers_[s].up) send(server_node(s), wire::Ping{ping_number_});
  }
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    if (workers_[w].up) send(worker_node({w}), wire::Ping{ping_number_});
  }
  if (evaluator_up_) send(kEvaluator, wire::Ping{ping_number_});
}

void Coordinator::take(NodeId from, const wire::Ping& ping) { send(from, wire::Pong{ping.number}); }

void Coordinator::watch_the_servers() {
  for (std::uint32_t s = 0; s < servers_.size(); ++s) {
    ServerState& server = servers_[s];
    if (server.life == 0) continue;
    const NodeId node = server_node(s);
    if (!server.up && now_ - server.since > options_.server_grace) {
      note_failure(failure_of(node, "connection", "lost"));
      return end(4, cat(to_string(node), " at ", server.address, " is gone for ",
                        fixed(to_seconds(now_ - server.since), 0),
                        " s; its part of the parameters is lost with it"));
    }
    if (server.up && now_ - server.heard > options_.silence) {
      note_failure(failure_of(node, "silence", "said nothing"));
      return end(4, cat(to_string(node), " at ", server.address, " has said nothing for ",
                        fixed(to_seconds(now_ - server.heard), 0), " s"));
    }
    if (server.up && server.decided < number_ && now_ - server.sent >= kRepeat) resend(s);
  }
}

void Coordinator::watch_the_workers() {
  std::vector<WorkerId> silent;
  if (now_ > silence_due_) {
    silent = membership_.silent(now_, options_.silence);
    silence_due_ = membership_.oldest_heard(now_) + options_.silence;
  }
  for (const WorkerId worker : silent) {
    leave(worker,
          failure_of(worker_node(worker), "silence",
                     cat("said nothing for ", fixed(to_seconds(options_.silence), 0), " s")));
    out_.emplace_back(Disconnect{worker_node(worker)});
  }
  if (evaluator_in_ && now_ - evaluator_heard_ > 4 * options_.silence) {
    out_.emplace_back(Disconnect{kEvaluator});
    evaluator_left(failure_of(kEvaluator, "silence", "said nothing"));
  }
  if (state_ == State::Training && membership_.count() == 0 &&
      now_ - nobody_since_ > options_.worker_grace) {
    end(exit_code_of_failures(),
        cat("no worker is left since ", fixed(to_seconds(now_ - nobody_since_), 0), " s"));
  }
}

void Coordinator::on(const StopRequested& stop) { end(stop.exit_code, stop.why); }

void Coordinator::on(const Received& received) {
  const NodeId from = received.from;
  if (worker_of(from) != nullptr) membership_.heard(WorkerId{from.index}, now_);
  if (ServerState* server = server_of(from)) server->heard = now_;
  if (from.role == Role::Evaluator) evaluator_heard_ = now_;
  std::visit(
      [&](const auto& message) {
        using M = std::decay_t<decltype(message)>;
        if constexpr (std::is_same_v<M, wire::Parameters>) {
          take(from, message, received.payload);
        } else if constexpr (requires { take(from, message); }) {
          take(from, message);
        }
      },
      received.message);
}

}  // namespace paceline::roles
