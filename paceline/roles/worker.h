#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "paceline/base/bytes.h"
#include "paceline/roles/io.h"

namespace paceline::roles {

struct WorkerOptions {
  WorkerId id;
  std::string coordinator;                   // its address
  std::uint64_t life = 1;                    // drawn once a process, not 0
  std::uint64_t parameter_count = 0;         // floats
  std::uint64_t dataset_size = 0;            // training samples
  Duration step_floor{};                     // no step takes less: a slow machine on a fast one
  Duration retry = std::chrono::seconds(1);  // first repetition; doubles up to retry_max
  Duration retry_max = std::chrono::seconds(8);
  Duration give_up = std::chrono::seconds(30);  // without coordinator or server
};

// Computes gradients: is released with samples, gathers the parameters of that release, computes,
// pushes to all servers, and waits for its next release. Level-triggered: each tick repeats what is
// still unanswered, so that any message may be lost.
//
// Invariants:
//   (1) at most one gradient is being computed, at most one push is unanswered;
//   (2) a push is kept until every server has it, or the run has moved past it;
//   (3) what belongs to an earlier life is ignored.
class Worker {
 public:
  // pool: outlives the worker.
  Worker(WorkerOptions options, BufferPool& pool);

  Outputs step(Time now, const Input& input);
  void step(Time now, const Input& input, Outputs& outputs);  // adds to them

 private:
  struct Server {
    std::string address;
    std::uint64_t count = 0;  // floats of its shard
    bool up = false;
    Time since{};              // up or down
    Payload initial;           // to be acknowledged; null: none
    bool initialised = false;  // it said so, over this link
    Payload stashed;           // parameters that came before their release
    wire::Parameters stashed_head;
  };
  struct Task {
    wire::Release release;
    std::vector<Payload> parameters;  // [servers]; null: missing
  };
  struct Unanswered {
    PushId push;
    std::vector<Payload> payloads;  // [servers]; null: acknowledged
  };

  void on(const Started&);
  void on(const Received& received);
  void on(const PeerUp& up);
  void on(const PeerDown& down);
  void on(const TimerFired& fired);
  void on(const GradientComputed& computed);
  void on(const StopRequested& stop);
  template <typename Other>
  void on(const Other&) {}  // not for a worker

  void take(NodeId from, const wire::Welcome& welcome);
  void take(NodeId from, const wire::Expelled& expelled);
  void take(NodeId from, const wire::Initialised&);
  void take(NodeId from, const wire::Release& release);
  void take(NodeId from, const wire::Parameters& parameters, const Payload& payload);
  void take(NodeId from, const wire::PushAck& ack);
  void take(NodeId from, const wire::PushMissing& missing);
  void take(NodeId from, const wire::PushRefused& refused);
  void take(NodeId from, const wire::Dropped& dropped);
  void take(NodeId from, const wire::Ping& ping);
  void take(NodeId from, const wire::Finish& finish);

  Server* server_of(NodeId node);
  void join();
  void abandon();
  void initialise();
  void ready_if_prepared();
  void start_if_gathered();
  void push_gradient();
  void push_to(std::size_t server);
  void pull_from(std::size_t server);
  void ask_again();
  void ask_again_from(std::size_t server);
  void progressed() {
    retry_wait_ = options_.retry;
    asked_ = now_;
  }
  void fail(int exit_code, const std::string& why);
  void send(NodeId to, wire::Message message, Payload payload = nullptr);

  WorkerOptions options_;
  BufferPool& pool_;
  Outputs out_;
  Time now_{};
  bool stopped_ = false;

  std::uint64_t attempt_ = 0;
  Incarnation incarnation_ = 0;  // 0: not in the run
  bool coordinator_up_ = false;
  Time coordinator_heard_{};
  std::vector<Server> servers_;
  bool ready_ = false;

  Step next_step_ = 0;  // the step that the next release must name
  std::optional<Task> task_;
  std::optional<Step> computing_;  // also while a gradient of an earlier life is under way
  bool computing_is_ours_ = false;
  Time started_{};
  std::optional<GradientComputed> done_;  // waits for the step floor
  std::vector<MutablePayload> gradient_;
  std::optional<Unanswered> unanswered_;

  std::uint64_t pushed_bytes_ = 0;  // since the last Progress
  std::uint64_t pulled_bytes_ = 0;

  Time ticked_{};
  Duration retry_wait_;
  Time asked_{};
};

}  // namespace paceline::roles
