#include "paceline/sim/network.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "paceline/base/text.h"
#include "paceline/wire/codec.h"

namespace paceline::sim {
namespace {

// As net/ does: the pause doubles, and begins anew only after a link that has lasted.
constexpr Duration kPauseFirst = std::chrono::milliseconds(50);
constexpr Duration kPauseLast = std::chrono::seconds(1);
constexpr std::size_t kFrameBytes = 16;
constexpr std::uint64_t kLinksMax = std::uint64_t{1} << 24U;  // at once

// About what the message takes on the wire: the same whether it is encoded or not.
std::size_t head_bytes(const wire::Message& message) {
  if (const auto* decide = std::get_if<wire::Decide>(&message)) {
    std::size_t pushes = decide->drop.size();
    for (const wire::Update& update : decide->updates) pushes += update.pushes.size();
    return 8 + 8 * decide->updates.size() + 10 * pushes + 12 * decide->recipients.size();
  }
  if (const auto* release = std::get_if<wire::Release>(&message)) {
    return 16 + 3 * release->samples.size();
  }
  return 16;
}

}  // namespace

Network::Network(World& world, Host& host, const Scenario& scenario, bool encodes)
    : world_(world),
      host_(host),
      scenario_(scenario),
      encodes_(encodes),
      is_plain_(scenario.network.loss.of == 0 && scenario.network.duplication.of == 0 &&
                scenario.network.reordering.of == 0 && scenario.network.jitter == Duration{} &&
                scenario.losses.empty() && scenario.cuts.empty()),
      rng_(Rng(scenario.seed).stream("network")),
      options_{{scenario.network.latency, scenario.network.bytes_per_second}},
      first_port_{0} {
  for (const auto& link : scenario_.links) options_.push_back(link.value_or(options_[0]));
  for (const Cut& cut : scenario_.cuts) {
    if (cut.end > cut.begin) world_.plan(cut.end, [this] { heal(); });
  }
}

bool Network::is_open(NodeId from, NodeId to) const {
  if (is_plain_) return true;
  const Time now = world_.now();
  return std::ranges::none_of(scenario_.cuts, [&](const Cut& cut) {
    const bool cuts =
        (cut.from == from && cut.to == to) || (cut.both_ways && cut.from == to && cut.to == from);
    return cuts && cut.begin <= now && now < cut.end;
  });
}

std::uint32_t Network::options_between(NodeId a, NodeId b) const {
  for (const NodeId node : {a, b}) {
    if (node.role == Role::Worker && node.index < scenario_.links.size()) return node.index + 1;
  }
  return 0;
}

// ---- who is linked to whom ----

std::size_t Network::port_index(NodeId node) const {
  switch (node.role) {
    case Role::Coordinator:
      return 0;
    case Role::Evaluator:
      return 1;
    case Role::Server:
      return std::size_t{2} + node.index;
    case Role::Worker:
      break;
  }
  return std::size_t{2} + scenario_.run.servers + node.index;
}

void Network::process_started(Pid pid) {
  PACELINE_CHECK(pid + 1 == first_port_.size(), "processes start in the order of their pids");
  const Role role = host_.node_of(pid).role;
  const bool is_hub = role == Role::Coordinator || role == Role::Server;
  ports_.resize(ports_.size() + 2 + scenario_.run.servers + (is_hub ? scenario_.run.workers : 0));
  first_port_.push_back(ports_.size());
}

Network::Link* Network::find(LinkId id) {
  Link& link = links_[id % kLinksMax];
  return link.id == id ? &link : nullptr;
}

std::vector<Network::LinkId> Network::links_up() const {
  std::vector<LinkId> ids;
  for (const Link& link : links_) {
    if (link.id != 0) ids.push_back(link.id);
  }
  return ids;
}

// ---- making links ----

void Network::connect(Pid pid, NodeId node, const std::string& address) {
  Dial& dial = dials_[{pid, node}];
  dial.address = address;
  dial.pause = kPauseFirst;
  if (port(pid, node) == 0) try_soon(pid, node, Duration{});
}

void Network::try_soon(Pid pid, NodeId node, Duration delay) {
  Dial& dial = dials_.at({pid, node});
  if (std::exchange(dial.is_trying, true)) return;
  const auto jitter = rng_.between(0, scenario_.network.jitter.count());
  const Duration latency = options_[options_between(host_.node_of(pid), node)].latency;
  world_.plan(world_.now() + delay + latency + Duration{jitter},
              [this, pid, node] { try_now(pid, node); });
}

void Network::try_now(Pid pid, NodeId node) {
  const auto found = dials_.find({pid, node});
  if (found == dials_.end() || !host_.is_alive(pid)) return;
  Dial& dial = found->second;
  dial.is_trying = false;
  if (port(pid, node) != 0) return;
  const std::optional<Pid> target = host_.at(dial.address);
  const NodeId own = host_.node_of(pid);
  const bool possible = target && host_.answers(*target) && host_.answers(pid) &&
                        is_open(own, node) && is_open(node, own);
  if (possible) return establish(pid, node, *target);
  try_soon(pid, node, dial.pause);
  dial.pause = std::min(2 * dial.pause, kPauseLast);
}

void Network::try_again(Pid pid, NodeId node) {
  const auto found = dials_.find({pid, node});
  if (found == dials_.end()) return;
  Dial& dial = found->second;
  if (world_.now() - dial.linked_at >= kPauseLast) dial.pause = kPauseFirst;
  try_soon(pid, node, dial.pause);
  dial.pause = std::min(2 * dial.pause, kPauseLast);
}

void Network::establish(Pid pid, NodeId node, Pid target) {
  const NodeId own = host_.node_of(pid);
  if (const LinkId old = port(target, own); old != 0) {
    take_down(old, "a newer connection of it came");
  }
  dials_.at({pid, node}).linked_at = world_.now();
  if (free_links_.empty()) {
    free_links_.push_back(static_cast<std::uint32_t>(links_.size()));
    links_.emplace_back();
    PACELINE_CHECK(links_.size() < kLinksMax, "at most 16 million links at once");
  }
  const std::uint32_t place = free_links_.back();
  free_links_.pop_back();
  const LinkId id = ++links_made_ * kLinksMax + place;
  const Time now = world_.now();
  links_[place] = {.id = id,
                   .ways = {{.from = pid, .to = target, .free = now, .last = now},
                            {.from = target, .to = pid, .free = now, .last = now}},
                   .options = options_between(own, node)};
  port(pid, node) = id;
  port(target, own) = id;
  host_.deliver(target, roles::PeerUp{own});
  host_.deliver(pid, roles::PeerUp{node});
}

// What was sent goes out, then the other side sees the end; this one is told nothing.
void Network::disconnect(Pid pid, NodeId node) {
  dials_.erase({pid, node});
  const LinkId id = std::exchange(port(pid, node), 0);
  if (id != 0) put_end(id, pid);
}

void Network::put_end(LinkId id, Pid from) {
  Link* link = find(id);
  if (link == nullptr) return;
  const int way = link->ways[0].from == from ? 0 : 1;
  if (std::exchange(link->has_ended[way], true)) return;
  put(*link, way, pack({.is_end = true}));
}

void Network::break_link(NodeId a, NodeId b) {
  for (const LinkId id : links_up()) {
    const Link& link = *find(id);
    const NodeId x = host_.node_of(link.ways[0].from);
    const NodeId y = host_.node_of(link.ways[0].to);
    if ((x == a && y == b) || (x == b && y == a)) return take_down(id, "connection reset by peer");
  }
}

void Network::take_down(LinkId id, const std::string& why) {
  Link* const found = find(id);
  if (found == nullptr) return;
  const Link link = std::exchange(*found, Link{});
  free_links_.push_back(static_cast<std::uint32_t>(id % kLinksMax));
  ++breaks_;
  for (const int way : {0, 1}) {
    if (const auto waiting = waiting_.find({id, way}); waiting != waiting_.end()) {
      for (const PacketId each : waiting->second) unpack(each);
      waiting_.erase(waiting);
    }
    const Direction& direction = link.ways[way];
    LinkId& current = port(direction.from, host_.node_of(direction.to));
    if (current == id) current = 0;
  }
  if (link.is_stuck) stuck_since_.erase(id);
  for (const int way : {0, 1}) {
    const Pid from = link.ways[way].from;
    const NodeId peer = host_.node_of(link.ways[way].to);
    if (!host_.is_alive(from) || link.has_ended[way]) continue;
    try_again(from, peer);
    host_.deliver(from, roles::PeerDown{peer, why});
  }
}

void Network::process_ended(Pid pid) {
  dials_.erase(dials_.lower_bound({pid, NodeId{}}), dials_.lower_bound({pid + 1, NodeId{}}));
  for (std::size_t i = first_port_[pid]; i < first_port_[pid + std::size_t{1}]; ++i) {
    if (ports_[i] != 0) put_end(ports_[i], pid);
  }
}

// ---- carrying ----

Network::PacketId Network::pack(Packet packet) {
  if (free_.empty()) {
    chunks_.push_back(std::make_unique<Packet[]>(kChunk));
    for (std::size_t i = kChunk; i-- > 0;) {
      free_.push_back(static_cast<PacketId>(packets_ + i));
    }
    packets_ += kChunk;
  }
  const PacketId id = free_.back();
  free_.pop_back();
  this->packet(id) = std::move(packet);
  return id;
}

bool Network::is_lost(const wire::Message& message) {
  const std::uint32_t type = wire::type_of(message);
  const std::uint64_t nth = sent_of_type_[type]++;
  const bool picked = std::ranges::any_of(
      scenario_.losses, [&](const Lose& lose) { return lose.type == type && lose.nth == nth; });
  const Ratio& loss = scenario_.network.loss;
  const bool is_drawn = faults_are_on() && rng_.chance(loss.of, loss.in);
  return picked || is_drawn;
}

void Network::send(Pid pid, roles::Send& send) {
  const LinkId id = port(pid, send.to);
  if (id == 0) return;  // no link: lost, as in net/
  Link& link = *find(id);
  const int way = link.ways[0].from == pid ? 0 : 1;
  if (encodes_) {
    const std::string head = wire::encode(send.message);
    auto message = wire::decode(wire::type_of(send.message),
                                std::as_bytes(std::span(head.data(), head.size())));
    if (!message) return host_.fail(cat("a message does not decode: ", to_string(message.error())));
    send.message = std::move(*message);
  }
  const NodeId from = host_.node_of(pid);
  if (!is_plain_) {
    if (is_lost(send.message)) {
      ++lost_;
      return;
    }
    const Ratio& duplication = scenario_.network.duplication;
    if (faults_are_on() && rng_.chance(duplication.of, duplication.in)) {
      put(link, way, pack({.received = roles::Received{from, send.message, send.payload}}));
    }
  }
  put(link, way,
      pack({.received = roles::Received{from, std::move(send.message), std::move(send.payload)}}));
}

void Network::put(Link& link, int way, PacketId packet) {
  if (is_plain_) return launch(link, way, packet);
  Direction& direction = link.ways[way];
  const NodeId from = host_.node_of(direction.from);
  const NodeId to = host_.node_of(direction.to);
  const bool there = is_open(from, to);
  const bool back = is_open(to, from);
  // Without the way back nothing is acknowledged: the sender sees a link that does not carry.
  if ((!there || !back) && !std::exchange(link.is_stuck, true)) {
    stuck_since_[link.id] = world_.now();
    world_.plan(world_.now() + roles::kLinkTimeout, [this, id = link.id] { watch(id); });
  }
  const auto waiting = waiting_.find({link.id, way});
  if (waiting != waiting_.end()) {
    waiting->second.push_back(packet);
  } else if (!there) {
    waiting_[{link.id, way}].push_back(packet);
  } else {
    launch(link, way, packet);
  }
}

void Network::launch(Link& link, int way, PacketId id) {
  const NetworkOptions& options = scenario_.network;
  Direction& direction = link.ways[way];
  const Packet& packet = this->packet(id);
  Time sent = std::max(world_.now(), direction.free);
  const LinkOptions& own = options_[link.options];
  if (own.bytes_per_second != 0) {
    double bytes = static_cast<double>(kFrameBytes);
    if (const auto* received = std::get_if<roles::Received>(&packet.received)) {
      bytes += static_cast<double>(head_bytes(received->message)) +
               static_cast<double>(size_of(received->payload)) * scenario_.payload_scale;
    }
    sent += Duration{
        static_cast<std::int64_t>(bytes * 1e9 / static_cast<double>(own.bytes_per_second))};
    direction.free = sent;
  }
  Time at = sent + own.latency;
  if (is_plain_) {
    at = direction.last = std::max(at, direction.last);
  } else {
    at += Duration{rng_.between(0, options.jitter.count())};
    const bool is_late = !packet.is_end && faults_are_on() &&
                         rng_.chance(options.reordering.of, options.reordering.in);
    if (is_late) {
      at += Duration{rng_.between(0, options.reordering_delay.count())};
    } else {
      at = direction.last = std::max(at, direction.last);
    }
  }
  world_.plan(at, [this, link_id = link.id, way, id] { arrive(link_id, way, id); });
}

void Network::arrive(LinkId id, int way, PacketId packet_id) {
  Packet& packet = this->packet(packet_id);
  if (const Link* link = find(id); link != nullptr) {
    const Direction& direction = link->ways[way];
    if (packet.is_end) {
      take_down(id, "the other side closed it");
    } else if (host_.is_alive(direction.to) && !link->has_ended[1 - way]) {
      host_.receive(direction.to, packet.received);
    }
  }
  packet.received = roles::Started{};  // its payload goes back
  unpack(packet_id);
}

// ---- cuts ----

void Network::watch(LinkId id) {
  const Link* link = find(id);
  if (link == nullptr || !link->is_stuck) return;
  const Time due = stuck_since_.at(id) + roles::kLinkTimeout;
  if (world_.now() < due) return world_.plan(due, [this, id] { watch(id); });
  take_down(id, "nothing got through for 15 s");
}

void Network::heal() {
  for (const LinkId id : links_up()) {
    Link& link = *find(id);
    bool all_open = true;
    for (const int way : {0, 1}) {
      const Direction& direction = link.ways[way];
      if (!is_open(host_.node_of(direction.from), host_.node_of(direction.to))) {
        all_open = false;
        continue;
      }
      const auto waiting = waiting_.find({id, way});
      if (waiting == waiting_.end()) continue;
      const std::vector<PacketId> packets = std::move(waiting->second);
      waiting_.erase(waiting);
      for (const PacketId packet : packets) launch(link, way, packet);
    }
    if (all_open && std::exchange(link.is_stuck, false)) stuck_since_.erase(id);
  }
}

}  // namespace paceline::sim
