#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "paceline/base/bytes.h"
#include "paceline/base/ids.h"
#include "paceline/base/time.h"
#include "paceline/wire/messages.h"

// What goes into a role and what comes out. A role is a pure state machine:
//
//   Outputs step(Time now, const Input& input)
//
// node/ drives it with a clock and sockets, sim/ with virtual ones. `now` never goes back.
// Outputs are carried out in the order given.
namespace paceline::roles {

// ---- inputs ----

struct Started {};  // the first one

struct Received {
  NodeId from;  // proven by the connection's handshake
  wire::Message message;
  Payload payload;  // null where there is none
};

// A link to that node is up (each time it is), or broken. Whoever gave Connect is reconnected by
// the driver until told otherwise; the other side just sees links come and go. A link that carries
// nothing although there is something to carry breaks within kLinkTimeout on both sides.
struct PeerUp {
  NodeId node;
};
struct PeerDown {
  NodeId node;
  std::string why;
};
inline constexpr Duration kLinkTimeout = std::chrono::seconds(15);

// Ticks that far apart mean that this process itself was frozen (SIGSTOP, a laptop's lid): what the
// others said meanwhile is yet to be read, so nobody is silent.
inline constexpr Duration kFrozen = std::chrono::seconds(3);

enum class TimerId : std::uint8_t { Tick, StepFloor };
struct TimerFired {
  TimerId id;
};

// To a worker: what it asked for with Compute.
struct GradientComputed {
  Step step = 0;
  float loss = 0;
  Duration took{};
  std::string error;  // not empty: it failed, and why
};
// To an evaluator: what it asked for with Measure.
struct Measured {
  std::uint64_t number = 0;
  double accuracy = 0;
  double loss = 0;
  std::string error;
};

// To the coordinator: the launcher saw that process end.
struct ProcessDied {
  NodeId node;
  int exit_code = 0;
  int signal = 0;     // 0: none
  std::string cause;  // for people, with what to do: "killed by signal 9 (SIGKILL)"
};

struct StopRequested {
  int exit_code = 130;
  std::string why;  // "Ctrl+C"
};

using Input = std::variant<Started, Received, PeerUp, PeerDown, TimerFired, GradientComputed,
                           Measured, ProcessDied, StopRequested>;

// ---- outputs ----

struct Send {
  NodeId to;
  wire::Message message;
  Payload payload;  // null: none
};

// Reach that node and keep the link up.
struct Connect {
  NodeId node;
  std::string address;
};
// Drop the link to a node that is no longer wanted.
struct Disconnect {
  NodeId node;
};

// One timer an id: setting it again moves it.
struct SetTimer {
  TimerId id;
  Time at{};
};

// Worker: compute that gradient (on another thread) and answer with GradientComputed.
struct Compute {
  Step step = 0;
  std::vector<std::uint64_t> samples;
  std::vector<Payload> parameters;       // a shard each
  std::vector<MutablePayload> gradient;  // written in place, a shard each
};
// Evaluator: measure those parameters and answer with Measured.
struct Measure {
  std::uint64_t number = 0;
  std::vector<Payload> parameters;
};
// Worker that initialises: fill the shards with the model's first parameters, at once.
struct MakeInitial {
  std::vector<MutablePayload> parameters;
};

enum class Level : std::uint8_t { Debug, Info, Warning, Error };
struct Log {
  Level level = Level::Info;
  std::string text;
};

// Coordinator: one line for a file of the run's folder.
struct Record {
  enum class File : std::uint8_t { Decisions, Metrics };
  File file = File::Decisions;
  std::string line;  // JSON, without the end of line
};

// Coordinator: the parameters at the end of the run, in shards.
struct Final {
  std::vector<Payload> parameters;
};

// The role is done: the process ends with that code (interface: 0, 1, 3, 4, 5, 130, 143).
struct Stop {
  int exit_code = 0;
  std::string why;
};

using Output = std::variant<Send, Connect, Disconnect, SetTimer, Compute, Measure, MakeInitial, Log,
                            Record, Final, Stop>;
using Outputs = std::vector<Output>;

}  // namespace paceline::roles
