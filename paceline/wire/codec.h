#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "paceline/base/result.h"
#include "paceline/wire/messages.h"

// Messages to bytes (Protocol Buffers) and back. decode() trusts nothing: whatever it lets pass is
// a message that encode() could have made, within the bounds below.
namespace paceline::wire {

// A message's number on the wire: its place in the variant, from 1.
inline std::uint32_t type_of(const Message& message) {
  return static_cast<std::uint32_t>(message.index()) + 1;
}
inline constexpr std::uint32_t kTypes = static_cast<std::uint32_t>(std::variant_size_v<Message>);

// Bounds on what a peer may say, far above what a run needs.
inline constexpr std::size_t kMaxText = 4096;          // bytes; a longer reason is cut by encode()
inline constexpr std::uint32_t kMaxIndex = 1U << 20U;  // workers, servers
inline constexpr std::uint64_t kMaxFloats = 1ULL << 40U;  // the flat parameter vector
inline constexpr int kMaxList = 1 << 22;                  // samples, pushes, recipients, shards

std::string encode(const Message& message);

// Corruption if the bytes are no message of that type, or say something absurd.
Result<Message> decode(std::uint32_t type, std::span<const std::byte> bytes);

}  // namespace paceline::wire
