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
      rng_(Rng(scenario.seed).stream("network")) {
  for (const Cut& cut : scenario_.cuts) {
    if (cut.end > cut.begin) world_.plan(cut.end, [this] { heal(); });
  }
}

bool Network::is_open(NodeId from, NodeId to) const {
  const Time now = world_.now();
  return std::ranges::none_of(scenario_.cuts, [&](const Cut& cut) {
    const bool cuts =
        (cut.from == from && cut.to == to) || (cut.both_ways && cut.from == to && cut.to == from);
    return cuts && cut.begin <= now && now < cut.end;
  });
}

LinkOptions Network::options_between(NodeId a, NodeId b) const {
  for (const NodeId node : {a, b}) {
    const bool is_set = node.role == Role::Worker && node.index < scenario_.links.size() &&
                        scenario_.links[node.index].has_value();
    if (is_set) return *scenario_.links[node.index];
  }
  return {scenario_.network.latency, scenario_.network.bytes_per_second};
}

// ---- making links ----

void Network::connect(Pid pid, NodeId node, const std::string& address) {
  Dial& dial = dials_[{pid, node}];
  dial.address = address;
  dial.pause = kPauseFirst;
  if (!link_of_.contains({pid, node})) try_soon(pid, node, Duration{});
}

void Network::try_soon(Pid pid, NodeId node, Duration delay) {
  Dial& dial = dials_.at({pid, node});
  if (std::exchange(dial.is_trying, true)) return;
  const auto jitter = rng_.between(0, scenario_.network.jitter.count());
  const Duration latency = options_between(host_.node_of(pid), node).latency;
  world_.plan(world_.now() + delay + latency + Duration{jitter},
              [this, pid, node] { try_now(pid, node); });
}

void Network::try_now(Pid pid, NodeId node) {
  const auto found = dials_.find({pid, node});
  if (found == dials_.end() || !host_.is_alive(pid)) return;
  Dial& dial = found->second;
  dial.is_trying = false;
  if (link_of_.contains({pid, node})) return;
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
  if (const auto old = link_of_.find({target, own}); old != link_of_.end()) {
    take_down(old->second, "a newer connection of it came");
  }
  dials_.at({pid, node}).linked_at = world_.now();
  const LinkId id = ++last_link_;
  Link& link = links_[id];
  link.dialer = pid;
  link.options = options_between(own, node);
  link.ways[0] = {.from = pid, .to = target, .free = world_.now(), .last = world_.now()};
  link.ways[1] = {.from = target, .to = pid, .free = world_.now(), .last = world_.now()};
  link_of_[{pid, node}] = id;
  link_of_[{target, own}] = id;
  host_.deliver(target, roles::PeerUp{own});
  if (links_.contains(id)) host_.deliver(pid, roles::PeerUp{node});
}

// What was sent goes out, then the other side sees the end; this one is told nothing.
void Network::disconnect(Pid pid, NodeId node) {
  dials_.erase({pid, node});
  const auto found = link_of_.find({pid, node});
  if (found == link_of_.end()) return;
  const LinkId id = found->second;
  link_of_.erase(found);
  const int way = links_.at(id).ways[0].from == pid ? 0 : 1;
  links_.at(id).ways[way].has_ended = true;
  put(id, way, Packet{.is_end = true});
}

void Network::break_link(NodeId a, NodeId b) {
  for (const auto& [id, link] : links_) {
    const NodeId x = host_.node_of(link.ways[0].from);
    const NodeId y = host_.node_of(link.ways[0].to);
    if ((x == a && y == b) || (x == b && y == a)) return take_down(id, "connection reset by peer");
  }
}

void Network::take_down(LinkId id, const std::string& why) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  const Link link = std::move(found->second);
  links_.erase(found);
  ++breaks_;
  for (const Direction& way : link.ways) {
    const auto current = link_of_.find({way.from, host_.node_of(way.to)});
    if (current != link_of_.end() && current->second == id) link_of_.erase(current);
  }
  for (const Direction& way : link.ways) {
    const NodeId peer = host_.node_of(way.to);
    if (!host_.is_alive(way.from) || way.has_ended) continue;
    try_again(way.from, peer);
    host_.deliver(way.from, roles::PeerDown{peer, why});
  }
}

void Network::process_ended(Pid pid) {
  std::erase_if(dials_, [&](const auto& dial) { return dial.first.first == pid; });
  std::vector<std::pair<LinkId, int>> ends;
  for (const auto& [id, link] : links_) {
    for (const int way : {0, 1}) {
      if (link.ways[way].from == pid && !link.ways[way].has_ended) ends.emplace_back(id, way);
    }
  }
  for (const auto& [id, way] : ends) put(id, way, Packet{.is_end = true});
}

// ---- carrying ----

void Network::send(Pid pid, const roles::Send& send) {
  const auto found = link_of_.find({pid, send.to});
  if (found == link_of_.end()) return;  // no link: lost, as in net/
  const LinkId id = found->second;
  const int way = links_.at(id).ways[0].from == pid ? 0 : 1;
  Packet packet{.message = send.message,
                .head = encodes_ ? wire::encode(send.message) : std::string(),
                .payload = send.payload};
  const std::uint32_t type = wire::type_of(send.message);
  const std::uint64_t nth = sent_of_type_[type]++;
  const bool picked = std::ranges::any_of(
      scenario_.losses, [&](const Lose& lose) { return lose.type == type && lose.nth == nth; });
  const NetworkOptions& options = scenario_.network;
  const bool is_lost = faults_are_on() && rng_.chance(options.loss.of, options.loss.in);
  if (picked || is_lost) {
    ++lost_;
    return;
  }
  if (faults_are_on() && rng_.chance(options.duplication.of, options.duplication.in)) {
    put(id, way, packet);
  }
  put(id, way, std::move(packet));
}

void Network::put(LinkId id, int way, Packet packet) {
  Link& link = links_.at(id);
  Direction& direction = link.ways[way];
  const NodeId from = host_.node_of(direction.from);
  const NodeId to = host_.node_of(direction.to);
  const bool there = is_open(from, to);
  const bool back = is_open(to, from);
  // Without the way back nothing is acknowledged: the sender sees a link that does not carry.
  if (!there || !back) {
    if (!link.stuck_since) {
      link.stuck_since = world_.now();
      world_.plan(world_.now() + roles::kLinkTimeout, [this, id] { watch(id); });
    }
  }
  if (!there || !direction.waiting.empty()) {
    direction.waiting.push_back(std::move(packet));
  } else {
    launch(id, way, std::move(packet));
  }
}

void Network::launch(LinkId id, int way, Packet packet) {
  const NetworkOptions& options = scenario_.network;
  Link& link = links_.at(id);
  Direction& direction = link.ways[way];
  Time sent = std::max(world_.now(), direction.free);
  if (link.options.bytes_per_second != 0) {
    const double bytes = static_cast<double>(size_of(packet.payload)) * scenario_.payload_scale +
                         static_cast<double>(kFrameBytes + head_bytes(packet.message));
    sent += Duration{static_cast<std::int64_t>(bytes * 1e9 /
                                               static_cast<double>(link.options.bytes_per_second))};
    direction.free = sent;
  }
  Time at = sent + link.options.latency + Duration{rng_.between(0, options.jitter.count())};
  const bool is_late = !packet.is_end && faults_are_on() &&
                       rng_.chance(options.reordering.of, options.reordering.in);
  if (is_late) {
    at += Duration{rng_.between(0, options.reordering_delay.count())};
  } else {
    at = direction.last = std::max(at, direction.last);
  }
  world_.plan(at,
              [this, id, way, packet = std::move(packet)]() mutable { arrive(id, way, packet); });
}

void Network::arrive(LinkId id, int way, Packet& packet) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  const Direction& direction = found->second.ways[way];
  if (packet.is_end) return take_down(id, "the other side closed it");
  const bool is_read = host_.is_alive(direction.to) && !found->second.ways[1 - way].has_ended;
  if (!is_read) return;
  if (encodes_) {
    const auto bytes = std::as_bytes(std::span(packet.head.data(), packet.head.size()));
    auto message = wire::decode(wire::type_of(packet.message), bytes);
    if (!message) return host_.fail(cat("a message does not decode: ", to_string(message.error())));
    packet.message = std::move(*message);
  }
  host_.receive(direction.to, {host_.node_of(direction.from), std::move(packet.message),
                               std::move(packet.payload)});
}

// ---- cuts ----

void Network::watch(LinkId id) {
  const auto found = links_.find(id);
  if (found == links_.end() || !found->second.stuck_since) return;
  const Time due = *found->second.stuck_since + roles::kLinkTimeout;
  if (world_.now() < due) return world_.plan(due, [this, id] { watch(id); });
  take_down(id, "nothing got through for 15 s");
}

void Network::heal() {
  std::vector<LinkId> ids;
  for (const auto& [id, link] : links_) ids.push_back(id);
  for (const LinkId id : ids) {
    Link& link = links_.at(id);
    bool all_open = true;
    for (const int way : {0, 1}) {
      Direction& direction = link.ways[way];
      if (!is_open(host_.node_of(direction.from), host_.node_of(direction.to))) {
        all_open = false;
        continue;
      }
      std::deque<Packet> waiting = std::exchange(direction.waiting, {});
      for (Packet& packet : waiting) launch(id, way, std::move(packet));
    }
    if (all_open) link.stuck_since.reset();
  }
}

}  // namespace paceline::sim
