#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "paceline/base/check.h"
#include "paceline/wire/frame.h"

namespace paceline::wire::testing {

// What came out of a stream: its frames again as bytes, and how it ended.
struct ReadStream {
  std::string frames;
  std::string error;
  bool operator==(const ReadStream&) const = default;
};

inline ReadStream read_stream(std::span<const std::byte> stream, std::size_t most,
                              const Limits& limits) {
  HeapPool pool;
  FrameReader reader(limits, pool);
  ReadStream all;
  const auto append = [&](std::span<const std::byte> bytes) {
    all.frames.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  while (!stream.empty()) {
    const auto space = reader.space();
    PACELINE_CHECK(!space.empty(), "there is always space for more");
    const std::size_t n = std::min({space.size(), stream.size(), most});
    std::memcpy(space.data(), stream.data(), n);
    reader.commit(n);
    stream = stream.subspan(n);
    for (;;) {
      auto frame = reader.next();
      if (!frame) {
        all.error = frame.error().what;
        return all;
      }
      if (!*frame) break;
      const Frame& got = **frame;
      PACELINE_CHECK(got.head.size() <= limits.head_bytes, "no head above the limit");
      PACELINE_CHECK(size_of(got.payload) <= limits.payload_bytes, "no payload above the limit");
      append(encode_header({static_cast<std::uint16_t>(got.type),
                            static_cast<std::uint32_t>(got.head.size()), size_of(got.payload)}));
      append(got.head);
      if (got.payload) append(got.payload->bytes());
    }
  }
  return all;
}

// The first byte says how the stream is cut; however it is, the same comes out, and what comes out
// are the bytes that went in.
inline void fuzz_frame(std::span<const std::byte> input) {
  if (input.empty()) return;
  const Limits limits{.head_bytes = 5000, .payload_bytes = 200'000};
  const auto stream = input.subspan(1);
  const ReadStream whole = read_stream(stream, stream.size(), limits);
  const std::size_t most = 1 + std::to_integer<std::size_t>(input[0]);
  PACELINE_CHECK(read_stream(stream, most, limits) == whole, "pieces do not matter");
  PACELINE_CHECK(whole.frames.size() <= stream.size() &&
                     std::memcmp(whole.frames.data(), stream.data(), whole.frames.size()) == 0,
                 "frames are what was sent");
}

}  // namespace paceline::wire::testing
