#pragma once

#include <cstdint>
#include <span>

#include "paceline/base/check.h"
#include "paceline/wire/codec.h"

namespace paceline::wire::testing {

// The first byte is the type, the rest the message. What is taken for a message has one encoding,
// the bytes that it came from.
inline void fuzz_codec(std::span<const std::byte> input) {
  if (input.empty()) return;
  const auto bytes = input.subspan(1);
  const auto message = decode(std::to_integer<std::uint32_t>(input[0]), bytes);
  if (!message) {
    PACELINE_CHECK(message.error().code == Code::Corruption, "bad bytes are corruption");
    return;
  }
  const std::string again = encode(*message);
  PACELINE_CHECK(std::string_view(again) ==
                     std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                 "a message has one encoding");
  PACELINE_CHECK(!name_of(*message).empty(), "a message has a name");
}

}  // namespace paceline::wire::testing
