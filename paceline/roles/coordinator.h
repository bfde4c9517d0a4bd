#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "paceline/membership/membership.h"
#include "paceline/optim/optimizer.h"
#include "paceline/optim/schedule.h"
#include "paceline/roles/io.h"
#include "paceline/roles/ledger.h"
#include "paceline/roles/loss_mean.h"
#include "paceline/roles/run_stats.h"
#include "paceline/roles/sample_stream.h"
#include "paceline/roles/server_set.h"
#include "paceline/sync/policy.h"

namespace paceline::roles {

struct CoordinatorOptions {
  std::uint32_t workers = 1;
  std::uint32_t servers = 1;
  bool evaluator = false;
  std::uint64_t seed = 1;
  std::uint64_t samples = 0;     // the budget of the run
  std::uint64_t batch_size = 1;  // per worker and step
  optim::OptimizerConfig optimizer;
  double lr = 0.1;
  optim::LrScale lr_scale = optim::LrScale::PerSample;
  optim::MomentumScale momentum_scale = optim::MomentumScale::None;
  optim::Schedule schedule;
  std::uint64_t eval_every_samples = 0;   // 0: only at the end
  std::optional<double> target_accuracy;  // 0..1
  bool stop_at_target = false;
  Duration start_deadline = std::chrono::seconds(60);    // then it starts with those who are there
  Duration silence = std::chrono::seconds(15);           // of a peer whose link is up
  Duration server_grace = std::chrono::seconds(3);       // without a link to a server
  Duration worker_grace = std::chrono::seconds(20);      // without any worker
  Duration finish_deadline = std::chrono::seconds(120);  // for the last evaluation
  Duration metrics_every = std::chrono::seconds(1);
  // Training begins as soon as that many workers are ready; the others join it. 0: all of them.
  std::uint32_t start_workers = 0;
  bool record_decisions = true;  // lines of decisions.jsonl
};

// Knows who is in the run, who may go on, which samples are where, and which update is next. It
// numbers the decisions of the policy; the servers carry them out in that order.
//
// Invariants:
//   (1) a decision once numbered never changes, and is repeated to a server until it is done there;
//   (2) a push is handed to the policy once, when every server holds it;
//   (3) a worker has at most one lease; what it had when it left goes back, unless its push is
//       complete: that one still counts;
//   (4) the run ends when every batch of the budget is applied.
class Coordinator {
 public:
  // policy: not null.
  Coordinator(CoordinatorOptions options, std::unique_ptr<sync::SyncPolicy> policy);

  Outputs step(Time now, const Input& input);
  void step(Time now, const Input& input, Outputs& outputs);  // adds to them

  // As of the last step.
  const RunStats& stats() const { return stats_; }
  // As of `now`, not before the last step, with the waits that are still open.
  RunStats stats_at(Time now) const;
  const Ledger* ledger() const { return ledger_ ? &*ledger_ : nullptr; }
  std::uint64_t decisions() const { return number_; }
  std::size_t undecided() const { return undecided_; }  // pushes, also those to come

 private:
  enum class State : std::uint8_t { Starting, Training, Finishing, Done };
  enum class Place : std::uint8_t {
    Out,       // not in the policy
    Held,      // in the policy, waits to be released
    Released,  // owes a push
    Drained,   // released, but there was no batch left: out of the policy until one comes back
  };
  struct Pending {  // a push that was released and is not decided
    PushId push;
    std::uint64_t batch = 0;
    std::uint64_t applied = 0;  // pushes, when it was released
    Version version = 0;
    ServerSet held;
    bool complete = false;
  };
  struct WorkerState {
    bool up = false;            // its link
    bool died = false;          // the launcher saw it end; set by set_state
    bool ready = false;         // in this life; set by set_state
    std::uint64_t attempt = 0;  // of the Join that this life began with
    Place place = Place::Out;
    Step next_step = 0;
    wire::Release release;              // the last one
    std::optional<Time> waits_since{};  // its push is complete, and no release since
    // Released and not decided: one, or, if it came back meanwhile, one of each life.
    std::vector<Pending> pending;
    Step clock = 0;  // pushes counted, from the slowest's clock when it came in
  };
  struct ServerState {
    bool up = false;
    std::uint64_t life = 0;  // 0: never registered
    std::string address;
    Time since{};  // up or down
    Time heard{};
    bool initialised = false;
    std::uint64_t decided = 0;
    std::uint64_t repeated = 0;
    Time sent{};
    Payload final_shard;
  };
  struct Evaluation {
    std::uint64_t number = 0;
    EvaluationStats stats;
  };

  // coordinator.cc: who is in the run
  void on(const Started&);
  void on(const Received& received);
  void on(const PeerUp& up);
  void on(const PeerDown& down);
  void on(const TimerFired& fired);
  void on(const ProcessDied& died);
  void on(const StopRequested& stop);
  template <typename Other>
  void on(const Other&) {}  // not for a coordinator

  void take(NodeId from, const wire::Register& message);
  void take(NodeId from, const wire::Join& join);
  void take(NodeId from, const wire::Initialised&);
  void take(NodeId from, const wire::Ready& ready);
  void take(NodeId from, const wire::Ask& ask);
  void take(NodeId from, const wire::Held& held);
  void take(NodeId from, const wire::Decided& decided);
  void take(NodeId from, const wire::Progress& progress);
  void take(NodeId from, const wire::Evaluated& evaluated);
  void take(NodeId from, const wire::Parameters& parameters, const Payload& payload);
  void take(NodeId from, const wire::Failed& failed);
  void take(NodeId from, const wire::Goodbye&);
  void take(NodeId from, const wire::Ping& ping);

  void set_state(WorkerState& worker, bool ready, bool died);
  WorkerState* worker_of(NodeId node);
  ServerState* server_of(NodeId node);
  bool is_current(NodeId from, Incarnation incarnation);
  void refuse(NodeId node, const std::string& why);
  bool fits(NodeId from, const wire::Join& join);
  void welcome(NodeId node, std::uint64_t attempt, Incarnation incarnation);
  void configure(std::uint32_t server);
  void choose_initialiser();
  bool all_initialised() const;
  bool all_registered() const;
  std::string missing() const;
  void start_if_ready();
  void start();
  void leave(WorkerId worker, std::optional<Failure> failure);
  void depart(WorkerId worker);
  void note_failure(Failure failure);
  void explain_failure(Failure failure);
  void evaluator_left(Failure failure);
  void end_if_nobody_is_left(const Failure& last);
  int exit_code_of_failures() const;
  void watch_the_servers();
  void watch_the_workers();
  void watch_the_start();
  void ping();
  void forgive_silence();

  // coordinator_decide.cc: the life of a push
  void feed(std::variant<sync::Joined, sync::Pushed, sync::Left> what);
  void carry_out(const sync::Event& event, const sync::Decision& decision);
  void apply(const sync::Apply& apply, wire::Decide& decide);
  void drop(const PushId& push, wire::Decide& decide);
  void release(WorkerId worker, wire::Decide& decide);
  void evaluate_if_due(wire::Decide& decide);
  std::uint64_t ask_evaluation(wire::Decide& decide);
  void repeat_evaluations();
  void issue(wire::Decide decide);
  void send_release(WorkerId worker);
  void resend(std::uint32_t server);
  void recall_drained();
  Pending* pending_of(const PushId& push);
  void forget_pending(const PushId& push);
  void note_clock(const sync::Event& event);

  // coordinator_finish.cc: the end, and what is said of the run
  void begin_finish(const std::string& why);
  void finish_if_done();
  void end(int exit_code, const std::string& why);
  void watch_the_finish();
  void record_metrics();
  void record_evaluation(const EvaluationStats& evaluation);
  Time since_start() const { return stats_.training ? now_ - stats_.started : Time{}; }

  void send(NodeId to, wire::Message message, Payload payload = nullptr);
  void log(Level level, std::string text);

  CoordinatorOptions options_;
  std::unique_ptr<sync::SyncPolicy> policy_;
  Outputs out_;
  Time now_{};
  State state_ = State::Starting;

  membership::Membership membership_;
  std::vector<WorkerState> workers_;
  std::uint32_t ready_ = 0;    // of these
  std::uint32_t awaited_ = 0;  // neither ready nor seen to end
  std::uint32_t drained_ = 0;
  Time silence_due_{};  // nobody can have been silent for too long before
  std::vector<ServerState> servers_;
  bool evaluator_up_ = false;
  bool evaluator_in_ = false;
  bool evaluator_gone_ = false;  // it was in, or its process ended, and it is not awaited any more
  std::uint64_t evaluator_attempt_ = 0;
  Time evaluator_heard_{};
  std::uint64_t parameter_count_ = 0;  // 0: nobody said yet
  std::uint64_t dataset_size_ = 0;
  std::optional<WorkerId> initialiser_;
  Time nobody_since_{};
  Time reminded_{};
  Time ticked_{};
  Time pinged_{};
  std::uint64_t ping_number_ = 0;

  std::optional<SampleStream> stream_;
  std::optional<Ledger> ledger_;
  std::size_t undecided_ = 0;             // pushes of all workers
  std::map<Step, std::uint32_t> clocks_;  // clock -> workers that the policy knows at it
  std::deque<std::variant<sync::Joined, sync::Pushed, sync::Left>> events_;
  bool feeding_ = false;
  std::deque<wire::Decide> decides_;  // not yet done by every server
  std::uint64_t number_ = 0;          // of the last decision

  std::uint64_t evaluation_number_ = 0;
  std::uint64_t next_evaluation_at_ = 0;  // samples
  std::deque<Evaluation> evaluations_;    // asked for, not answered
  std::uint64_t final_evaluation_ = 0;    // its number; 0: none
  Time finishing_since_{};
  std::string finish_why_;

  LossMean losses_;
  optim::MeanStaleness staleness_;
  optim::MeanStaleness behind_;
  Time recorded_{};
  RunStats stats_;
};

}  // namespace paceline::roles
