#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "paceline/base/bytes.h"
#include "paceline/base/worker_table.h"
#include "paceline/optim/closed_loop.h"
#include "paceline/optim/optimizer.h"
#include "paceline/roles/io.h"

namespace paceline::roles {

struct ServerOptions {
  std::uint32_t index = 0;
  std::string coordinator;  // its address
  std::string address;      // where others reach this server
  std::uint64_t life = 1;   // drawn once a process, not 0
  Duration retry = std::chrono::seconds(1);
  Duration give_up = std::chrono::seconds(30);  // without the coordinator
};

// Owns a shard of the parameters and its optimizer state; keeps pushes until the coordinator has
// decided about them.
//
// Invariants:
//   (1) decisions are carried out in the order of their numbers, each once;
//   (2) a push is held, or decided, or unknown; a decided one is never held again;
//   (3) of one worker at most kHeldPerWorker pushes are held: the next is not acknowledged.
// Memory: shard x (1 + optimizer state + 1 for means + 1 for what is sent) + kHeldPerWorker x
// workers x shard at most; in a healthy run one push a worker (promise 9).
class Server {
 public:
  static constexpr std::size_t kHeldPerWorker = 4;

  // pool: outlives the server.
  Server(ServerOptions options, BufferPool& pool);

  Outputs step(Time now, const Input& input);
  void step(Time now, const Input& input, Outputs& outputs);  // adds to them

  // For checkers and tests.
  std::span<const float> parameters() const { return parameters_; }
  Version version() const { return version_; }
  std::uint64_t decided() const { return decided_; }
  std::size_t held() const { return held_count_; }

 private:
  struct Gradient {
    PushId push;
    Payload payload;
    Time reported{};
    Duration wait{};  // until it is reported again
  };
  struct Worker {
    std::vector<Gradient> held;                // at most kHeldPerWorker
    std::optional<PushId> last_decided;        // the highest; lower ones come too late
    std::optional<wire::Recipient> recipient;  // its last release
    Version recipient_version = 0;             // that it was released from
  };

  void on(const Started&);
  void on(const Received& received);
  void on(const PeerUp& up);
  void on(const PeerDown& down);
  void on(const TimerFired& fired);
  void on(const StopRequested& stop);
  template <typename Other>
  void on(const Other&) {}  // not for a server

  void take(NodeId from, const wire::Configure& configure);
  void take(NodeId from, const wire::Initialise&, const Payload& payload);
  void take(NodeId from, const wire::Push& push, const Payload& payload);
  void take(NodeId from, const wire::PushQuery& query);
  void take(NodeId from, const wire::Pull& pull);
  void take(NodeId from, const wire::Decide& decide);
  void take(NodeId from, const wire::Ping& ping);
  void take(NodeId from, const wire::Finish& finish);

  static Gradient* find(Worker& worker, const PushId& push);
  static bool is_decided(const Worker& worker, const PushId& push);
  void forget(const PushId& push);
  std::vector<Gradient*> held_in_order();
  bool apply(const wire::Update& update);
  void move(std::span<const float> gradient, const wire::Update& update);
  void serve(const wire::Recipient& recipient);
  void report(Gradient& gradient);
  void report_again();
  void fail(int exit_code, const std::string& why);
  void send(NodeId to, wire::Message message, Payload payload = nullptr);

  ServerOptions options_;
  BufferPool& pool_;
  Outputs out_;
  Time now_{};
  bool stopped_ = false;
  bool coordinator_up_ = false;
  Time coordinator_heard_{};
  Time ticked_{};

  std::vector<float> parameters_;  // empty: not configured yet
  bool initialised_ = false;
  std::unique_ptr<optim::Optimizer> optimizer_;
  bool is_steered_ = false;  // configured: momentum in a closed loop
  optim::OptimizerConfig rule_;
  std::optional<optim::ClosedLoop> loop_;
  std::vector<float> mean_;
  Version version_ = 0;
  std::uint64_t decided_ = 0;
  std::uint64_t repeated_ = 0;

  WorkerTable<Worker> workers_;  // those that pushed or were released
  std::size_t held_count_ = 0;
  Time report_due_ = Time::max();                 // no push is to be reported again before
  std::map<NodeId, wire::Recipient> recipients_;  // the last question of each that is no worker
  Payload snapshot_;                              // of snapshot_version_; null: none
  Version snapshot_version_ = 0;
};

}  // namespace paceline::roles
