#include <algorithm>
#include <set>

#include "paceline/base/text.h"
#include "paceline/sim/scenario.h"

// Scenarios from a seed. What is drawn here is what the roles promise to survive; the rest (a
// server that dies) may end the run, and then must end it with a reason.
namespace paceline::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Drawer {
 public:
  explicit Drawer(std::uint64_t seed)
      : seed_(seed), rng_(Rng(seed).stream("scenario")), shape_rng_(Rng(seed).stream("shape")) {}

  Scenario draw() {
    scenario_.seed = seed_;
    draw_sizes();
    draw_policy();
    draw_rule();
    draw_speeds();
    draw_network();
    draw_faults();
    return std::move(scenario_);
  }

 private:
  Duration between(Duration low, Duration high) {
    return Duration{rng_.between(low.count(), high.count())};
  }
  bool one_in(std::uint64_t n) { return rng_.chance(1, n); }
  WorkerId a_worker() { return {static_cast<std::uint32_t>(rng_.below(scenario_.run.workers))}; }
  NodeId a_server() {
    return server_node(static_cast<std::uint32_t>(rng_.below(scenario_.run.servers)));
  }

  void draw_sizes() {
    roles::CoordinatorOptions& run = scenario_.run;
    run.workers = static_cast<std::uint32_t>(1 + rng_.below(one_in(8) ? 12 : 6));
    run.servers = static_cast<std::uint32_t>(1 + rng_.below(4));
    run.seed = rng_.next();
    run.batch_size = 1 + rng_.below(8);
    run.samples = 1 + rng_.below(one_in(4) ? 10 * run.batch_size : 120 * run.batch_size);
    scenario_.parameter_count = run.servers + rng_.below(30);
    scenario_.dataset_size = one_in(3) ? 1 + rng_.below(40) : 50 + rng_.below(1000);
    run.evaluator = one_in(2);
    if (run.evaluator && one_in(2)) run.eval_every_samples = 1 + rng_.below(run.samples);
    if (run.evaluator && one_in(3)) {
      run.target_accuracy = rng_.unit();
      run.stop_at_target = one_in(2);
    }
    scenario_.start_within = one_in(2) ? seconds(0) : between(milliseconds(1), seconds(5));
    scenario_.evaluation = between(milliseconds(1), seconds(2));
    scenario_.retry = between(milliseconds(200), seconds(2));
  }

  void draw_policy() {
    const std::uint64_t low = rng_.below(5);
    const std::uint64_t high = low + rng_.below(8);
    switch (rng_.below(6)) {
      case 0:
        scenario_.policy = "bsp";
        break;
      case 1:
        scenario_.policy = "asp";
        break;
      case 2:
        scenario_.policy = cat("ssp:", low);
        break;
      case 3:
        scenario_.policy = cat("dssp:", low, "-", high);
        break;
      case 4:
        scenario_.policy = cat("dssp_literal:", low, "-", high);
        break;
      default:
        scenario_.policy =
            cat("elastic_bsp:", 1 + rng_.below(20), one_in(3) ? ",predictor=last" : "",
                one_in(4) ? ",points=paper" : "");
    }
    scenario_.run.workers = std::min(scenario_.run.workers, 8U);  // a reason names eight quotas
  }

  void draw_rule() {
    roles::CoordinatorOptions& run = scenario_.run;
    run.lr = 0.01 + rng_.unit() * 0.2;
    if (one_in(3)) run.optimizer.momentum = 0.9;
    if (run.optimizer.momentum > 0 && one_in(2)) run.optimizer.nesterov = true;
    if (run.optimizer.momentum > 0) {
      constexpr optim::MomentumScale kScales[] = {
          optim::MomentumScale::None, optim::MomentumScale::Samples,
          optim::MomentumScale::Staleness, optim::MomentumScale::Backdated,
          optim::MomentumScale::ClosedLoop};
      run.momentum_scale = kScales[rng_.below(std::size(kScales))];
    }
    if (one_in(4)) run.optimizer.weight_decay = 0.01;
    if (one_in(5)) run.optimizer = {.name = one_in(2) ? "adam" : "adamw"};
    if (one_in(3)) run.lr_scale = optim::LrScale::PerUpdate;
    if (one_in(3)) run.schedule.name = optim::ScheduleName::Cosine;
    if (one_in(4)) run.schedule.warmup = 0.1;
  }

  void draw_speeds() {
    const Duration base = between(milliseconds(1), milliseconds(200));
    for (std::uint32_t w = 0; w < scenario_.run.workers; ++w) {
      Speed speed{.step = base};
      if (one_in(3)) speed.step = base * static_cast<std::int64_t>(1 + rng_.below(6));
      if (one_in(2)) speed.jitter = 0.01 * static_cast<double>(rng_.below(90));
      if (one_in(4)) {
        speed.straggler.probability = 1 / static_cast<double>(2 + rng_.below(20));
        speed.straggler.factor = static_cast<double>(2 + rng_.below(15));
      }
      if (one_in(6)) speed.drift.per_step = 0.001 * static_cast<double>(rng_.below(30));
      draw_shape(speed);
      scenario_.speeds.push_back(speed);
    }
    if (one_in(4)) scenario_.step_floor = between(milliseconds(1), milliseconds(300));
  }

  // From chance of its own: all else of a scenario is as it is without. The tails are such that no
  // step takes as long as the checkers wait for one.
  void draw_shape(Speed& speed) {
    if (shape_rng_.chance(2, 3)) return;
    const Duration mean = mean_of(speed.step);
    switch (shape_rng_.below(6)) {
      case 0:
        speed.step = Uniform{.low = mean / 2, .high = mean * 3 / 2};
        break;
      case 1:
        speed.step = Normal{.mean = mean, .sigma = mean / 3};
        break;
      case 2:
        speed.step = Lognormal{.mean = mean, .sigma = 0.1 + 0.5 * shape_rng_.unit()};
        break;
      case 3:
        speed.step = Exponential{.mean = mean, .min = mean / 2};
        break;
      case 4:
        speed.step = Pareto{.scale = mean / 2, .alpha = 4};
        break;
      default:
        speed.step = trace_of({mean, mean / 2, mean * 2});
    }
    if (shape_rng_.chance(1, 3)) {
      const Duration from{shape_rng_.between(0, Duration{seconds(10)}.count())};
      speed.slow.push_back({.factor = 3, .from = from, .until = from + seconds(2)});
      if (shape_rng_.chance(1, 2)) speed.slow.back().every = seconds(5);
    }
    speed.straggler.steps = 1 + shape_rng_.below(5);
    speed.straggler.factor = std::min(speed.straggler.factor, 4.0);
  }

  void draw_network() {
    NetworkOptions& network = scenario_.network;
    network.latency = between(Duration{1000}, one_in(4) ? milliseconds(80) : milliseconds(2));
    if (one_in(2)) network.jitter = between(Duration{0}, 4 * network.latency);
    if (one_in(6)) network.bytes_per_second = 2000 + rng_.below(2'000'000);
    scenario_.calm_from = between(seconds(2), seconds(60));
    const auto some = [&] { return Ratio{1 + rng_.below(10), 100}; };
    if (one_in(3)) network.loss = some();
    if (one_in(3)) network.duplication = some();
    if (one_in(3)) network.reordering = some();
    network.reordering_delay = between(milliseconds(1), one_in(3) ? seconds(5) : milliseconds(200));
    if (one_in(3)) draw_cuts();
  }

  // Those to a server end before it counts as silent; others may last until links break.
  void draw_cuts() {
    for (std::uint64_t n = 1 + rng_.below(4); n > 0; --n) {
      Cut cut{.both_ways = one_in(2), .begin = between(seconds(0), seconds(40))};
      Duration most = seconds(40);
      switch (rng_.below(3)) {
        case 0:
          cut.from = worker_node(a_worker());
          cut.to = kCoordinator;
          break;
        case 1:
          cut.from = worker_node(a_worker());
          cut.to = a_server();
          break;
        default:
          cut.from = a_server();
          cut.to = kCoordinator;
          most = seconds(10);
      }
      if (one_in(2)) std::swap(cut.from, cut.to);
      cut.end = cut.begin + between(milliseconds(1), most);
      scenario_.cuts.push_back(cut);
    }
  }

  void when(Fault& fault) {
    if (fault.node.role == Role::Worker && one_in(2)) {
      fault.step = rng_.below(40);
    } else {
      fault.at = between(seconds(0), one_in(2) ? seconds(3) : seconds(40));
    }
  }

  void draw_faults() {
    scenario_.launcher = !one_in(4);
    if (one_in(3)) return judge();
    for (std::uint64_t n = 1 + rng_.below(5); n > 0; --n) {
      Fault fault;
      switch (rng_.below(9)) {
        case 0:
        case 1:
        case 2:
          fault.kind = Fault::Kind::Kill;
          fault.node = worker_node(a_worker());
          if (!one_in(3)) fault.restart_after = between(milliseconds(10), seconds(4));
          break;
        case 3:
          fault = {.kind = Fault::Kind::Pause,
                   .node = worker_node(a_worker()),
                   .length = between(milliseconds(10), seconds(60))};
          break;
        case 4: {
          const bool of_server = one_in(2);
          fault = {.kind = Fault::Kind::Pause,
                   .node = of_server ? a_server() : kCoordinator,
                   .length = between(milliseconds(10), seconds(of_server ? 9 : 22))};
          break;
        }
        case 5:
        case 6:
          draw_break(fault);
          break;
        case 7:
          fault.kind = Fault::Kind::Twin;
          fault.node = worker_node(a_worker());
          break;
        default:
          fault.kind = Fault::Kind::Kill;
          fault.node = scenario_.run.evaluator ? kEvaluator : worker_node(a_worker());
      }
      when(fault);
      scenario_.faults.push_back(fault);
    }
    if (one_in(25)) {
      scenario_.faults.push_back(
          {.kind = Fault::Kind::Kill, .node = a_server(), .at = between(seconds(0), seconds(20))});
      scenario_.may_fail = true;
    }
    judge();
  }

  void draw_break(Fault& fault) {
    fault.kind = Fault::Kind::BreakLink;
    switch (rng_.below(4)) {
      case 0:
        fault.node = worker_node(a_worker()), fault.peer = kCoordinator;
        break;
      case 1:
        fault.node = a_server(), fault.peer = kCoordinator;
        break;
      case 2:
        fault.node = kEvaluator, fault.peer = kCoordinator;
        break;
      default:
        fault.node = worker_node(a_worker()), fault.peer = a_server();
    }
  }

  // All workers may be gone for longer than the run waits for one, a server for longer than it
  // waits for that.
  void judge() {
    std::set<NodeId> troubled;
    std::uint64_t servers_troubled = 0;
    for (const Fault& fault : scenario_.faults) {
      if (fault.kind != Fault::Kind::BreakLink && fault.node.role == Role::Worker) {
        troubled.insert(fault.node);
      }
      const bool of_server = fault.node.role == Role::Server || fault.node == kCoordinator;
      if (of_server && (fault.kind == Fault::Kind::Pause || fault.peer == kCoordinator)) {
        ++servers_troubled;
      }
    }
    for (const Cut& cut : scenario_.cuts) {
      bool of_server = true;
      for (const NodeId node : {cut.from, cut.to}) {
        if (node.role != Role::Worker) continue;
        troubled.insert(node);
        of_server = false;
      }
      if (of_server) ++servers_troubled;
    }
    if (troubled.size() >= scenario_.run.workers || servers_troubled > 1) {
      scenario_.may_fail = true;
    }
  }

  std::uint64_t seed_;
  Rng rng_;
  Rng shape_rng_;
  Scenario scenario_;
};

}  // namespace

Scenario draw_scenario(std::uint64_t seed) { return Drawer(seed).draw(); }

Scenario scenario_of(const roles::CoordinatorOptions& options, std::string policy,
                     std::uint64_t parameter_count, std::uint64_t dataset_size) {
  Scenario scenario;
  scenario.policy = std::move(policy);
  scenario.run = options;
  scenario.parameter_count = parameter_count;
  scenario.dataset_size = dataset_size;
  return scenario;
}

std::string describe(const Scenario& scenario) {
  const roles::CoordinatorOptions& run = scenario.run;
  return cat(scenario.policy, ", ", run.workers, " workers, ", run.servers, " servers, ",
             run.samples, " samples by ", run.batch_size, ", loss ", scenario.network.loss.of,
             " %, duplication ", scenario.network.duplication.of, " %, reordering ",
             scenario.network.reordering.of, " %, ", scenario.cuts.size(), " cuts, ",
             scenario.faults.size(), " faults", scenario.may_fail ? ", may fail" : "");
}

}  // namespace paceline::sim
