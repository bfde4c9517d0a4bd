#include "paceline/wire/codec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "paceline/base/text.h"
#include "paceline/wire/paceline.pb.h"

namespace paceline::wire {
namespace {

// Remembers the first thing that was wrong with a message.
class Checks {
 public:
  void require(bool holds, std::string_view what) {
    if (!holds && wrong_.empty()) wrong_ = what;
  }
  std::string_view wrong() const { return wrong_; }

 private:
  std::string_view wrong_;
};

std::string text_to_pb(const std::string& text) { return text.substr(0, kMaxText); }
std::string text_from_pb(const std::string& text, Checks& checks) {
  checks.require(text.size() <= kMaxText, "a text that is too long");
  return text;
}

template <typename List>
bool bounded(const List& list, Checks& checks) {
  checks.require(list.size() <= kMaxList, "a list that is too long");
  return list.size() <= kMaxList;
}

void check_range(std::uint64_t begin, std::uint64_t count, Checks& checks) {
  checks.require(begin <= kMaxFloats && count <= kMaxFloats - begin, "a shard out of all bounds");
}

// ---- parts ----

void fill(pb::PushId* pb, const PushId& push) {
  pb->set_worker(push.worker.value);
  pb->set_incarnation(push.incarnation);
  pb->set_step(push.step);
}
PushId from_pb(const pb::PushId& pb, Checks& checks) {
  checks.require(pb.worker() < kMaxIndex, "a worker out of all bounds");
  return {WorkerId{pb.worker()}, pb.incarnation(), pb.step()};
}

// The messages that are a push's identity and nothing else.
template <typename Pb, typename M>
Pb push_to_pb(const M& m) {
  Pb pb;
  fill(pb.mutable_push(), m.push);
  return pb;
}
template <typename Pb>
PushId push_from_pb(const Pb& pb, Checks& checks) {
  checks.require(pb.has_push(), "no push");
  return from_pb(pb.push(), checks);
}

NodeId from_pb(const pb::NodeId& pb, Checks& checks) {
  checks.require(pb.role() <= static_cast<std::uint32_t>(Role::Evaluator), "an unknown role");
  checks.require(pb.index() < kMaxIndex, "a node out of all bounds");
  return {static_cast<Role>(pb.role() & 3U), pb.index()};
}

void fill(pb::Shard* pb, const Shard& shard) {
  pb->set_server(shard.server);
  pb->set_address(text_to_pb(shard.address));
  pb->set_begin(shard.begin);
  pb->set_count(shard.count);
}
Shard from_pb(const pb::Shard& pb, Checks& checks) {
  checks.require(pb.server() < kMaxIndex, "a server out of all bounds");
  check_range(pb.begin(), pb.count(), checks);
  return {pb.server(), text_from_pb(pb.address(), checks), pb.begin(), pb.count()};
}

void fill(pb::Momentum* pb, const Momentum& momentum) {
  pb->set_carried(momentum.carried);
  pb->set_displaced(momentum.displaced);
  pb->set_kept(momentum.kept);
  pb->set_entered(momentum.entered);
}
Momentum from_pb(const pb::Momentum& pb, Checks& checks) {
  const Momentum momentum{pb.carried(), pb.displaced(), pb.kept(), pb.entered()};
  checks.require(std::isfinite(momentum.carried) && std::isfinite(momentum.displaced) &&
                     std::isfinite(momentum.kept) && std::isfinite(momentum.entered),
                 "a momentum that is no number");
  return momentum;
}

void fill(pb::Update* pb, const Update& update) {
  for (const PushId& push : update.pushes) fill(pb->add_pushes(), push);
  pb->set_lr(update.lr);
  if (update.momentum) fill(pb->mutable_momentum(), *update.momentum);
}
Update from_pb(const pb::Update& pb, Checks& checks) {
  checks.require(std::isfinite(pb.lr()), "a learning rate that is no number");
  Update update{{}, pb.lr(), std::nullopt};
  if (pb.has_momentum()) update.momentum = from_pb(pb.momentum(), checks);
  if (!bounded(pb.pushes(), checks)) return update;
  update.pushes.reserve(static_cast<std::size_t>(pb.pushes_size()));
  for (const auto& push : pb.pushes()) update.pushes.push_back(from_pb(push, checks));
  return update;
}

void fill(pb::Recipient* pb, const Recipient& recipient) {
  pb->mutable_node()->set_role(static_cast<std::uint32_t>(recipient.node.role));
  pb->mutable_node()->set_index(recipient.node.index);
  pb->set_incarnation(recipient.incarnation);
  pb->set_step(recipient.step);
}
Recipient from_pb(const pb::Recipient& pb, Checks& checks) {
  checks.require(pb.has_node(), "no node");
  return {from_pb(pb.node(), checks), pb.incarnation(), pb.step()};
}

// ---- messages: to_pb() and from_pb() of each, in the order of messages.h ----

pb::Register to_pb(const Register& m) {
  pb::Register pb;
  pb.set_life(m.life);
  pb.set_address(text_to_pb(m.address));
  return pb;
}
Register from_pb(const pb::Register& pb, Checks& checks) {
  return {pb.life(), text_from_pb(pb.address(), checks)};
}

pb::Join to_pb(const Join& m) {
  pb::Join pb;
  pb.set_life(m.life);
  pb.set_attempt(m.attempt);
  pb.set_parameter_count(m.parameter_count);
  pb.set_dataset_size(m.dataset_size);
  return pb;
}
Join from_pb(const pb::Join& pb, Checks& checks) {
  checks.require(pb.parameter_count() <= kMaxFloats, "a parameter count out of all bounds");
  return {pb.life(), pb.attempt(), pb.parameter_count(), pb.dataset_size()};
}

pb::Welcome to_pb(const Welcome& m) {
  pb::Welcome pb;
  pb.set_attempt(m.attempt);
  pb.set_incarnation(m.incarnation);
  for (const Shard& shard : m.shards) fill(pb.add_shards(), shard);
  pb.set_initialise(m.initialise);
  return pb;
}
Welcome from_pb(const pb::Welcome& pb, Checks& checks) {
  Welcome m{pb.attempt(), pb.incarnation(), {}, pb.initialise()};
  if (!bounded(pb.shards(), checks)) return m;
  for (const auto& shard : pb.shards()) m.shards.push_back(from_pb(shard, checks));
  return m;
}

pb::Expelled to_pb(const Expelled& m) {
  pb::Expelled pb;
  pb.set_incarnation(m.incarnation);
  pb.set_why(text_to_pb(m.why));
  return pb;
}
Expelled from_pb(const pb::Expelled& pb, Checks& checks) {
  return {pb.incarnation(), text_from_pb(pb.why(), checks)};
}

pb::Configure to_pb(const Configure& m) {
  pb::Configure pb;
  pb.set_begin(m.begin);
  pb.set_count(m.count);
  pb.set_optimizer(text_to_pb(m.optimizer));
  pb.set_momentum(m.momentum);
  pb.set_nesterov(m.nesterov);
  pb.set_weight_decay(m.weight_decay);
  pb.set_beta1(m.beta1);
  pb.set_beta2(m.beta2);
  pb.set_eps(m.eps);
  pb.set_closed_loop(m.closed_loop);
  return pb;
}
Configure from_pb(const pb::Configure& pb, Checks& checks) {
  check_range(pb.begin(), pb.count(), checks);
  for (const double value : {pb.momentum(), pb.weight_decay(), pb.beta1(), pb.beta2(), pb.eps()}) {
    checks.require(std::isfinite(value), "an optimizer's option that is no number");
  }
  return {pb.begin(),      pb.count(),    text_from_pb(pb.optimizer(), checks),
          pb.momentum(),   pb.nesterov(), pb.weight_decay(),
          pb.beta1(),      pb.beta2(),    pb.eps(),
          pb.closed_loop()};
}

pb::Initialise to_pb(const Initialise&) { return {}; }
Initialise from_pb(const pb::Initialise&, Checks&) { return {}; }

pb::Initialised to_pb(const Initialised&) { return {}; }
Initialised from_pb(const pb::Initialised&, Checks&) { return {}; }

pb::Ready to_pb(const Ready& m) {
  pb::Ready pb;
  pb.set_incarnation(m.incarnation);
  return pb;
}
Ready from_pb(const pb::Ready& pb, Checks&) { return {pb.incarnation()}; }

pb::Release to_pb(const Release& m) {
  pb::Release pb;
  pb.set_incarnation(m.incarnation);
  pb.set_step(m.step);
  pb.set_version(m.version);
  pb.set_batch(m.batch);
  pb.mutable_samples()->Assign(m.samples.begin(), m.samples.end());
  return pb;
}
Release from_pb(const pb::Release& pb, Checks& checks) {
  Release m{pb.incarnation(), pb.step(), pb.version(), pb.batch(), {}};
  if (bounded(pb.samples(), checks)) m.samples.assign(pb.samples().begin(), pb.samples().end());
  return m;
}

pb::Parameters to_pb(const Parameters& m) {
  pb::Parameters pb;
  pb.set_incarnation(m.incarnation);
  pb.set_step(m.step);
  pb.set_version(m.version);
  return pb;
}
Parameters from_pb(const pb::Parameters& pb, Checks&) {
  return {pb.incarnation(), pb.step(), pb.version()};
}

pb::Pull to_pb(const Pull& m) {
  pb::Pull pb;
  pb.set_incarnation(m.incarnation);
  pb.set_step(m.step);
  return pb;
}
Pull from_pb(const pb::Pull& pb, Checks&) { return {pb.incarnation(), pb.step()}; }

pb::Push to_pb(const Push& m) { return push_to_pb<pb::Push>(m); }
Push from_pb(const pb::Push& pb, Checks& checks) { return {push_from_pb(pb, checks)}; }

pb::PushAck to_pb(const PushAck& m) { return push_to_pb<pb::PushAck>(m); }
PushAck from_pb(const pb::PushAck& pb, Checks& checks) { return {push_from_pb(pb, checks)}; }

pb::PushQuery to_pb(const PushQuery& m) { return push_to_pb<pb::PushQuery>(m); }
PushQuery from_pb(const pb::PushQuery& pb, Checks& checks) { return {push_from_pb(pb, checks)}; }

pb::PushMissing to_pb(const PushMissing& m) { return push_to_pb<pb::PushMissing>(m); }
PushMissing from_pb(const pb::PushMissing& pb, Checks& checks) {
  return {push_from_pb(pb, checks)};
}

pb::PushRefused to_pb(const PushRefused& m) {
  auto pb = push_to_pb<pb::PushRefused>(m);
  pb.set_why(text_to_pb(m.why));
  return pb;
}
PushRefused from_pb(const pb::PushRefused& pb, Checks& checks) {
  return {push_from_pb(pb, checks), text_from_pb(pb.why(), checks)};
}

pb::Dropped to_pb(const Dropped& m) { return push_to_pb<pb::Dropped>(m); }
Dropped from_pb(const pb::Dropped& pb, Checks& checks) { return {push_from_pb(pb, checks)}; }

pb::Held to_pb(const Held& m) { return push_to_pb<pb::Held>(m); }
Held from_pb(const pb::Held& pb, Checks& checks) { return {push_from_pb(pb, checks)}; }

pb::Decide to_pb(const Decide& m) {
  pb::Decide pb;
  pb.set_number(m.number);
  for (const Update& update : m.updates) fill(pb.add_updates(), update);
  for (const PushId& push : m.drop) fill(pb.add_drop(), push);
  for (const Recipient& recipient : m.recipients) fill(pb.add_recipients(), recipient);
  return pb;
}
Decide from_pb(const pb::Decide& pb, Checks& checks) {
  Decide m{pb.number(), {}, {}, {}};
  if (!bounded(pb.updates(), checks) || !bounded(pb.drop(), checks) ||
      !bounded(pb.recipients(), checks)) {
    return m;
  }
  for (const auto& update : pb.updates()) m.updates.push_back(from_pb(update, checks));
  for (const auto& push : pb.drop()) m.drop.push_back(from_pb(push, checks));
  for (const auto& node : pb.recipients()) m.recipients.push_back(from_pb(node, checks));
  return m;
}

pb::Decided to_pb(const Decided& m) {
  pb::Decided pb;
  pb.set_number(m.number);
  pb.set_repeated(m.repeated);
  return pb;
}
Decided from_pb(const pb::Decided& pb, Checks&) { return {pb.number(), pb.repeated()}; }

pb::Progress to_pb(const Progress& m) {
  pb::Progress pb;
  pb.set_incarnation(m.incarnation);
  pb.set_step(m.step);
  pb.set_loss(m.loss);
  pb.set_compute_nanoseconds(m.compute_nanoseconds);
  pb.set_pushed_bytes(m.pushed_bytes);
  pb.set_pulled_bytes(m.pulled_bytes);
  return pb;
}
// A loss may be infinite or no number: a diverging run says so.
Progress from_pb(const pb::Progress& pb, Checks&) {
  return {pb.incarnation(),         pb.step(),         pb.loss(),
          pb.compute_nanoseconds(), pb.pushed_bytes(), pb.pulled_bytes()};
}

pb::Ask to_pb(const Ask& m) {
  pb::Ask pb;
  pb.set_incarnation(m.incarnation);
  pb.set_step(m.step);
  return pb;
}
Ask from_pb(const pb::Ask& pb, Checks&) { return {pb.incarnation(), pb.step()}; }

pb::Evaluate to_pb(const Evaluate& m) {
  pb::Evaluate pb;
  pb.set_number(m.number);
  pb.set_version(m.version);
  return pb;
}
Evaluate from_pb(const pb::Evaluate& pb, Checks&) { return {pb.number(), pb.version()}; }

pb::Evaluated to_pb(const Evaluated& m) {
  pb::Evaluated pb;
  pb.set_number(m.number);
  pb.set_version(m.version);
  pb.set_accuracy(m.accuracy);
  pb.set_loss(m.loss);
  return pb;
}
Evaluated from_pb(const pb::Evaluated& pb, Checks& checks) {
  checks.require(pb.accuracy() >= 0 && pb.accuracy() <= 1, "an accuracy outside 0 to 1");
  return {pb.number(), pb.version(), pb.accuracy(), pb.loss()};
}

pb::Ping to_pb(const Ping& m) {
  pb::Ping pb;
  pb.set_number(m.number);
  return pb;
}
Ping from_pb(const pb::Ping& pb, Checks&) { return {pb.number()}; }

pb::Pong to_pb(const Pong& m) {
  pb::Pong pb;
  pb.set_number(m.number);
  return pb;
}
Pong from_pb(const pb::Pong& pb, Checks&) { return {pb.number()}; }

pb::Failed to_pb(const Failed& m) {
  pb::Failed pb;
  pb.set_exit_code(m.exit_code);
  pb.set_why(text_to_pb(m.why));
  return pb;
}
Failed from_pb(const pb::Failed& pb, Checks& checks) {
  checks.require(pb.exit_code() <= 255, "an exit code above 255");
  return {pb.exit_code(), text_from_pb(pb.why(), checks)};
}

pb::Goodbye to_pb(const Goodbye&) { return {}; }
Goodbye from_pb(const pb::Goodbye&, Checks&) { return {}; }

pb::Finish to_pb(const Finish& m) {
  pb::Finish pb;
  pb.set_why(text_to_pb(m.why));
  return pb;
}
Finish from_pb(const pb::Finish& pb, Checks& checks) { return {text_from_pb(pb.why(), checks)}; }

// ---- all of them ----

constexpr std::array<std::string_view, kTypes> kNames = {
    "Register",    "Join",      "Welcome",     "Expelled",    "Configure", "Initialise",
    "Initialised", "Ready",     "Release",     "Parameters",  "Pull",      "Push",
    "PushAck",     "PushQuery", "PushMissing", "PushRefused", "Dropped",   "Held",
    "Decide",      "Decided",   "Progress",    "Ask",         "Evaluate",  "Evaluated",
    "Ping",        "Pong",      "Failed",      "Goodbye",     "Finish"};

template <std::size_t kIndex>
Result<Message> decode_as(std::span<const std::byte> bytes) {
  using M = std::variant_alternative_t<kIndex, Message>;
  decltype(to_pb(std::declval<const M&>())) pb;
  const auto damaged = [&](std::string_view what) {
    return fail(Code::Corruption, cat("a ", kNames[kIndex], " message with ", what));
  };
  if (!pb.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return damaged("bytes that cannot be read");
  }
  Checks checks;
  M message = from_pb(pb, checks);
  if (!checks.wrong().empty()) return damaged(checks.wrong());
  // Every message has one encoding. Anything else hides something: unknown fields, at any depth.
  const std::string canonical = to_pb(message).SerializeAsString();
  if (!std::ranges::equal(std::as_bytes(std::span(canonical)), bytes)) {
    return damaged("unknown fields");
  }
  return Message{std::move(message)};
}

using Decoder = Result<Message> (*)(std::span<const std::byte>);
template <std::size_t... kIndices>
constexpr std::array<Decoder, kTypes> decoders(std::index_sequence<kIndices...>) {
  return {&decode_as<kIndices>...};
}
constexpr auto kDecoders = decoders(std::make_index_sequence<kTypes>());

}  // namespace

std::string_view name_of(const Message& message) { return kNames[message.index()]; }

std::string encode(const Message& message) {
  return std::visit([](const auto& m) { return to_pb(m).SerializeAsString(); }, message);
}

Result<Message> decode(std::uint32_t type, std::span<const std::byte> bytes) {
  if (type < 1 || type > kTypes) {
    return fail(Code::Corruption, cat("a message of the unknown type ", type));
  }
  if (bytes.size() > Limits{}.head_bytes) {
    return fail(Code::Corruption, cat("a ", kNames[type - 1], " message of ", bytes.size(),
                                      " bytes, more than ", Limits{}.head_bytes));
  }
  return kDecoders[type - 1](bytes);
}

}  // namespace paceline::wire
