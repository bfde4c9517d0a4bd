#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "paceline/base/random.h"
#include "paceline/roles/io.h"
#include "paceline/sim/scenario.h"
#include "paceline/sim/world.h"

namespace paceline::sim {

// A process of the simulated cluster; a restarted one is another.
using Pid = std::uint32_t;

// What the network needs to know of the processes, and what it tells them.
class Host {
 public:
  virtual ~Host() = default;
  virtual NodeId node_of(Pid pid) const = 0;
  virtual bool is_alive(Pid pid) const = 0;
  virtual bool answers(Pid pid) const = 0;  // alive and not paused
  virtual std::optional<Pid> at(const std::string& address) const = 0;
  virtual void deliver(Pid pid, roles::Input input) = 0;
  virtual void receive(Pid pid, roles::Input& received) = 0;  // what a link carried
  virtual void fail(const std::string& what) = 0;
};

// Links as net/ makes them (roles/io.h): in order, broken when they cannot carry what there is for
// roles::kLinkTimeout, made again by the side that gave Connect.
//
// Cost of a message: O(1), and its place in the World; of a link that is made, broken or dialled:
// O(log links).
class Network {
 public:
  // All outlive the network. encodes: every message goes through its wire encoding.
  Network(World& world, Host& host, const Scenario& scenario, bool encodes);

  void process_started(Pid pid);  // in the order of their pids
  void connect(Pid pid, NodeId node, const std::string& address);
  void disconnect(Pid pid, NodeId node);
  void send(Pid pid, roles::Send& send);  // leaves it empty
  void process_ended(Pid pid);            // what it sent before still arrives
  void break_link(NodeId a, NodeId b);

  std::uint64_t lost() const { return lost_; }
  std::uint64_t breaks() const { return breaks_; }
  std::uint64_t under_way() const { return packets_ - free_.size(); }

 private:
  using LinkId = std::uint64_t;    // its place in links_ and, above, its life there; 0: none
  using PacketId = std::uint32_t;  // its place in chunks_
  struct Packet {
    bool is_end = false;    // the sender's process is gone
    roles::Input received;  // a roles::Received
  };
  struct Direction {
    Pid from = 0;
    Pid to = 0;
    Time free{};  // the wire is busy until then
    Time last{};  // when the last packet in order arrives
  };
  struct alignas(64) Link {              // of one cache line
    LinkId id = 0;                       // 0: none is here
    Direction ways[2];                   // the first from whoever dialled
    bool has_ended[2] = {false, false};  // [way]: whoever sends on it has closed it
    bool is_stuck = false;
    std::uint32_t options = 0;  // its place in options_
  };
  static_assert(sizeof(Link) == 64);
  struct Dial {
    std::string address;
    Duration pause{};
    Time linked_at{};
    bool is_trying = false;
  };

  bool is_open(NodeId from, NodeId to) const;
  std::uint32_t options_between(NodeId a, NodeId b) const;

  std::size_t port_index(NodeId node) const;
  LinkId& port(Pid pid, NodeId node) { return ports_[first_port_[pid] + port_index(node)]; }
  Link* find(LinkId id);
  std::vector<LinkId> links_up() const;  // by their places

  PacketId pack(Packet packet);
  Packet& packet(PacketId id) { return chunks_[id / kChunk][id % kChunk]; }
  void unpack(PacketId id) { free_.push_back(id); }

  void try_soon(Pid pid, NodeId node, Duration delay);
  void try_again(Pid pid, NodeId node);
  void try_now(Pid pid, NodeId node);
  void establish(Pid pid, NodeId node, Pid target);
  bool is_lost(const wire::Message& message);
  void put_end(LinkId id, Pid from);
  void put(Link& link, int way, PacketId packet);
  void launch(Link& link, int way, PacketId packet);
  void arrive(LinkId id, int way, PacketId packet);
  void watch(LinkId id);
  void heal();
  void take_down(LinkId id, const std::string& why);
  bool faults_are_on() const { return world_.now() < scenario_.calm_from; }

  World& world_;
  Host& host_;
  const Scenario& scenario_;
  bool encodes_;
  bool is_plain_;  // nothing is lost, sent twice, late or cut
  Rng rng_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> free_links_;
  std::uint64_t links_made_ = 0;
  std::vector<LinkOptions> options_;  // the network's, then [workers]
  std::map<LinkId, Time> stuck_since_;
  // [first_port_[pid] + port_index(node)]: its link to that node; 0: none. Workers and the
  // evaluator have no ports for workers.
  std::vector<LinkId> ports_;
  std::vector<std::size_t> first_port_;  // [pid], and the end
  std::map<std::pair<Pid, NodeId>, Dial> dials_;
  std::map<std::pair<LinkId, int>, std::vector<PacketId>> waiting_;  // for a cut to heal
  std::map<std::uint32_t, std::uint64_t> sent_of_type_;

  static constexpr std::size_t kChunk = 256;
  std::vector<std::unique_ptr<Packet[]>> chunks_;  // packets keep their places
  std::size_t packets_ = 0;
  std::vector<PacketId> free_;

  std::uint64_t lost_ = 0;
  std::uint64_t breaks_ = 0;
};

}  // namespace paceline::sim
