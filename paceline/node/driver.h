#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "paceline/base/result.h"
#include "paceline/net/event_loop.h"
#include "paceline/net/transport.h"
#include "paceline/node/compute.h"
#include "paceline/node/recorder.h"
#include "paceline/roles/gradient_source.h"
#include "paceline/roles/io.h"

namespace paceline::node {

// What a role's outputs act on, beside the links. Null: this role has none.
struct Effects {
  roles::GradientSource* source = nullptr;  // a worker's
  roles::Evaluation* evaluation = nullptr;  // an evaluator's
  Recorder* recorder = nullptr;             // the coordinator's
  std::function<void(roles::Level, const std::string&)> log;
  std::function<Status(const roles::Final&)> keep;  // the coordinator's: the last parameters
};

// A role live: feeds it with messages, links, timers and results, and carries out what it answers.
//
// Invariants:
//   (1) inputs are taken one at a time, outputs are carried out in order and all before the next
//       input: nothing re-enters;
//   (2) source and evaluation are used by the compute thread only, but for the first parameters,
//       which are fetched before anything else;
//   (3) after Stop no input reaches the role; what it sent goes out within kFlush.
// The thread that calls run() is the loop: it owns the role.
class Driver {
 public:
  using StepFunction = std::function<roles::Outputs(Time, const roles::Input&)>;
  static constexpr Duration kFlush = std::chrono::seconds(2);

  // loop, pool and what the effects point to outlive it.
  Driver(net::EventLoop& loop, net::TransportOptions options, BufferPool& pool, Effects effects);
  ~Driver();  // waits for a computation under way
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // ---- before run() ----
  Result<std::string> listen(const std::string& address) { return transport_.listen(address); }
  // Calls it on the loop, again and again.
  void every(Duration interval, std::function<void()> task);

  // Drives the role until it stops.
  roles::Stop run(StepFunction step);

  // From any thread: an input from outside. Before run(), it waits.
  void post(roles::Input input);
  // From any thread.
  bool computing() { return compute_ && !compute_->idle(); }
  net::Counters counters() const { return transport_.counters(); }

 private:
  net::Handlers handlers();
  void feed(roles::Input input);
  void take(const roles::Input& input);

  void carry_out(roles::Send&& send);
  void carry_out(roles::Connect&& connect);
  void carry_out(roles::Disconnect&& disconnect);
  void carry_out(roles::SetTimer&& timer);
  void carry_out(roles::Compute&& compute);
  void carry_out(roles::Measure&& measure);
  void carry_out(roles::MakeInitial&& initial);
  void carry_out(roles::Log&& log);
  void carry_out(roles::Record&&) {}  // the recorder has it
  void carry_out(roles::Final&& final);
  void carry_out(roles::Stop&& stop);

  void tick_on_loop(std::size_t periodic);
  void check_files(const Status& status);

  struct Periodic {
    Duration interval;
    std::function<void()> task;
  };

  net::EventLoop& loop_;
  Effects effects_;
  StepFunction step_;
  std::vector<float> initial_;
  std::deque<roles::Input> inputs_;
  bool feeding_ = false;
  std::optional<roles::Stop> stopped_;
  Status kept_;  // whether the last parameters are
  std::vector<Periodic> periodic_;
  net::Transport transport_;
  std::optional<ComputeThread> compute_;  // goes first: its jobs post to the loop
};

}  // namespace paceline::node
