#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "paceline/roles/coordinator.h"
#include "paceline/roles/evaluator.h"
#include "paceline/roles/server.h"
#include "paceline/roles/worker.h"
#include "paceline/sim/checkers.h"
#include "paceline/sim/network.h"
#include "paceline/sim/simulate.h"
#include "paceline/sim/small_pool.h"
#include "paceline/sim/world.h"

namespace paceline::sim {

// The processes of a run, driven on virtual time as node/ drives live ones, with the scenario's
// faults, and, if asked for, the checkers after each event.
class Cluster final : public Host {
 public:
  Cluster(const Scenario& scenario, const SimOptions& options, roles::GradientSource& source);
  SimResult run();

  NodeId node_of(Pid pid) const override { return processes_[pid].node; }
  bool is_alive(Pid pid) const override { return processes_[pid].is_alive; }
  bool answers(Pid pid) const override {
    return processes_[pid].is_alive && !processes_[pid].is_paused;
  }
  std::optional<Pid> at(const std::string& address) const override;
  void deliver(Pid pid, roles::Input input) override;
  void receive(Pid pid, roles::Input& received) override;
  void fail(const std::string& what) override;

 private:
  using Part = std::variant<std::monostate, std::unique_ptr<roles::Coordinator>,
                            std::unique_ptr<roles::Server>, std::unique_ptr<roles::Worker>,
                            std::unique_ptr<roles::Evaluator>>;
  struct alignas(64) Process {  // what each event needs comes first
    NodeId node;
    bool is_alive = true;
    bool is_paused = false;
    bool computes = false;
    Part role;
    std::array<std::uint64_t, 2> timers{};  // [TimerId]: which one is set; 0: none
    std::uint64_t life = 0;
    std::optional<roles::Compute> computed;  // the last one, with its gradient
    std::vector<roles::Input> inbox;         // while it is paused
    Time progressed{};
    Incarnation incarnation = 0;  // as of its last Welcome
  };
  // A server's pushes, one after the other.
  struct Queue {
    Time free{};
    std::uint64_t pushes = 0;
    Duration waited{};
    Duration busy{};
  };

  void plan_starts();
  void start(NodeId node);
  void take_in(Pid pid, roles::Input& input);
  void perform(Pid pid, const roles::Input& input);
  void carry_out(Pid pid, roles::Output& output);
  void carry_out(Pid pid, roles::Send& send);
  void carry_out(Pid pid, roles::Compute& compute);
  void carry_out(Pid pid, roles::Measure& measure);
  void carry_out(roles::MakeInitial& initial);
  void carry_out(Pid pid, const roles::SetTimer& timer);
  void carry_out(const roles::Record& record);
  void carry_out(const roles::Final& final);
  void carry_out(Pid pid, const roles::Stop& stop);
  void finish_compute(Pid pid);
  const Speed& speed_of(std::uint32_t worker) const;

  void end_process(Pid pid, int exit_code, const std::string& why);
  void plan_faults();
  void carry_out(const Fault& fault);
  void restart(const Fault& fault);
  void go_on(Pid pid);
  std::vector<Pid> processes_at(NodeId node) const;

  bool is_over() const;
  bool is_cut_before(Time next);
  void sum_up();
  void source_failed(Pid pid, const std::string& why);

  void observe_pushed(const roles::Input& input, std::uint64_t steps_before);
  void observe(const roles::Send& send);
  std::uint64_t steps_of_held(Pid pid, const roles::Input& input);
  Time since_release() { return world_.now() - coordinator().stats().started; }

  void told(const Process& process, Incarnation incarnation);
  void see_input(Pid pid, const roles::Input& input);
  void see_send(Pid pid, const roles::Send& send);
  void check_progress();
  void check_end();
  void fold(std::uint64_t word) { hash_ = (hash_ ^ word) * 0x100000001b3U; }
  void fold(std::string_view text);
  void log(Pid pid, const std::string& text);
  roles::Coordinator& coordinator() { return *coordinator_; }

  Scenario scenario_;
  SimOptions options_;
  roles::GradientSource& source_;
  SmallPool pool_;
  World world_;
  Rng rng_;
  std::vector<StepClock> step_clocks_;  // [workers]
  std::vector<Process> processes_;
  std::map<std::string, std::vector<Pid>> at_address_;  // those that live, the last one last
  roles::Coordinator* coordinator_ = nullptr;
  roles::Outputs outputs_;    // of the role that has just stepped
  roles::GradientTask task_;  // the last one: its vectors are used again
  Network network_;
  std::unique_ptr<SyncChecker> sync_;                   // null: unchecked, or a policy of one's own
  std::unique_ptr<UpdateChecker> updates_;              // null: unchecked
  std::vector<Step> computed_;                          // [workers] over all lives
  std::vector<std::vector<const Fault*>> step_faults_;  // [workers]: those still to come
  std::vector<Queue> queues_;                           // [servers]
  std::size_t alive_ = 0;                               // processes
  std::optional<Time> cut_;                             // when the run is, once that is known
  std::uint64_t observed_ = 0;                          // decisions
  std::vector<PushId> released_;                        // [workers]: the last release observed
  std::map<PushId, Time> untold_;                       // dropped, and its worker does not know
  bool may_be_torn_ = false;
  std::uint64_t hash_ = 0xcbf29ce484222325U;
  std::uint64_t lives_ = 0;
  std::uint64_t timers_set_ = 0;
  std::uint64_t events_ = 0;
  Time progressed_{};
  std::uint64_t seen_number_ = 0;
  std::optional<Time> coordinator_ended_;
  SimResult result_;
};

}  // namespace paceline::sim
