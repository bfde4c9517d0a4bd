#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace paceline {

// A worker's place in the run, 0..n-1: stable over its lives, the order in which sums are taken.
struct WorkerId {
  std::uint32_t value = 0;
  auto operator<=>(const WorkerId&) const = default;
};

using Incarnation = std::uint64_t;  // a worker's lives, numbered by the coordinator; 0: none yet
using Generation = std::uint64_t;   // grows whenever the membership changes
using Step = std::uint64_t;         // gradients computed by one worker in one life, from 0
using Version = std::uint64_t;      // updates applied, the same on every shard

// The identity of one gradient. A repeated, late or reordered push is recognised by it.
struct PushId {
  WorkerId worker;
  Incarnation incarnation = 0;
  Step step = 0;
  auto operator<=>(const PushId&) const = default;
};

enum class Role : std::uint8_t { Coordinator, Server, Worker, Evaluator };

// One process of the run.
struct NodeId {
  Role role = Role::Coordinator;
  std::uint32_t index = 0;
  auto operator<=>(const NodeId&) const = default;
};

inline constexpr NodeId kCoordinator{Role::Coordinator, 0};
inline constexpr NodeId kEvaluator{Role::Evaluator, 0};
constexpr NodeId server_node(std::uint32_t index) { return {Role::Server, index}; }
constexpr NodeId worker_node(WorkerId worker) { return {Role::Worker, worker.value}; }

std::string to_string(WorkerId worker);     // "2"
std::string to_string(const PushId& push);  // "worker 2, step 17 (life 1)"
std::string to_string(Role role);           // "worker"
std::string to_string(NodeId node);         // "worker 2", "coordinator"

}  // namespace paceline
