#include "paceline/wire/frame.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "paceline/base/check.h"
#include "paceline/base/text.h"
#include "paceline/wire/codec.h"
#include "paceline/wire/little_endian.h"

namespace paceline::wire {
namespace {

constexpr std::uint32_t kMagic = 0x314C4350;  // "PCL1"
constexpr std::size_t kStagingBytes = 64U << 10U;
// From here on a read straight to the target is worth a system call of its own.
constexpr std::size_t kDirectBytes = kStagingBytes / 2;

}  // namespace

std::array<std::byte, kFrameHeaderBytes> encode_header(const FrameHeader& header) {
  std::array<std::byte, kFrameHeaderBytes> bytes{};
  detail::store<std::uint32_t>(bytes, 0, kMagic);
  detail::store<std::uint16_t>(bytes, 4, header.type);
  detail::store<std::uint16_t>(bytes, 6, 0);
  detail::store<std::uint32_t>(bytes, 8, header.head_bytes);
  detail::store<std::uint64_t>(bytes, 12, header.payload_bytes);
  return bytes;
}

Result<FrameHeader> decode_header(std::span<const std::byte, kFrameHeaderBytes> bytes,
                                  const Limits& limits) {
  if (detail::load<std::uint32_t>(bytes, 0) != kMagic) {
    return fail(Code::Corruption, "bytes that are no frame (wrong magic)");
  }
  const FrameHeader header{detail::load<std::uint16_t>(bytes, 4),
                           detail::load<std::uint32_t>(bytes, 8),
                           detail::load<std::uint64_t>(bytes, 12)};
  if (header.type < 1 || header.type > kTypes) {
    return fail(Code::Corruption, cat("a frame of the unknown type ", header.type));
  }
  if (const auto flags = detail::load<std::uint16_t>(bytes, 6); flags != 0) {
    return fail(Code::Corruption, cat("a frame with the unknown flags ", flags));
  }
  if (header.head_bytes > limits.head_bytes) {
    return fail(Code::Corruption,
                cat("a message of ", header.head_bytes, " bytes, more than ", limits.head_bytes));
  }
  if (header.payload_bytes > limits.payload_bytes) {
    return fail(Code::Corruption, cat("a payload of ", header.payload_bytes, " bytes, more than ",
                                      limits.payload_bytes));
  }
  return header;
}

std::string encode_frame(const Message& message, std::uint64_t payload_bytes) {
  const std::string head = encode(message);
  const auto header = encode_header({static_cast<std::uint16_t>(type_of(message)),
                                     static_cast<std::uint32_t>(head.size()), payload_bytes});
  std::string frame;
  frame.reserve(header.size() + head.size());
  frame.append(reinterpret_cast<const char*>(header.data()), header.size());
  return frame += head;
}

FrameReader::FrameReader(const Limits& limits, BufferPool& pool)
    : limits_(limits), pool_(pool), staging_(kStagingBytes) {}

std::span<std::byte> FrameReader::target() {
  std::span<std::byte> all;
  if (state_ == State::Head) all = head_;
  if (state_ == State::Payload) all = payload_->bytes();
  return all.subspan(filled_);
}

std::span<std::byte> FrameReader::space() {
  if (staged_begin_ == staged_end_) {
    staged_begin_ = staged_end_ = 0;
    if (state_ == State::Head || state_ == State::Payload) {
      const std::span<std::byte> rest = target();
      direct_ = rest.size() >= kDirectBytes;
      if (direct_) return rest;
    }
  }
  direct_ = false;
  if (staged_begin_ > 0) {  // the start of a header, less than 20 bytes
    std::memmove(staging_.data(), staging_.data() + staged_begin_, staged_end_ - staged_begin_);
    staged_end_ -= staged_begin_;
    staged_begin_ = 0;
  }
  return std::span(staging_).subspan(staged_end_);
}

void FrameReader::commit(std::size_t n) {
  std::size_t& end = direct_ ? filled_ : staged_end_;
  const std::size_t room = direct_ ? target().size() : staging_.size() - staged_end_;
  PACELINE_CHECK(n <= room, "no more bytes than there was space for");
  end += n;
}

Status FrameReader::begin_frame() {
  const auto bytes =
      std::span<const std::byte>(staging_).subspan(staged_begin_).first<kFrameHeaderBytes>();
  const auto header = decode_header(bytes, limits_);
  if (!header) return fail(header.error());
  try {
    head_.resize(header->head_bytes);
    payload_ = header->payload_bytes > 0 ? pool_.take(header->payload_bytes) : nullptr;
  } catch (const std::bad_alloc&) {
    return fail(Code::Refused, cat("no memory for a payload of ",
                                   bytes_text(static_cast<double>(header->payload_bytes))));
  }
  header_ = *header;
  staged_begin_ += kFrameHeaderBytes;
  filled_ = 0;
  state_ = State::Head;
  return {};
}

// True when the target is full.
bool FrameReader::fill_from_staging() {
  const std::span<std::byte> rest = target();
  const std::size_t n = std::min(rest.size(), staged_end_ - staged_begin_);
  if (n > 0) std::memcpy(rest.data(), staging_.data() + staged_begin_, n);
  staged_begin_ += n;
  filled_ += n;
  return n == rest.size();
}

Result<std::optional<Frame>> FrameReader::finish_frame() {
  state_ = State::Header;
  filled_ = 0;
  return Frame{header_.type, std::exchange(head_, {}), std::exchange(payload_, nullptr)};
}

Result<std::optional<Frame>> FrameReader::next() {
  if (state_ == State::Broken) return fail(error_);
  if (state_ == State::Header) {
    if (staged_end_ - staged_begin_ < kFrameHeaderBytes) return std::nullopt;
    if (const auto begun = begin_frame(); !begun) {
      state_ = State::Broken;
      error_ = begun.error();
      return fail(error_);
    }
  }
  if (state_ == State::Head) {
    if (!fill_from_staging()) return std::nullopt;
    if (!payload_) return finish_frame();
    state_ = State::Payload;
    filled_ = 0;
  }
  if (!fill_from_staging()) return std::nullopt;
  return finish_frame();
}

}  // namespace paceline::wire
