#include "paceline/wire/frame.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include "paceline/base/random.h"
#include "paceline/wire/codec.h"
#include "paceline/wire/message_generator.h"

namespace paceline::wire {
namespace {

// Counts what is asked of it; refuses to give more than it may.
class CountingPool final : public BufferPool {
 public:
  explicit CountingPool(std::size_t most = ~std::size_t{0}) : most_(most) {}
  MutablePayload take(std::size_t size) override {
    if (size > most_) throw std::bad_alloc();
    taken += size;
    return heap_.take(size);
  }
  std::size_t taken = 0;

 private:
  HeapPool heap_;
  std::size_t most_;
};

struct Sent {
  Message message;
  std::string payload;
};

std::string stream_of(const std::vector<Sent>& all) {
  std::string stream;
  for (const Sent& sent : all) {
    stream += encode_frame(sent.message, sent.payload.size()) + sent.payload;
  }
  return stream;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Reads at most `most` bytes of the stream; 0 at its end.
std::size_t read_some(std::string_view& stream, FrameReader& reader, std::size_t most) {
  const auto space = reader.space();
  EXPECT_FALSE(space.empty());
  const std::size_t n = std::min({space.size(), stream.size(), most});
  std::memcpy(space.data(), stream.data(), n);
  reader.commit(n);
  stream.remove_prefix(n);
  return n;
}

void expect_frame(const Frame& frame, const Sent& sent) {
  EXPECT_EQ(frame.type, type_of(sent.message));
  const auto message = decode(frame.type, frame.head);
  ASSERT_TRUE(message) << to_string(message.error());
  EXPECT_EQ(*message, sent.message);
  EXPECT_EQ(frame.payload == nullptr, sent.payload.empty());
  if (frame.payload) {
    EXPECT_TRUE(text_of(frame.payload->bytes()) == sent.payload);
  }
}

std::vector<Sent> conversation(Rng& rng) {
  testing::MessageGenerator generator{rng.stream("messages", rng.next())};
  std::vector<Sent> all;
  for (auto n = rng.below(8); n > 0; --n) {
    Sent sent{generator.message(static_cast<std::uint32_t>(1 + rng.below(kTypes))), {}};
    const std::size_t sizes[] = {0, 1, 100, 40'000, 70'000, 200'000};
    sent.payload.resize(sizes[rng.below(6)]);
    for (std::size_t i = 0; i < sent.payload.size(); i += 61) {
      sent.payload[i] = static_cast<char>(rng.below(256));
    }
    all.push_back(std::move(sent));
  }
  return all;
}

// However the stream is cut into pieces, the same frames come out.
TEST(Frame, ReadsAnyStreamInAnyPieces) {
  Rng rng(1);
  for (int round = 0; round < 150; ++round) {
    const auto all = conversation(rng);
    const std::string bytes = stream_of(all);
    std::string_view stream = bytes;
    HeapPool pool;
    FrameReader reader(Limits{}, pool);
    std::size_t seen = 0;
    const std::size_t most = rng.chance(1, 5) ? 7 : std::size_t{1} << rng.below(20);
    while (read_some(stream, reader, 1 + rng.below(most)) > 0) {
      for (;;) {
        auto frame = reader.next();
        ASSERT_TRUE(frame) << to_string(frame.error());
        if (!*frame) break;
        ASSERT_LT(seen, all.size());
        expect_frame(**frame, all[seen++]);
      }
    }
    EXPECT_EQ(seen, all.size());
    EXPECT_FALSE(reader.mid_frame());
  }
}

// Bytes of a large payload go straight into its buffer: no copy on the way.
TEST(Frame, OffersTheBufferOfALargePayload) {
  HeapPool pool;
  FrameReader reader(Limits{}, pool);
  std::string payload(1'000'000, 'p');
  const std::string bytes = stream_of({{Initialise{}, payload}});
  std::string_view stream = bytes;
  read_some(stream, reader, kFrameHeaderBytes + 10);
  ASSERT_TRUE(reader.next());
  EXPECT_TRUE(reader.mid_frame());
  const auto space = reader.space();
  EXPECT_EQ(space.size(), payload.size() - 10);
  std::memcpy(space.data(), stream.data(), space.size());
  reader.commit(space.size());
  const auto frame = reader.next();
  ASSERT_TRUE(frame && *frame);
  EXPECT_EQ((*frame)->payload->bytes().data() + 10, space.data());
}

std::string header_text(std::uint16_t type, std::uint32_t head, std::uint64_t payload) {
  return text_of(encode_header({type, head, payload}));
}

TEST(Frame, RefusesABadHeaderBeforeItTakesMemory) {
  const Limits limits{.head_bytes = 1000, .payload_bytes = 5000};
  std::string magic = header_text(1, 0, 0);
  magic[3] ^= 1;
  std::string flags = header_text(1, 0, 0);
  flags[6] = 1;
  const std::string bad[] = {magic,
                             flags,
                             header_text(0, 0, 0),
                             header_text(static_cast<std::uint16_t>(kTypes + 1), 0, 0),
                             header_text(1, 1001, 0),
                             header_text(1, 0, 5001),
                             header_text(1, 0, ~std::uint64_t{0})};
  for (const std::string& bytes : bad) {
    CountingPool pool;
    FrameReader reader(limits, pool);
    std::string_view stream = bytes;
    read_some(stream, reader, bytes.size());
    const auto frame = reader.next();
    ASSERT_FALSE(frame);
    EXPECT_EQ(frame.error().code, Code::Corruption);
    EXPECT_EQ(pool.taken, 0U);
    EXPECT_EQ(reader.next().error(), frame.error());  // and stays broken
  }
}

TEST(Frame, TakesWhatTheLimitsAllow) {
  const Limits limits{.head_bytes = 1000, .payload_bytes = 5000};
  CountingPool pool;
  FrameReader reader(limits, pool);
  const std::string bytes = header_text(static_cast<std::uint16_t>(kTypes), 1000, 5000);
  std::string_view stream = bytes;
  read_some(stream, reader, bytes.size());
  const auto frame = reader.next();
  ASSERT_TRUE(frame);
  EXPECT_FALSE(*frame);
  EXPECT_EQ(pool.taken, 5000U);
}

// The machine has less memory than the limits allow: an error of the link, not the end of us.
TEST(Frame, LackOfMemoryIsAnError) {
  CountingPool pool(100);
  FrameReader reader(Limits{}, pool);
  const std::string bytes = header_text(1, 0, 101);
  std::string_view stream = bytes;
  read_some(stream, reader, bytes.size());
  const auto frame = reader.next();
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().code, Code::Refused);
}

// The layout is part of the protocol.
TEST(Frame, HeaderIsLittleEndianAtFixedPlaces) {
  const std::string bytes = header_text(0x0102, 0x03040506, 0x0708090A0B0C0D0EULL);
  EXPECT_EQ(bytes.substr(0, 4), "PCL1");
  EXPECT_EQ(bytes.substr(4), std::string("\x02\x01\x00\x00\x06\x05\x04\x03"
                                         "\x0e\x0d\x0c\x0b\x0a\x09\x08\x07",
                                         16));
}

}  // namespace
}  // namespace paceline::wire
