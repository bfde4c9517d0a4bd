#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "paceline/base/bytes.h"
#include "paceline/base/result.h"
#include "paceline/wire/messages.h"

// A message on a stream: a header of fixed size, the encoded message (the head), the raw payload.
//
//   0   4  magic "PCL1"
//   4   2  type: the message's number, from 1
//   6   2  flags: 0
//   8   4  head_bytes
//   12  8  payload_bytes
//
// Little-endian. docs/reference/wire-format describes the whole conversation.
namespace paceline::wire {

inline constexpr std::size_t kFrameHeaderBytes = 20;

struct FrameHeader {
  std::uint16_t type = 0;
  std::uint32_t head_bytes = 0;
  std::uint64_t payload_bytes = 0;
  bool operator==(const FrameHeader&) const = default;
};

std::array<std::byte, kFrameHeaderBytes> encode_header(const FrameHeader& header);
// Corruption on a wrong magic, an unknown type or flag, or a length above the limits.
Result<FrameHeader> decode_header(std::span<const std::byte, kFrameHeaderBytes> bytes,
                                  const Limits& limits);

// Header and head of a message, ready to send; its payload goes out raw behind it.
std::string encode_frame(const Message& message, std::uint64_t payload_bytes);

struct Frame {
  std::uint32_t type = 0;
  std::vector<std::byte> head;
  Payload payload;  // null: none
};

// Takes frames out of a stream. The caller reads bytes straight to where they belong: a large
// payload's go into its buffer from the pool, without a copy. Knows no socket:
//
//   n = read(reader.space());
//   reader.commit(n);
//   while (frame = reader.next()) ...
//
// Invariants: (1) no memory is taken for a length that is above the limits; (2) after an error,
// every next() gives that error.
class FrameReader {
 public:
  // The pool outlives the reader.
  FrameReader(const Limits& limits, BufferPool& pool);

  // Where the next bytes go. Not empty once next() has given all that it had.
  std::span<std::byte> space();
  // The first n bytes of the last space() are filled. n: at most its size.
  void commit(std::size_t n);
  // The next whole frame; none: more bytes are needed.
  Result<std::optional<Frame>> next();

  // A frame has begun and is not whole yet.
  bool mid_frame() const { return state_ != State::Header || staged_begin_ != staged_end_; }

 private:
  enum class State { Header, Head, Payload, Broken };

  std::span<std::byte> target();  // what is still missing of the head or payload
  bool fill_from_staging();
  Status begin_frame();
  Result<std::optional<Frame>> finish_frame();

  Limits limits_;
  BufferPool& pool_;
  State state_ = State::Header;
  Error error_;
  // Small things are read many at a time into here.
  std::vector<std::byte> staging_;
  std::size_t staged_begin_ = 0;
  std::size_t staged_end_ = 0;
  bool direct_ = false;  // the last space() was the target itself
  FrameHeader header_;
  std::vector<std::byte> head_;
  MutablePayload payload_;
  std::size_t filled_ = 0;  // bytes of the head or payload that are there
};

}  // namespace paceline::wire
