#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "paceline/roles/io.h"

namespace paceline::roles {

struct EvaluatorOptions {
  std::string coordinator;  // its address
  std::uint64_t life = 1;   // drawn once a process, not 0
  std::uint64_t parameter_count = 0;
  Duration retry = std::chrono::seconds(1);
  Duration give_up = std::chrono::seconds(30);  // without the coordinator
};

// Measures versions on the test set while training goes on. It is sent the parameters that it is
// to measure, and never gives any.
//
// Invariants: (1) versions are measured one at a time, in the order asked for; (2) at most
// kWaitingMax wait: the coordinator asks for no more.
class Evaluator {
 public:
  static constexpr std::size_t kWaitingMax = 4;

  explicit Evaluator(EvaluatorOptions options);

  Outputs step(Time now, const Input& input);
  void step(Time now, const Input& input, Outputs& outputs);  // adds to them

 private:
  struct Task {
    wire::Evaluate what;
    std::vector<Payload> parameters;  // [servers]; null: missing
  };

  void on(const Started&);
  void on(const Received& received);
  void on(const PeerUp& up);
  void on(const PeerDown& down);
  void on(const TimerFired& fired);
  void on(const Measured& measured);
  void on(const StopRequested& stop);
  template <typename Other>
  void on(const Other&) {}  // not for an evaluator

  void take(NodeId from, const wire::Welcome& welcome);
  void take(NodeId from, const wire::Expelled& expelled);
  void take(NodeId from, const wire::Evaluate& evaluate);
  void take(NodeId from, const wire::Parameters& parameters, const Payload& payload);
  void take(NodeId from, const wire::Ping& ping);
  void take(NodeId from, const wire::Finish& finish);

  void join();
  void measure_next();
  void stop(int exit_code, const std::string& why);
  void send(NodeId to, wire::Message message, Payload payload = nullptr);

  EvaluatorOptions options_;
  Outputs out_;
  Time now_{};
  bool stopped_ = false;
  bool coordinator_up_ = false;
  Time coordinator_heard_{};
  Time ticked_{};
  Time asked_{};
  std::uint64_t attempt_ = 0;
  std::vector<wire::Shard> shards_;                                    // empty: not welcomed yet
  std::deque<Task> tasks_;                                             // by number
  std::vector<std::pair<std::uint64_t, std::vector<Payload>>> early_;  // before their Evaluate
  std::optional<wire::Evaluated> answer_;  // the last, repeated when asked again
  std::optional<wire::Evaluate> measuring_;
};

}  // namespace paceline::roles
