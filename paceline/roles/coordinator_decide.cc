#include <algorithm>
#include <cmath>
#include <utility>

#include "paceline/base/check.h"
#include "paceline/base/text.h"
#include "paceline/roles/coordinator.h"
#include "paceline/roles/decision_json.h"
#include "paceline/roles/evaluator.h"

// The life of a push: released, held by all servers, decided by the policy, numbered.
namespace paceline::roles {

void Coordinator::take(NodeId from, const wire::Held& message) {
  const ServerState* server = server_of(from);
  if (server == nullptr || state_ != State::Training) return;
  Pending* const pending = pending_of(message.push);
  if (pending == nullptr || pending->complete) return;  // decided, or counted already
  pending->held.insert(from.index);
  if (!pending->held.has_all()) return;
  pending->complete = true;
  const WorkerId id = message.push.worker;
  WorkerState& worker = workers_[id.value];
  worker.place = Place::Held;
  worker.waits_since = now_;
  ++worker.next_step;
  ++stats_.workers[id.value].steps;
  stats_.workers[id.value].state = WorkerStats::State::Waiting;
  feed(sync::Pushed{message.push});
}

// One event after the other: what a decision brings about (a worker for which there is no batch
// left) waits its turn.
void Coordinator::feed(std::variant<sync::Joined, sync::Pushed, sync::Left> what) {
  events_.push_back(std::move(what));
  if (std::exchange(feeding_, true)) return;
  while (!events_.empty() && state_ == State::Training) {
    const sync::Event event{now_, events_.front()};
    events_.pop_front();
    note_clock(event);
    carry_out(event, policy_->step(event));
  }
  events_.clear();
  feeding_ = false;
}

// The gap that SSP bounds: right after a push is counted, to the slowest that is in.
void Coordinator::note_clock(const sync::Event& event) {
  if (const auto* joined = std::get_if<sync::Joined>(&event.what)) {
    Step& clock = workers_[joined->worker.value].clock;
    clock = clocks_.empty() ? 0 : clocks_.begin()->first;
    ++clocks_[clock];
    return;
  }
  const auto* pushed = std::get_if<sync::Pushed>(&event.what);
  const WorkerId id =
      pushed != nullptr ? pushed->push.worker : std::get<sync::Left>(event.what).worker;
  Step& clock = workers_[id.value].clock;
  const auto here = clocks_.find(clock);
  if (here == clocks_.end()) return;
  if (--here->second == 0) clocks_.erase(here);
  if (pushed == nullptr) return;
  ++clocks_[++clock];
  stats_.clock_gap_max = std::max(stats_.clock_gap_max, clock - clocks_.begin()->first);
}

Coordinator::Pending* Coordinator::pending_of(const PushId& push) {
  if (push.worker.value >= workers_.size()) return nullptr;
  std::vector<Pending>& pending = workers_[push.worker.value].pending;
  const auto found = std::ranges::find(pending, push, &Pending::push);
  return found == pending.end() ? nullptr : &*found;
}

void Coordinator::forget_pending(const PushId& push) {
  std::vector<Pending>& pending = workers_[push.worker.value].pending;
  undecided_ -= std::erase_if(pending, [&](const Pending& each) { return each.push == push; });
}

void Coordinator::carry_out(const sync::Event& event, const sync::Decision& decision) {
  wire::Decide decide;
  for (const sync::Apply& update : decision.apply) apply(update, decide);
  for (const PushId& push : decision.drop) {
    drop(push, decide);
    ++stats_.dropped;
    send(worker_node(push.worker), wire::Dropped{push});
  }
  std::vector<WorkerId> released;
  for (const WorkerId worker : decision.release) {
    const std::size_t before = decide.recipients.size();
    release(worker, decide);
    if (decide.recipients.size() != before) released.push_back(worker);
  }
  if (!decision.apply.empty()) evaluate_if_due(decide);
  if (options_.record_decisions) {
    out_.emplace_back(Record{Record::File::Decisions, to_json(event, decision, stats_.version)});
  }
  issue(std::move(decide));
  for (const WorkerId worker : released) send_release(worker);
  if (!decision.drop.empty()) recall_drained();
  if (ledger_->all_applied()) begin_finish("every sample of the budget is applied");
}

void Coordinator::apply(const sync::Apply& update, wire::Decide& decide) {
  const double share = static_cast<double>(stats_.samples) / static_cast<double>(options_.samples);
  stats_.lr = optim::lr_at(options_.schedule, options_.lr, share);
  const auto count = static_cast<std::uint32_t>(update.pushes.size());
  for (const PushId& push : update.pushes) {
    const Pending* const pending = pending_of(push);
    PACELINE_CHECK(pending != nullptr && pending->complete,
                   "a policy applies a push that is complete, once");
    staleness_.note(static_cast<double>(stats_.version - pending->version));
    behind_.note(static_cast<double>(stats_.applied - pending->applied));
  }
  const double lr = optim::effective_lr(options_.lr_scale, stats_.lr, count, ready_);
  wire::Update& made = decide.updates.emplace_back(
      wire::Update{update.pushes, static_cast<float>(lr), std::nullopt});
  if (options_.optimizer.name == "sgd") {
    const auto momentum = optim::scale_momentum(
        options_.momentum_scale, options_.optimizer.momentum, options_.optimizer.nesterov,
        {.pushes = count,
         .workers = ready_,
         .rate = optim::effective_lr(options_.lr_scale, 1, count, ready_),
         .staleness = staleness_.value(),
         .behind = behind_.value()});
    if (momentum) {
      made.momentum = {momentum->carried, momentum->displaced, momentum->kept, momentum->entered};
    }
  }
  for (const PushId& push : update.pushes) {
    const Pending* const pending = pending_of(push);
    ++stats_.staleness[stats_.version - pending->version];
    stats_.samples += stream_->size_of(pending->batch);
    ledger_->applied(pending->batch);
    forget_pending(push);
    ++stats_.applied;
  }
  if (count > 1) ++stats_.barriers;
  ++stats_.version;
  stats_.last_applied = now_;
}

void Coordinator::drop(const PushId& push, wire::Decide& decide) {
  const Pending* const pending = pending_of(push);
  if (pending == nullptr) return;
  ledger_->give_back(pending->batch);
  stats_.leases_lost = ledger_->returned_count();
  forget_pending(push);
  decide.drop.push_back(push);
}

void Coordinator::release(WorkerId id, wire::Decide& decide) {
  WorkerState& worker = workers_[id.value];
  PACELINE_CHECK(worker.place == Place::Held, "a policy releases a worker that it holds");
  WorkerStats& stats = stats_.workers[id.value];
  const std::optional<std::uint64_t> batch = ledger_->lease();
  if (!batch) {
    worker.place = Place::Drained;
    ++drained_;
    worker.waits_since.reset();
    stats.state = WorkerStats::State::Done;
    events_.emplace_back(sync::Left{id});
    return;
  }
  if (worker.waits_since) stats.waited += now_ - *worker.waits_since;
  worker.waits_since.reset();
  worker.place = Place::Released;
  stats.state = WorkerStats::State::Computing;
  worker.release = {.incarnation = membership_.incarnation(id),
                    .step = worker.next_step,
                    .version = stats_.version,
                    .batch = *batch,
                    .samples = stream_->samples_of(*batch)};
  worker.pending.push_back({.push = {id, worker.release.incarnation, worker.release.step},
                            .batch = *batch,
                            .applied = stats_.applied,
                            .version = stats_.version,
                            .held = ServerSet(servers_.size())});
  ++undecided_;
  decide.recipients.push_back({worker_node(id), worker.release.incarnation, worker.release.step});
}

void Coordinator::send_release(WorkerId worker) {
  send(worker_node(worker), workers_[worker.value].release);
}

// A batch came back: a worker that was sent home for lack of one may have it.
void Coordinator::recall_drained() {
  if (drained_ == 0 || state_ != State::Training || !ledger_->has_free()) return;
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    if (workers_[w].place != Place::Drained) continue;
    workers_[w].place = Place::Held;
    --drained_;
    feed(sync::Joined{WorkerId{w}});
    if (!ledger_->has_free()) return;
  }
}

// ---- evaluation ----

void Coordinator::evaluate_if_due(wire::Decide& decide) {
  if (options_.eval_every_samples == 0 || stats_.samples < next_evaluation_at_) return;
  next_evaluation_at_ =
      (stats_.samples / options_.eval_every_samples + 1) * options_.eval_every_samples;
  if (evaluator_in_ && evaluations_.size() < Evaluator::kWaitingMax) ask_evaluation(decide);
}

std::uint64_t Coordinator::ask_evaluation(wire::Decide& decide) {
  const std::uint64_t number = ++evaluation_number_;
  evaluations_.push_back(
      {number, {.at = since_start(), .version = stats_.version, .samples = stats_.samples}});
  decide.recipients.push_back({kEvaluator, 0, number});
  send(kEvaluator, wire::Evaluate{number, stats_.version});
  return number;
}

// The question or its answer may be lost; the evaluator recognises what it knows.
void Coordinator::repeat_evaluations() {
  if (!evaluator_in_) return;
  for (const Evaluation& evaluation : evaluations_) {
    send(kEvaluator, wire::Evaluate{evaluation.number, evaluation.stats.version});
  }
}

void Coordinator::take(NodeId from, const wire::Evaluated& evaluated) {
  if (from.role != Role::Evaluator) return;
  while (!evaluations_.empty() && evaluations_.front().number < evaluated.number) {
    evaluations_.pop_front();  // lost on the way
  }
  if (evaluations_.empty() || evaluations_.front().number != evaluated.number) return;
  EvaluationStats stats = evaluations_.front().stats;
  evaluations_.pop_front();
  stats.accuracy = evaluated.accuracy;
  stats.loss = evaluated.loss;
  stats_.evaluations.push_back(stats);
  record_evaluation(stats);
  const bool reached = options_.target_accuracy && stats.accuracy >= *options_.target_accuracy;
  if (reached && !stats_.target_reached) {
    stats_.target_reached = stats.at;
    log(Level::Info, cat("the target of ", *options_.target_accuracy, " is reached: ",
                         fixed(stats.accuracy, 4), " at ", fixed(to_seconds(stats.at), 1), " s"));
    if (options_.stop_at_target && state_ == State::Training) {
      begin_finish("the target accuracy is reached");
    }
  }
  finish_if_done();
}

// ---- numbered decisions ----

void Coordinator::issue(wire::Decide decide) {
  if (decide.updates.empty() && decide.drop.empty() && decide.recipients.empty()) return;
  decide.number = ++number_;
  for (std::uint32_t s = 0; s < servers_.size(); ++s) {
    servers_[s].sent = now_;
    send(server_node(s), decide);
  }
  decides_.push_back(std::move(decide));
}

void Coordinator::resend(std::uint32_t s) {
  servers_[s].sent = now_;
  for (const wire::Decide& decide : decides_) {
    if (decide.number > servers_[s].decided) send(server_node(s), decide);
  }
}

void Coordinator::take(NodeId from, const wire::Decided& decided) {
  ServerState* server = server_of(from);
  if (server == nullptr || decided.number > number_) return;
  server->decided = std::max(server->decided, decided.number);
  server->repeated = std::max(server->repeated, decided.repeated);
  const auto least = std::ranges::min(servers_, {}, &ServerState::decided).decided;
  while (!decides_.empty() && decides_.front().number <= least) decides_.pop_front();
  stats_.repeated = 0;
  for (const ServerState& state : servers_) stats_.repeated += state.repeated;
}

void Coordinator::take(NodeId from, const wire::Progress& progress) {
  if (worker_of(from) == nullptr) return;
  if (!membership_.is_current(WorkerId{from.index}, progress.incarnation)) return;

  WorkerStats& stats = stats_.workers[from.index];
  const bool was_finite = std::isfinite(stats.loss);
  stats.loss = progress.loss;
  stats.compute = Duration{static_cast<std::int64_t>(
      std::min<std::uint64_t>(progress.compute_nanoseconds, std::uint64_t{1} << 62U))};
  stats_.pushed_bytes += progress.pushed_bytes;
  stats_.pulled_bytes += progress.pulled_bytes;
  const double loss = static_cast<double>(progress.loss);
  if (!std::isfinite(loss) && was_finite) {
    log(Level::Warning, cat("the loss of ", to_string(from), " is ", loss, " at its step ",
                            progress.step, "; a smaller optimizer.lr may help"));
  }
  losses_.note(WorkerId{from.index}, loss);
  stats_.train_loss = losses_.value();
}

}  // namespace paceline::roles
