#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paceline/roles/io.h"

// For tests only: what a role gave, by type.
namespace paceline::roles::testing {

using std::chrono::milliseconds;
using std::chrono::seconds;

template <typename T>
std::vector<T> all_of(const Outputs& outputs) {
  std::vector<T> found;
  for (const Output& output : outputs) {
    if (const auto* it = std::get_if<T>(&output)) found.push_back(*it);
  }
  return found;
}

// The messages of that type, to whomever.
template <typename M>
std::vector<M> sent(const Outputs& outputs) {
  std::vector<M> found;
  for (const Send& send : all_of<Send>(outputs)) {
    if (const auto* it = std::get_if<M>(&send.message)) found.push_back(*it);
  }
  return found;
}

template <typename M>
std::vector<NodeId> receivers(const Outputs& outputs) {
  std::vector<NodeId> found;
  for (const Send& send : all_of<Send>(outputs)) {
    if (std::holds_alternative<M>(send.message)) found.push_back(send.to);
  }
  return found;
}

inline std::optional<Stop> stop_of(const Outputs& outputs) {
  const auto stops = all_of<Stop>(outputs);
  return stops.empty() ? std::nullopt : std::optional(stops.front());
}

inline Input from(NodeId node, wire::Message message, Payload payload = nullptr) {
  return Received{node, std::move(message), std::move(payload)};
}

inline Payload payload_of(const std::vector<float>& values) {
  HeapPool pool;
  const MutablePayload buffer = pool.take(values.size() * sizeof(float));
  std::copy(values.begin(), values.end(), floats(buffer).begin());
  return buffer;
}

}  // namespace paceline::roles::testing
