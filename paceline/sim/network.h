#pragma once

#include <cstdint>
#include <deque>
#include <map>
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
  virtual void receive(Pid pid, roles::Received received) = 0;  // what a link carried
  virtual void fail(const std::string& what) = 0;
};

// Links as net/ makes them (roles/io.h): in order, broken when they cannot carry what there is for
// roles::kLinkTimeout, made again by the side that gave Connect.
class Network {
 public:
  // All outlive the network. encodes: every message goes through its wire encoding.
  Network(World& world, Host& host, const Scenario& scenario, bool encodes);

  void connect(Pid pid, NodeId node, const std::string& address);
  void disconnect(Pid pid, NodeId node);
  void send(Pid pid, const roles::Send& send);
  void process_ended(Pid pid);  // what it sent before still arrives
  void break_link(NodeId a, NodeId b);

  std::uint64_t lost() const { return lost_; }
  std::uint64_t breaks() const { return breaks_; }

 private:
  struct Packet {
    bool is_end = false;  // the sender's process is gone
    wire::Message message;
    std::string head;  // the message encoded, if it is to be
    Payload payload;
  };
  struct Direction {
    Pid from = 0;
    Pid to = 0;
    Time free{};  // the wire is busy until then
    Time last{};  // when the last packet in order arrives
    std::deque<Packet> waiting;
    bool has_ended = false;  // `from` has closed it
  };
  struct Link {
    Pid dialer = 0;
    Direction ways[2];
    LinkOptions options;
    std::optional<Time> stuck_since;
  };
  struct Dial {
    std::string address;
    Duration pause{};
    Time linked_at{};
    bool is_trying = false;
  };
  using LinkId = std::uint64_t;

  bool is_open(NodeId from, NodeId to) const;
  LinkOptions options_between(NodeId a, NodeId b) const;
  void try_soon(Pid pid, NodeId node, Duration delay);
  void try_again(Pid pid, NodeId node);
  void try_now(Pid pid, NodeId node);
  void establish(Pid pid, NodeId node, Pid target);
  void put(LinkId id, int way, Packet packet);
  void launch(LinkId id, int way, Packet packet);
  void arrive(LinkId id, int way, Packet& packet);
  void watch(LinkId id);
  void heal();
  void take_down(LinkId id, const std::string& why);
  bool faults_are_on() const { return world_.now() < scenario_.calm_from; }

  World& world_;
  Host& host_;
  const Scenario& scenario_;
  bool encodes_;
  Rng rng_;
  std::map<LinkId, Link> links_;  // those that are up
  LinkId last_link_ = 0;
  std::map<std::pair<Pid, NodeId>, LinkId> link_of_;
  std::map<std::pair<Pid, NodeId>, Dial> dials_;
  std::map<std::uint32_t, std::uint64_t> sent_of_type_;
  std::uint64_t lost_ = 0;
  std::uint64_t breaks_ = 0;
};

}  // namespace paceline::sim
