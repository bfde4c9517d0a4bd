#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "paceline/base/ids.h"

// What the processes of a run say to each other. Plain structs: Protocol Buffers stay inside
// codec.cc. A tensor never stands in a message: it travels raw behind it, as the payload.
namespace paceline::wire {

// The protocol that this build speaks; peers with another one are refused with a clear word.
inline constexpr std::uint32_t kProtocolVersion = 1;

// ---- into the run ----

// Server to coordinator: I am here, others reach me at that address. Said again after each
// reconnection. life: drawn once a process, so that one that lost its shard is not taken for the
// old.
struct Register {
  std::uint64_t life = 0;
  std::string address;
  bool operator==(const Register&) const = default;
};

// Worker or evaluator to coordinator. attempt grows each time this process joins anew.
struct Join {
  std::uint64_t life = 0;
  std::uint64_t attempt = 0;
  std::uint64_t parameter_count = 0;  // floats in the flat parameter vector
  std::uint64_t dataset_size = 0;     // training samples; 0 from an evaluator
  bool operator==(const Join&) const = default;
};

// Where a part of the flat parameter vector lives.
struct Shard {
  std::uint32_t server = 0;
  std::string address;
  std::uint64_t begin = 0;  // first float
  std::uint64_t count = 0;  // floats
  bool operator==(const Shard&) const = default;
};

// Coordinator to worker or evaluator: your life in this run, and where the shards are, in order.
struct Welcome {
  std::uint64_t attempt = 0;  // of the Join that this answers
  Incarnation incarnation = 0;
  std::vector<Shard> shards;
  bool initialise = false;  // you give the servers their first parameters
  bool operator==(const Welcome&) const = default;
};

// Coordinator to worker: you are not in the run (any more); join again. why: in words.
// incarnation 0: you never will be, do not come back.
struct Expelled {
  Incarnation incarnation = 0;
  std::string why;
  bool operator==(const Expelled&) const = default;
};

// Coordinator to server: your shard and its update rule (the fields of optim::OptimizerConfig).
struct Configure {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
  std::string optimizer;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  double beta1 = 0;
  double beta2 = 0;
  double eps = 0;
  bool closed_loop = false;  // momentum is steered by what is measured
  bool operator==(const Configure&) const = default;
};

// Worker to server, payload: the shard's first parameters. The first one counts.
struct Initialise {
  bool operator==(const Initialise&) const = default;
};
// Server to whoever initialised it, and to the coordinator: the shard has its first parameters.
struct Initialised {
  bool operator==(const Initialised&) const = default;
};

// Worker to coordinator: every server is reached, I can start.
struct Ready {
  Incarnation incarnation = 0;
  bool operator==(const Ready&) const = default;
};

// ---- the life of a gradient ----

// Coordinator to worker: compute this step, from that version, on those samples.
struct Release {
  Incarnation incarnation = 0;
  Step step = 0;
  Version version = 0;
  std::uint64_t batch = 0;             // its number in the stream of the run
  std::vector<std::uint64_t> samples;  // indices into the training set
  bool operator==(const Release&) const = default;
};

// Server to worker, evaluator or coordinator, payload: the shard at `version`, for that release.
struct Parameters {
  Incarnation incarnation = 0;
  Step step = 0;
  Version version = 0;
  bool operator==(const Parameters&) const = default;
};

// Worker or evaluator to server: send me the parameters of that release (again).
struct Pull {
  Incarnation incarnation = 0;
  Step step = 0;
  bool operator==(const Pull&) const = default;
};

// Worker to server, payload: the gradient's part for this shard.
struct Push {
  PushId push;
  bool operator==(const Push&) const = default;
};
// Server to worker: I hold it, or have dealt with it already.
struct PushAck {
  PushId push;
  bool operator==(const PushAck&) const = default;
};
// Worker to server: do you hold it? Answered by PushAck or PushMissing. (A link keeps its order, so
// a push that is still under way is there before the question, and never sent twice.)
struct PushQuery {
  PushId push;
  bool operator==(const PushQuery&) const = default;
};
struct PushMissing {
  PushId push;
  bool operator==(const PushMissing&) const = default;
};
// Server to worker: I will never take that; why in words (a gradient of the wrong size).
struct PushRefused {
  PushId push;
  std::string why;
  bool operator==(const PushRefused&) const = default;
};
// Coordinator to worker: that push was not and will not be applied.
struct Dropped {
  PushId push;
  bool operator==(const Dropped&) const = default;
};

// Server to coordinator: I hold that push.
struct Held {
  PushId push;
  bool operator==(const Held&) const = default;
};

// Instead of the configured momentum: w <- w - lr (carried v + displaced d), v <- kept v + entered
// d, d being the gradient (optim/momentum.h).
struct Momentum {
  float carried = 0;
  float displaced = 1;
  float kept = 0;
  float entered = 1;
  bool operator==(const Momentum&) const = default;
};
// One update: the mean of these gradients, summed in the order given, moves the shard with lr.
struct Update {
  std::vector<PushId> pushes;
  float lr = 0;
  std::optional<Momentum> momentum;  // null: the configured one
  bool operator==(const Update&) const = default;
};
// Who gets the parameters once the updates are made.
struct Recipient {
  NodeId node;
  Incarnation incarnation = 0;
  Step step = 0;
  bool operator==(const Recipient&) const = default;
};
// Coordinator to server: the `number`th decision, counted from 1. Servers carry them out strictly
// by number: so the version after it is the same on every shard.
struct Decide {
  std::uint64_t number = 0;
  std::vector<Update> updates;
  std::vector<PushId> drop;
  std::vector<Recipient> recipients;
  bool operator==(const Decide&) const = default;
};
// Server to coordinator: done with all decisions up to this one.
struct Decided {
  std::uint64_t number = 0;
  std::uint64_t repeated = 0;  // pushes that came again so far
  bool operator==(const Decided&) const = default;
};

// Worker to coordinator, with each push: for people. Lost ones are not repeated.
struct Progress {
  Incarnation incarnation = 0;
  Step step = 0;
  float loss = 0;
  std::uint64_t compute_nanoseconds = 0;
  std::uint64_t pushed_bytes = 0;  // payload bytes of this step, repeated ones included
  std::uint64_t pulled_bytes = 0;
  bool operator==(const Progress&) const = default;
};

// Worker to coordinator: I wait for the release of this step.
struct Ask {
  Incarnation incarnation = 0;
  Step step = 0;
  bool operator==(const Ask&) const = default;
};

// ---- evaluation ----

// Coordinator to evaluator: measure that version; its parameters come as Parameters with this step.
struct Evaluate {
  std::uint64_t number = 0;
  Version version = 0;
  bool operator==(const Evaluate&) const = default;
};
struct Evaluated {
  std::uint64_t number = 0;
  Version version = 0;
  double accuracy = 0;
  double loss = 0;
  bool operator==(const Evaluated&) const = default;
};

// ---- liveness and the end ----

struct Ping {
  std::uint64_t number = 0;
  bool operator==(const Ping&) const = default;
};
struct Pong {
  std::uint64_t number = 0;
  bool operator==(const Pong&) const = default;
};

// Anyone to coordinator: I cannot go on. exit_code as in the CLI's table.
struct Failed {
  std::uint32_t exit_code = 1;
  std::string why;
  bool operator==(const Failed&) const = default;
};
// Worker to coordinator: I leave of my own will.
struct Goodbye {
  bool operator==(const Goodbye&) const = default;
};
// Coordinator to all: the run is over.
struct Finish {
  std::string why;
  bool operator==(const Finish&) const = default;
};

// The order is the wire's type number (from 1): append only.
using Message = std::variant<Register, Join, Welcome, Expelled, Configure, Initialise, Initialised,
                             Ready, Release, Parameters, Pull, Push, PushAck, PushQuery,
                             PushMissing, PushRefused, Dropped, Held, Decide, Decided, Progress,
                             Ask, Evaluate, Evaluated, Ping, Pong, Failed, Goodbye, Finish>;

std::string_view name_of(const Message& message);  // "Push"

// Bounds that every decoder keeps before it takes memory.
struct Limits {
  std::uint32_t head_bytes = 16U << 20U;       // one encoded message
  std::uint64_t payload_bytes = 16ULL << 30U;  // what a shard may weigh
};

}  // namespace paceline::wire
