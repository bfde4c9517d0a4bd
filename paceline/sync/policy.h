#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "paceline/base/ids.h"
#include "paceline/base/time.h"

namespace paceline::sync {

// A worker comes in, or comes back. The policy decides where its clock starts.
struct Joined {
  WorkerId worker;
  bool operator==(const Joined&) const = default;
};

// Every shard holds that gradient. One push a release: a second one is ignored.
struct Pushed {
  PushId push;
  bool operator==(const Pushed&) const = default;
};

// A worker is gone, or has no more data. A push of it that is complete still counts at its barrier.
struct Left {
  WorkerId worker;
  bool operator==(const Left&) const = default;
};

struct Event {
  Time now{};  // handed in, never read; does not go back
  std::variant<Joined, Pushed, Left> what;
  bool operator==(const Event&) const = default;
};

// One update: a push alone, or the mean of several, in rank order.
struct Apply {
  std::vector<PushId> pushes;
  bool operator==(const Apply&) const = default;
};

// What the caller must do now, in this order.
struct Decision {
  std::vector<Apply> apply;       // each becomes the next version, on every shard
  std::vector<PushId> drop;       // never applied; their workers are told
  std::vector<WorkerId> release;  // by id; may start their next step, from the version just made
  std::string reason;             // for people: log, dashboard, test. Empty: nothing was decided
  bool operator==(const Decision&) const = default;
};

// When may a worker go on, and which gradients are applied? A pure state machine: the same events
// give the same decisions, on any machine, live or simulated.
//
// A worker is released once for each push; the release after Joined is its first. Any event may
// come at any time: one that makes no sense (a push of a worker that is not in, or not released; a
// second join or leave) changes nothing and gives an empty decision.
class SyncPolicy {
 public:
  virtual ~SyncPolicy() = default;
  virtual std::string spec() const = 0;  // as the registry parses it: "ssp:3"
  virtual Decision step(const Event& event) = 0;
};

}  // namespace paceline::sync
