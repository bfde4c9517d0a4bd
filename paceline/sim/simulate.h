#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/roles/gradient_source.h"
#include "paceline/roles/run_stats.h"
#include "paceline/sim/scenario.h"
#include "paceline/sync/policy.h"

namespace paceline::sim {

struct ProcessEnd {
  NodeId node;
  std::uint64_t life = 0;
  int exit_code = 0;  // -9: killed
  std::string why;
  Time at{};
  bool operator==(const ProcessEnd&) const = default;
};

struct SimResult {
  std::string failure;  // empty: every promise was kept. Else the promise by number, and what broke
  // What the gradient source or the evaluation said when it failed first, and for whom. Unchecked,
  // the run is cut there; checked, it goes on as a live one does.
  std::string error;
  std::uint64_t hash = 0;    // of all events: the same scenario gives the same hash
  std::uint64_t events = 0;  // messages delivered, timers fired, computations ended
  Time ended{};              // virtual

  int exit_code = -1;  // of the coordinator; -1: it did not end
  std::string why;
  // Bytes are times Scenario::payload_scale. Of a run that was cut: as of then, with the waits that
  // are still open.
  roles::RunStats stats;
  std::vector<std::string> decisions;  // the lines of decisions.jsonl; none if unchecked
  std::vector<std::string> log;        // "   1.234567 worker 2: ..."
  std::vector<ProcessEnd> ends;        // in the order in which they ended
  std::vector<float> parameters;       // at the end, if it ended with 0

  double server_queue_seconds = 0;        // mean wait of a push until its server begins with it
  std::vector<double> server_busy_share;  // [servers]; of the time since the first release

  std::uint64_t lost_messages = 0;
  std::uint64_t link_breaks = 0;
  bool operator==(const SimResult&) const = default;
};

// Is told of each step of a worker as it happens. Times are since the first release.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void released(WorkerId, Time) {}
  virtual void computing(WorkerId, Time) {}  // it has its parameters
  virtual void computed(WorkerId, Time) {}
  virtual void pushed(WorkerId, Time) {
  }  // complete: the coordinator knows that every server has it
  virtual void updated(Time, std::size_t /*pushes*/) {}
};

// Pointers outlive the run.
struct SimOptions {
  roles::GradientSource* source = nullptr;  // null: a Bowl
  roles::Evaluation* evaluation = nullptr;  // null: a Bowl's accuracy
  bool keep_log = false;                    // also every message
  // False: no checkers, no hash, messages are not encoded, and nothing is kept that grows with the
  // length of the run.
  bool check = true;
  // One's own policy, instead of Scenario::policy; the checker of policies knows nothing of it.
  std::function<std::unique_ptr<sync::SyncPolicy>()> policy;
  std::function<void(std::string_view)> decisions;  // each line of decisions.jsonl, without its end
  Observer* observer = nullptr;
};

// Runs the roles on virtual time; with the checkers (checkers.h) after every event, it stops at the
// first broken promise.
SimResult run(const Scenario& scenario, const SimOptions& options = {});

}  // namespace paceline::sim
