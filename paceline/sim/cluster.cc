#include "paceline/sim/cluster.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "paceline/base/text.h"
#include "paceline/sim/bowl.h"
#include "paceline/sync/registry.h"
#include "paceline/wire/codec.h"

namespace paceline::sim {
namespace {

constexpr std::uint64_t kEventsMax = 20'000'000;
constexpr Duration kNotice = std::chrono::milliseconds(5);  // until the launcher sees a death
// Faults off, everybody goes on within: a link that breaks, a give-up, a silence, a repetition.
constexpr Duration kCalm = std::chrono::seconds(90);
constexpr Pid kCoordinatorPid = 0;

std::unique_ptr<sync::SyncPolicy> policy_of(const std::string& spec) {
  auto policy = sync::make_policy(spec);
  PACELINE_CHECK(policy.has_value(), "a scenario names a known policy");
  return std::move(*policy);
}

}  // namespace

Cluster::Cluster(const Scenario& scenario, const SimOptions& options, roles::GradientSource& source)
    : scenario_(scenario),
      options_(options),
      source_(source),
      rng_(Rng(scenario.seed).stream("cluster")),
      network_(world_, *this, scenario_, options.check) {
  const std::uint32_t workers = scenario_.run.workers;
  if (options_.policy) scenario_.policy.clear();
  if (options_.check) {
    updates_ = std::make_unique<UpdateChecker>(scenario_, source);
    if (!options_.policy) {
      sync_ = std::make_unique<SyncChecker>(policy_of(scenario_.policy)->spec());
    }
  } else {
    scenario_.run.metrics_every = scenario_.limit;  // nobody reads them
    scenario_.run.record_decisions = !!options_.decisions;
  }
  for (std::uint32_t w = 0; w < workers; ++w) {
    step_clocks_.emplace_back(speed_of(w), Rng(scenario_.seed).stream("speed", w));
  }
  computed_.resize(workers);
  released_.resize(workers);
  step_faults_.resize(workers);
  queues_.resize(scenario_.run.servers);
}

SimResult Cluster::run() {
  plan_starts();
  plan_faults();
  while (result_.failure.empty() && !world_.is_empty() && !is_over()) {
    if (is_cut_before(world_.next())) {
      world_.wait_until(*cut_);
      sum_up();
      return std::move(result_);
    }
    if (updates_ && events_ > kEventsMax) fail("promise 5: it runs, and does not end");
    if (world_.next() > scenario_.limit) fail("promise 5: it does not end");
    world_.run_next();
    if (options_.check) check_progress();
  }
  if (result_.failure.empty() && (options_.check || result_.error.empty())) check_end();
  sum_up();
  return std::move(result_);
}

bool Cluster::is_over() const {
  if (!options_.check && !result_.error.empty()) return true;
  return coordinator_ended_ && alive_ == 0;
}

// Nothing more happens before the run is to be cut.
bool Cluster::is_cut_before(Time next) {
  if (!scenario_.stop_at || coordinator_ended_) return false;
  if (!cut_ && coordinator().stats().training) {
    cut_ = coordinator().stats().started + *scenario_.stop_at;
  }
  return cut_ && next > *cut_;
}

void Cluster::sum_up() {
  const Time now = world_.now();
  result_.events = events_;
  result_.ended = now;
  result_.stats = coordinator_ended_ ? coordinator().stats() : coordinator().stats_at(now);
  const auto scaled = [&](std::uint64_t bytes) {
    return static_cast<std::uint64_t>(
        std::llround(static_cast<double>(bytes) * scenario_.payload_scale));
  };
  result_.stats.pushed_bytes = scaled(result_.stats.pushed_bytes);
  result_.stats.pulled_bytes = scaled(result_.stats.pulled_bytes);
  std::uint64_t pushes = 0;
  Duration waited{};
  const double seconds =
      to_seconds(coordinator_ended_.value_or(now) - coordinator().stats().started);
  for (const Queue& queue : queues_) {
    pushes += queue.pushes;
    waited += queue.waited;
    const Duration busy = queue.busy - std::max(queue.free - now, Duration{});
    result_.server_busy_share.push_back(seconds > 0 ? to_seconds(busy) / seconds : 0);
  }
  if (pushes > 0) result_.server_queue_seconds = to_seconds(waited) / static_cast<double>(pushes);
  fold(static_cast<std::uint64_t>(now.count()));
  result_.hash = options_.check ? hash_ : 0;
  result_.lost_messages = network_.lost();
  result_.link_breaks = network_.breaks();
}

// ---- processes ----

void Cluster::plan_starts() {
  const auto soon = [&] { return Duration{rng_.between(0, scenario_.start_within.count())}; };
  const auto start_at = [&](std::uint32_t worker) {
    return worker < scenario_.start_at.size() ? scenario_.start_at[worker] : Duration{};
  };
  std::uint32_t& awaited = scenario_.run.start_workers;
  if (awaited == 0 && !scenario_.start_at.empty()) {
    Duration first = start_at(0);
    for (std::uint32_t w = 0; w < scenario_.run.workers; ++w) first = std::min(first, start_at(w));
    for (std::uint32_t w = 0; w < scenario_.run.workers; ++w) awaited += start_at(w) == first;
  }
  start(kCoordinator);
  for (std::uint32_t s = 0; s < scenario_.run.servers; ++s) {
    world_.plan(soon(), [this, s] { start(server_node(s)); });
  }
  for (std::uint32_t w = 0; w < scenario_.run.workers; ++w) {
    world_.plan(start_at(w) + soon(), [this, w] {
      if (!coordinator_ended_) start(worker_node({w}));
    });
  }
  if (scenario_.run.evaluator) world_.plan(soon(), [this] { start(kEvaluator); });
}

void Cluster::start(NodeId node) {
  const Pid pid = static_cast<Pid>(processes_.size());
  Process& process = processes_.emplace_back();
  process.node = node;
  process.life = ++lives_;
  process.progressed = world_.now();
  ++alive_;
  network_.process_started(pid);
  at_address_[to_string(node)].push_back(pid);
  const std::string coordinator = to_string(kCoordinator);
  switch (node.role) {
    case Role::Coordinator:
      process.role = std::make_unique<roles::Coordinator>(
          scenario_.run, options_.policy ? options_.policy() : policy_of(scenario_.policy));
      coordinator_ = std::get<std::unique_ptr<roles::Coordinator>>(process.role).get();
      break;
    case Role::Server:
      process.role =
          std::make_unique<roles::Server>(roles::ServerOptions{.index = node.index,
                                                               .coordinator = coordinator,
                                                               .address = to_string(node),
                                                               .life = process.life,
                                                               .retry = scenario_.retry,
                                                               .give_up = scenario_.give_up},
                                          pool_);
      break;
    case Role::Worker:
      process.role = std::make_unique<roles::Worker>(
          roles::WorkerOptions{.id = {node.index},
                               .coordinator = coordinator,
                               .life = process.life,
                               .parameter_count = scenario_.parameter_count,
                               .dataset_size = scenario_.dataset_size,
                               .step_floor = scenario_.step_floor,
                               .retry = scenario_.retry,
                               .give_up = scenario_.give_up},
          pool_);
      break;
    case Role::Evaluator:
      process.role = std::make_unique<roles::Evaluator>(
          roles::EvaluatorOptions{.coordinator = coordinator,
                                  .life = process.life,
                                  .parameter_count = scenario_.parameter_count,
                                  .retry = scenario_.retry,
                                  .give_up = scenario_.give_up});
      break;
  }
  deliver(pid, roles::Started{});
}

std::optional<Pid> Cluster::at(const std::string& address) const {
  const auto found = at_address_.find(address);
  if (found == at_address_.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::vector<Pid> Cluster::processes_at(NodeId node) const {
  const auto found = at_address_.find(to_string(node));
  return found == at_address_.end() ? std::vector<Pid>{} : found->second;
}

void Cluster::end_process(Pid pid, int exit_code, const std::string& why) {
  Process& process = processes_[pid];
  process.is_alive = false;
  --alive_;
  process.is_paused = false;
  process.inbox.clear();
  std::erase(at_address_[to_string(process.node)], pid);
  told(process, process.incarnation);
  result_.ends.push_back({process.node, process.life, exit_code, why, world_.now()});
  log(pid, cat("ends with ", exit_code, ": ", why));
  if (pid == kCoordinatorPid) {
    coordinator_ended_ = world_.now();
    result_.exit_code = exit_code;
    result_.why = why;
  } else if (scenario_.launcher) {
    roles::ProcessDied died{.node = process.node, .exit_code = exit_code, .cause = why};
    if (exit_code < 0) died = {.node = process.node, .signal = -exit_code, .cause = why};
    world_.plan(world_.now() + kNotice, [this, died] { deliver(kCoordinatorPid, died); });
  }
  network_.process_ended(pid);
}

// ---- inputs ----

// What happens at once to a process happens in an event of its own, after what it is doing now.
void Cluster::deliver(Pid pid, roles::Input input) {
  world_.plan(world_.now(),
              [this, pid, input = std::move(input)]() mutable { take_in(pid, input); });
}

void Cluster::take_in(Pid pid, roles::Input& input) {
  Process& process = processes_[pid];
  if (!process.is_alive) return;
  if (process.is_paused) {
    process.inbox.push_back(std::move(input));
  } else {
    perform(pid, input);
  }
}

// A server takes one push after the other. A question after a push waits behind it, as on a link.
void Cluster::receive(Pid pid, roles::Input& input) {
  const Process& process = processes_[pid];
  if (scenario_.service_time == Duration{} || process.node.role != Role::Server ||
      process.is_paused) {
    return take_in(pid, input);
  }
  const wire::Message& message = std::get<roles::Received>(input).message;
  const bool is_push = std::holds_alternative<wire::Push>(message);
  if (!is_push && !std::holds_alternative<wire::PushQuery>(message)) return take_in(pid, input);
  Queue& queue = queues_[process.node.index];
  const Time begin = std::max(world_.now(), queue.free);
  if (is_push) {
    ++queue.pushes;
    queue.waited += begin - world_.now();
    queue.busy += scenario_.service_time;
    queue.free = begin + scenario_.service_time;
  }
  world_.plan(is_push ? queue.free : begin,
              [this, pid, later = std::move(input)]() mutable { take_in(pid, later); });
}

void Cluster::perform(Pid pid, const roles::Input& input) {
  Process& process = processes_[pid];
  const bool is_event = std::holds_alternative<roles::Received>(input) ||
                        std::holds_alternative<roles::TimerFired>(input) ||
                        std::holds_alternative<roles::GradientComputed>(input) ||
                        std::holds_alternative<roles::Measured>(input);
  if (is_event) ++events_;
  if (options_.check) {
    fold(static_cast<std::uint64_t>(world_.now().count()));
    fold(pid * std::uint64_t{64} + input.index());
  }
  see_input(pid, input);
  const std::uint64_t steps = options_.observer != nullptr ? steps_of_held(pid, input) : 0;
  outputs_.clear();
  std::visit(
      [&](auto& role) {
        if constexpr (requires { role->step(world_.now(), input, outputs_); }) {
          role->step(world_.now(), input, outputs_);
        }
      },
      process.role);
  if (options_.observer != nullptr && pid == kCoordinatorPid) observe_pushed(input, steps);
  const auto* server = std::get_if<std::unique_ptr<roles::Server>>(&process.role);
  if (updates_ && server != nullptr) fail(updates_->stepped(**server, process.node.index));
  for (roles::Output& output : outputs_) {
    if (!result_.failure.empty()) break;
    carry_out(pid, output);
  }
  // The oracle learns of a decision when it is sent: only then are all of its messages looked at.
}

void Cluster::see_input(Pid pid, const roles::Input& input) {
  Process& process = processes_[pid];
  if (const auto* received = std::get_if<roles::Received>(&input)) {
    if (options_.check) fold(wire::encode(received->message));
    if (options_.keep_log) {
      log(pid, cat("<- ", to_string(received->from), " ", wire::name_of(received->message)));
    }
    if (!updates_) return;
    if (const auto* push = std::get_if<wire::Push>(&received->message)) {
      if (process.node.role == Role::Server) updates_->arrived(process.node.index, push->push);
    }
    if (const auto* welcome = std::get_if<wire::Welcome>(&received->message)) {
      process.incarnation = std::max(process.incarnation, welcome->incarnation);
    }
    if (const auto* dropped = std::get_if<wire::Dropped>(&received->message)) {
      untold_.erase(dropped->push);
    }
    if (const auto* expelled = std::get_if<wire::Expelled>(&received->message)) {
      told(process, expelled->incarnation);
    }
    return;
  }
  const auto* down = std::get_if<roles::PeerDown>(&input);
  if (down != nullptr && down->node == kCoordinator) {
    told(process, std::exchange(process.incarnation, 0));
  }
  if (options_.keep_log) {
    static constexpr const char* kNames[] = {"Started",  "Received",    "PeerUp",
                                             "PeerDown", "TimerFired",  "GradientComputed",
                                             "Measured", "ProcessDied", "StopRequested"};
    if (!std::holds_alternative<roles::TimerFired>(input)) log(pid, kNames[input.index()]);
  }
}

// That life knows that it is over, and with it what it pushed and was not applied.
void Cluster::told(const Process& process, Incarnation incarnation) {
  if (process.node.role != Role::Worker) return;
  std::erase_if(untold_, [&](const auto& each) {
    return each.first.worker.value == process.node.index && each.first.incarnation <= incarnation;
  });
}

// ---- outputs ----

void Cluster::carry_out(Pid pid, roles::Output& output) {
  if (auto* send = std::get_if<roles::Send>(&output)) {
    carry_out(pid, *send);
  } else if (auto* connect = std::get_if<roles::Connect>(&output)) {
    network_.connect(pid, connect->node, connect->address);
  } else if (auto* disconnect = std::get_if<roles::Disconnect>(&output)) {
    network_.disconnect(pid, disconnect->node);
  } else if (auto* timer = std::get_if<roles::SetTimer>(&output)) {
    carry_out(pid, *timer);
  } else if (auto* compute = std::get_if<roles::Compute>(&output)) {
    carry_out(pid, *compute);
  } else if (auto* measure = std::get_if<roles::Measure>(&output)) {
    carry_out(pid, *measure);
  } else if (auto* initial = std::get_if<roles::MakeInitial>(&output)) {
    carry_out(*initial);
  } else if (auto* line = std::get_if<roles::Log>(&output)) {
    log(pid, line->text);
  } else if (auto* record = std::get_if<roles::Record>(&output)) {
    carry_out(*record);
  } else if (auto* final = std::get_if<roles::Final>(&output)) {
    carry_out(*final);
  } else if (auto* stop = std::get_if<roles::Stop>(&output)) {
    carry_out(pid, *stop);
  }
}

void Cluster::carry_out(Pid pid, roles::Send& send) {
  if (updates_) see_send(pid, send);
  if (options_.observer != nullptr && pid == kCoordinatorPid) observe(send);
  network_.send(pid, send);
}

void Cluster::see_send(Pid pid, const roles::Send& send) {
  Process& process = processes_[pid];
  const NodeId node = process.node;
  if (const auto* decide = std::get_if<wire::Decide>(&send.message)) {
    for (const PushId& push : decide->drop) {
      const bool lives = std::ranges::any_of(processes_, [&](const auto& each) {
        return each.is_alive && each.node == worker_node(push.worker) &&
               each.incarnation == push.incarnation;
      });
      if (lives && !updates_->dropped().contains(push)) untold_.try_emplace(push, world_.now());
    }
    fail(updates_->decide(*decide));
  } else if (const auto* release = std::get_if<wire::Release>(&send.message)) {
    fail(updates_->released({send.to.index}, *release));
  } else if (const auto* push = std::get_if<wire::Push>(&send.message)) {
    if (!process.computed) return fail("promise 2: a push without a gradient");
    fail(updates_->pushed(send.to.index, push->push, send.payload, *process.computed));
  } else if (const auto* head = std::get_if<wire::Parameters>(&send.message)) {
    fail(updates_->served(node.index, *head, send.payload));
  }
}

void Cluster::carry_out(Pid pid, const roles::SetTimer& timer) {
  const std::uint64_t number = ++timers_set_;
  processes_[pid].timers.at(static_cast<std::size_t>(timer.id)) = number;
  world_.plan(std::max(timer.at, world_.now()), [this, pid, id = timer.id, number] {
    std::uint64_t& set = processes_[pid].timers.at(static_cast<std::size_t>(id));
    if (set != number) return;
    set = 0;
    roles::Input fired = roles::TimerFired{id};
    take_in(pid, fired);
  });
}

void Cluster::carry_out(Pid pid, roles::Compute& compute) {
  Process& process = processes_[pid];
  const std::uint32_t worker = process.node.index;
  if (std::exchange(process.computes, true)) return fail("a worker computes two gradients at once");
  process.progressed = world_.now();
  const bool torn = may_be_torn_ || network_.lost() + network_.breaks() > 0;
  if (updates_) fail(updates_->computes({worker}, compute, torn));
  if (options_.observer != nullptr) options_.observer->computing({worker}, since_release());
  process.computed = std::move(compute);
  const Step step = computed_[worker]++;
  const Duration took = step_clocks_[worker].next(world_.now());
  std::erase_if(step_faults_[worker], [&](const Fault* fault) {
    if (fault->step != step) return false;
    world_.plan(world_.now() + took / 2, [this, fault] { carry_out(*fault); });
    return true;
  });
  world_.plan(world_.now() + took, [this, pid] { finish_compute(pid); });
}

void Cluster::finish_compute(Pid pid) {
  Process& process = processes_[pid];
  if (!process.is_alive) return;
  process.computes = false;
  roles::Compute& compute = *process.computed;
  task_.samples.assign(compute.samples.begin(), compute.samples.end());
  task_.parameters.clear();
  task_.gradient.clear();
  for (const Payload& shard : compute.parameters) task_.parameters.push_back(floats(shard));
  for (const MutablePayload& shard : compute.gradient) task_.gradient.push_back(floats(shard));
  const auto result = source_.gradient(task_);
  if (options_.observer != nullptr) {
    options_.observer->computed({process.node.index}, since_release());
  }
  roles::GradientComputed computed{.step = compute.step};
  if (!options_.check) process.computed.reset();  // the parameters are not needed any more
  if (result) {
    computed.loss = result->loss;
  } else {
    computed.error = to_string(result.error());
    source_failed(pid, cat("no gradient: ", computed.error));
  }
  roles::Input input = std::move(computed);
  take_in(pid, input);
}

void Cluster::source_failed(Pid pid, const std::string& why) {
  if (!result_.error.empty()) return;
  result_.error = cat(to_string(processes_[pid].node), ": ", why);
}

const Speed& Cluster::speed_of(std::uint32_t worker) const {
  static const Speed kDefault;
  const auto& speeds = scenario_.speeds;
  return speeds.empty() ? kDefault : speeds[std::min<std::size_t>(worker, speeds.size() - 1)];
}

void Cluster::carry_out(Pid pid, roles::Measure& measure) {
  std::vector<float> all;
  for (const Payload& shard : measure.parameters) {
    all.insert(all.end(), floats(shard).begin(), floats(shard).end());
  }
  roles::Measured measured{.number = measure.number};
  if (options_.evaluation == nullptr) {
    measured.accuracy = Bowl::accuracy(all);
  } else if (const auto result = options_.evaluation->evaluate(all)) {
    measured.accuracy = result->accuracy;
    measured.loss = result->loss;
  } else {
    measured.error = to_string(result.error());
    source_failed(pid, cat("no evaluation: ", measured.error));
  }
  world_.plan(world_.now() + scenario_.evaluation,
              [this, pid, measured] { deliver(pid, measured); });
}

void Cluster::carry_out(roles::MakeInitial& initial) {
  std::vector<float> all(scenario_.parameter_count);
  source_.initial_parameters(all);
  std::size_t at = 0;
  for (const MutablePayload& shard : initial.parameters) {
    for (float& value : floats(shard)) value = all.at(at++);
  }
}

void Cluster::carry_out(const roles::Record& record) {
  if (record.file != roles::Record::File::Decisions) return;
  if (options_.decisions) options_.decisions(record.line);
  if (!options_.check) return;
  fold(record.line);
  result_.decisions.push_back(record.line);
  const auto line = roles::parse_decision(record.line);
  if (!line) return fail(cat("decisions.jsonl: ", to_string(line.error())));
  if (to_json(*line) != record.line) return fail("decisions.jsonl: not read as it was written");
  if (const auto* pushed = std::get_if<sync::Pushed>(&line->event.what)) {
    fail(updates_->complete(pushed->push));
  }
  if (sync_) fail(sync_->check(*line));
  if (options_.keep_log) log(kCoordinatorPid, record.line);
}

void Cluster::carry_out(const roles::Final& final) {
  for (const Payload& shard : final.parameters) {
    const auto values = floats(shard);
    result_.parameters.insert(result_.parameters.end(), values.begin(), values.end());
  }
}

void Cluster::carry_out(Pid pid, const roles::Stop& stop) {
  end_process(pid, stop.exit_code, stop.why);
}

// ---- faults ----

void Cluster::plan_faults() {
  may_be_torn_ = scenario_.network.reordering.of > 0 || !scenario_.cuts.empty();
  for (const Fault& fault : scenario_.faults) {
    if (!fault.step) {
      world_.plan(fault.at, [this, &fault] { carry_out(fault); });
    } else if (fault.node.role == Role::Worker && fault.node.index < step_faults_.size()) {
      step_faults_[fault.node.index].push_back(&fault);
    }
  }
}

void Cluster::carry_out(const Fault& fault) {
  if (coordinator_ended_) return;
  if (fault.kind == Fault::Kind::BreakLink) return network_.break_link(fault.node, fault.peer);
  if (fault.kind == Fault::Kind::Twin) return start(fault.node);
  for (const Pid pid : processes_at(fault.node)) {
    Process& process = processes_[pid];
    if (fault.kind == Fault::Kind::Kill) {
      end_process(pid, -9, "killed by signal 9 (SIGKILL)");
      restart(fault);
    } else if (fault.kind == Fault::Kind::Stop) {
      deliver(pid, roles::StopRequested{130, "Ctrl+C"});
      restart(fault);
    } else if (!process.is_paused) {
      process.is_paused = true;
      log(pid, "is paused");
      world_.plan(world_.now() + fault.length, [this, pid] { go_on(pid); });
    }
  }
}

void Cluster::restart(const Fault& fault) {
  if (!fault.restart_after) return;
  world_.plan(world_.now() + kNotice + *fault.restart_after, [this, node = fault.node] {
    if (!coordinator_ended_) start(node);
  });
}

void Cluster::go_on(Pid pid) {
  Process& process = processes_[pid];
  process.is_paused = false;
  if (!process.is_alive) return;
  log(pid, "goes on");
  for (roles::Input& input : std::exchange(process.inbox, {})) {
    if (std::holds_alternative<roles::Received>(input)) {
      receive(pid, input);
    } else {
      take_in(pid, input);
    }
  }
}

// ---- the observer ----

std::uint64_t Cluster::steps_of_held(Pid pid, const roles::Input& input) {
  const auto* received = std::get_if<roles::Received>(&input);
  if (pid != kCoordinatorPid || received == nullptr) return 0;
  const auto* held = std::get_if<wire::Held>(&received->message);
  return held == nullptr ? 0 : coordinator().stats().workers.at(held->push.worker.value).steps;
}

void Cluster::observe_pushed(const roles::Input& input, std::uint64_t steps_before) {
  if (steps_of_held(kCoordinatorPid, input) == steps_before) return;
  const auto& held = std::get<wire::Held>(std::get<roles::Received>(input).message);
  options_.observer->pushed(held.push.worker, since_release());
}

void Cluster::observe(const roles::Send& send) {
  if (const auto* decide = std::get_if<wire::Decide>(&send.message)) {
    if (decide->number <= observed_) return;  // to another server, or again
    observed_ = decide->number;
    for (const wire::Update& update : decide->updates) {
      options_.observer->updated(since_release(), update.pushes.size());
    }
  } else if (const auto* release = std::get_if<wire::Release>(&send.message)) {
    const PushId push{{send.to.index}, release->incarnation, release->step};
    if (std::exchange(released_[send.to.index], push) == push) return;  // again
    options_.observer->released(push.worker, since_release());
  }
}

// ---- checks ----

void Cluster::check_progress() {
  if (!result_.failure.empty()) return;
  const Time now = world_.now();
  if (coordinator_ended_) {
    if (now - *coordinator_ended_ > scenario_.give_up + kCalm) {
      for (const Process& process : processes_) {
        if (process.is_alive && !process.is_paused) {
          return fail(cat("promise 5: the run has ended, ", to_string(process.node), " has not"));
        }
      }
    }
    return;
  }
  if (std::exchange(seen_number_, coordinator().decisions()) != coordinator().decisions()) {
    progressed_ = now;
  }
  Time calm = scenario_.calm_from == std::chrono::hours(24) ? Time{} : scenario_.calm_from;
  for (const Cut& cut : scenario_.cuts) {
    if (cut.end < scenario_.limit) calm = std::max(calm, cut.end);
  }
  for (const Process& process : processes_) {
    if (process.is_alive && process.is_paused) return;
  }
  if (now - std::max(progressed_, calm) > kCalm) {
    fail(cat("promise 5: nothing is decided since ", to_seconds(progressed_), " s, phase ",
             coordinator().stats().phase));
  }
  for (const auto& [push, since] : untold_) {
    if (now - std::max(since, calm) > kCalm) {
      fail(cat("promise 2: nobody told ", to_string(push), " that it is dropped"));
    }
  }
  const roles::Ledger* ledger = coordinator().ledger();
  if (ledger == nullptr || !ledger->has_free() || coordinator().stats().phase != "training") return;
  for (const Process& process : processes_) {
    if (!process.is_alive || process.node.role != Role::Worker) continue;
    if (now - std::max(process.progressed, calm) > kCalm) {
      fail(cat("promise 5: ", to_string(process.node), " computes nothing since ",
               to_seconds(process.progressed), " s"));
    }
  }
}

void Cluster::check_end() {
  if (!coordinator_ended_) return fail("promise 5: nothing is left to happen, and no end");
  if (!options_.check) return;
  if (result_.exit_code != 0) {
    if (!scenario_.may_fail) {
      fail(cat("promise 5: the run ends with ", result_.exit_code, ": ", result_.why));
    } else if (result_.why.size() < 5) {
      fail("promise 5: the run fails and does not say why");
    }
    return;
  }
  fail(updates_->at_end(coordinator().stats(), result_.parameters));
  const bool all_applied = coordinator().ledger()->all_applied();
  if (all_applied && coordinator().undecided() != 0) {
    fail(cat("promise 9: ", coordinator().undecided(), " pushes are kept for ever"));
  }
}

void Cluster::fail(const std::string& what) {
  if (what.empty() || !result_.failure.empty()) return;
  result_.failure = cat(what, " (at ", fixed(to_seconds(world_.now()), 6), " s)");
}

void Cluster::fold(std::string_view text) {
  for (const char c : text) fold(static_cast<unsigned char>(c));
}

void Cluster::log(Pid pid, const std::string& text) {
  if (!options_.keep_log) return;
  const Process& process = processes_[pid];
  result_.log.push_back(cat(fixed(to_seconds(world_.now()), 6), " ", to_string(process.node), "/",
                            process.life, ": ", text));
}

}  // namespace paceline::sim
