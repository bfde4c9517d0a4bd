#include "paceline/wire/codec.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "paceline/wire/message_generator.h"

namespace paceline::wire {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

Result<Message> again(const Message& message) {
  return decode(type_of(message), bytes_of(encode(message)));
}

// ---- a field that is added to a struct must be added to codec.cc as well ----

struct Anything {
  template <typename T>
  operator T() const {  // NOLINT(google-explicit-constructor): never called, only asked for
    std::abort();
  }
};
template <typename T, std::size_t... kIndices>
constexpr bool takes(std::index_sequence<kIndices...>) {
  return requires { T{(static_cast<void>(kIndices), Anything{})...}; };
}
template <typename T, std::size_t kCount = 0>
constexpr std::size_t fields() {
  if constexpr (takes<T>(std::make_index_sequence<kCount + 1>())) {
    return fields<T, kCount + 1>();
  } else {
    return kCount;
  }
}
template <std::size_t... kIndices>
std::vector<std::size_t> fields_of_all(std::index_sequence<kIndices...>) {
  return {fields<std::variant_alternative_t<kIndices, Message>>()...};
}

TEST(Codec, KnowsEveryField) {
  const std::vector<std::size_t> known = {2, 4, 4, 2, 10, 0, 0, 1, 5, 3, 2, 1, 1, 1, 1,
                                          2, 1, 1, 4, 2,  6, 2, 2, 4, 1, 1, 2, 0, 1};
  EXPECT_EQ(fields_of_all(std::make_index_sequence<kTypes>()), known)
      << "add the field to paceline.proto, codec.cc and message_generator.h, then here";
  EXPECT_EQ(fields<Shard>(), 4U);
  EXPECT_EQ(fields<Update>(), 3U);
  EXPECT_EQ(fields<Momentum>(), 4U);
  EXPECT_EQ(fields<Recipient>(), 3U);
  EXPECT_EQ(fields<PushId>(), 3U);
  EXPECT_EQ(fields<NodeId>(), 2U);
}

// Every field of every message survives the wire.
TEST(Codec, DecodesWhatItEncoded) {
  testing::MessageGenerator generator{Rng(1)};
  for (std::uint32_t type = 1; type <= kTypes; ++type) {
    for (int i = 0; i < 200; ++i) {
      const Message message = generator.message(type);
      const auto decoded = again(message);
      ASSERT_TRUE(decoded) << to_string(decoded.error());
      ASSERT_EQ(*decoded, message) << name_of(message);
    }
  }
}

// A peer's bytes give a message that can be said again, or an error; nothing else happens.
TEST(Codec, DamagedBytesGiveAnErrorOrAnotherMessage) {
  Rng rng(2);
  testing::MessageGenerator generator{Rng(3)};
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto type = static_cast<std::uint32_t>(1 + rng.below(kTypes));
    std::string bytes = encode(generator.message(type));
    for (auto n = 1 + rng.below(3); n > 0 && !bytes.empty(); --n) {
      bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    }
    if (rng.chance(1, 4)) bytes.resize(rng.below(bytes.size() + 1));
    const auto decoded = decode(type, bytes_of(bytes));
    if (!decoded) {
      EXPECT_EQ(decoded.error().code, Code::Corruption);
      ++refused;
      continue;
    }
    const auto twice = again(*decoded);
    ASSERT_TRUE(twice) << to_string(twice.error());
    ASSERT_EQ(encode(*twice), encode(*decoded));
  }
  EXPECT_GT(refused, 1000);
}

TEST(Codec, NamesEachMessage) {
  testing::MessageGenerator generator{Rng(4)};
  std::set<std::string_view> names;
  for (std::uint32_t type = 1; type <= kTypes; ++type) {
    names.insert(name_of(generator.message(type)));
  }
  EXPECT_EQ(names.size(), kTypes);
  EXPECT_EQ(name_of(Register{}), "Register");
  EXPECT_EQ(name_of(Push{}), "Push");
  EXPECT_EQ(name_of(Decide{}), "Decide");
  EXPECT_EQ(name_of(Pong{}), "Pong");
  EXPECT_EQ(name_of(Finish{}), "Finish");
}

// The numbers on the wire are part of the protocol: append only.
TEST(Codec, TypeNumbersStay) {
  EXPECT_EQ(type_of(Register{}), 1U);
  EXPECT_EQ(type_of(Push{}), 12U);
  EXPECT_EQ(type_of(Finish{}), 29U);
  EXPECT_EQ(kTypes, 29U);
}

TEST(Codec, RefusesUnknownTypes) {
  for (const std::uint32_t type : {0U, kTypes + 1, 1'000'000U}) {
    const auto decoded = decode(type, {});
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, Code::Corruption);
    EXPECT_NE(decoded.error().what.find("unknown type"), std::string::npos);
  }
}

TEST(Codec, RefusesUnknownFieldsAtEveryDepth) {
  // Field 15, varint 1: no message has it.
  const std::string unknown = "\x78\x01";
  const std::string push = std::string("\x0a\x02") + unknown;  // field 1: PushId with it
  EXPECT_FALSE(decode(type_of(Ping{}), bytes_of(unknown)));
  EXPECT_FALSE(decode(type_of(Goodbye{}), bytes_of(unknown)));
  EXPECT_FALSE(decode(type_of(Push{}), bytes_of(push)));
  EXPECT_FALSE(decode(type_of(Decide{}), bytes_of("\x12\x02" + unknown)));          // Update
  EXPECT_FALSE(decode(type_of(Decide{}), bytes_of("\x22\x04\x0a\x02" + unknown)));  // NodeId
  EXPECT_FALSE(decode(type_of(Decide{}), bytes_of("\x22\x04\x0a\x00" + unknown)));  // Recipient
  EXPECT_FALSE(decode(type_of(Welcome{}), bytes_of("\x1a\x02" + unknown)));         // Shard
}

TEST(Codec, RefusesMessagesWithoutTheirPushOrNode) {
  const std::string recipient("\x22\x00", 2);
  const auto what = [](std::uint32_t type, const std::string& bytes) {
    const auto decoded = decode(type, bytes_of(bytes));
    return decoded ? "decoded" : decoded.error().what;
  };
  EXPECT_EQ(what(type_of(Push{}), ""), "a Push message with no push");
  EXPECT_EQ(what(type_of(PushRefused{}), ""), "a PushRefused message with no push");
  EXPECT_EQ(what(type_of(Decide{}), recipient), "a Decide message with no node");
}

// Absurd values are stopped here, so that no role has to think of them.
TEST(Codec, RefusesAbsurdValues) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<Message> absurd = {
      Join{1, 1, kMaxFloats + 1, 1},
      Welcome{1, 1, {{kMaxIndex, "", 0, 1}}, false},
      Welcome{1, 1, {{0, "", kMaxFloats, 1}}, false},
      Welcome{1, 1, {{0, "", ~std::uint64_t{0}, 2}}, false},
      Configure{kMaxFloats, 1, "sgd"},
      Configure{.optimizer = "sgd", .momentum = kNaN},
      Configure{.optimizer = "sgd", .weight_decay = kInfinity},
      Configure{.optimizer = "sgd", .beta1 = kNaN},
      Configure{.optimizer = "sgd", .beta2 = kNaN},
      Configure{.optimizer = "sgd", .eps = kNaN},
      Push{{WorkerId{kMaxIndex}, 1, 1}},
      Decide{1, {{{}, std::numeric_limits<float>::quiet_NaN()}}, {}, {}},
      Decide{1, {{{{WorkerId{kMaxIndex}, 1, 1}}, 1}}, {}, {}},
      Decide{1, {}, {{WorkerId{kMaxIndex}, 1, 1}}, {}},
      Decide{1, {}, {}, {{{static_cast<Role>(4), 0}, 1, 1}}},
      Decide{1, {}, {}, {{{Role::Worker, kMaxIndex}, 1, 1}}},
      Evaluated{1, 1, 1.5, 0},
      Evaluated{1, 1, -0.5, 0},
      Evaluated{1, 1, std::nan(""), 0},
      Failed{256, ""},
  };
  for (std::size_t i = 0; i < absurd.size(); ++i) {
    const auto decoded = again(absurd[i]);
    ASSERT_FALSE(decoded) << i << ", " << name_of(absurd[i]);
    EXPECT_EQ(decoded.error().code, Code::Corruption);
    EXPECT_NE(decoded.error().what.find(name_of(absurd[i])), std::string::npos);
  }
}

// A run that diverges still reports.
TEST(Codec, KeepsALossThatIsNoNumber) {
  const auto decoded = again(Progress{1, 2, std::numeric_limits<float>::quiet_NaN(), 3, 4, 5});
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(std::isnan(std::get<Progress>(*decoded).loss));
}

TEST(Codec, CutsALongReasonAndRefusesALongerOne) {
  const auto decoded = again(Finish{std::string(kMaxText + 9, 'x')});
  ASSERT_TRUE(decoded);
  EXPECT_EQ(std::get<Finish>(*decoded).why.size(), kMaxText);
  // Field 1, length 4097 as a varint.
  const std::string bytes = "\x0a\x81\x20" + std::string(kMaxText + 1, 'x');
  EXPECT_FALSE(decode(type_of(Finish{}), bytes_of(bytes)));
}

TEST(Codec, BoundsLists) {
  Release release;
  release.samples.assign(static_cast<std::size_t>(kMaxList), 1);
  EXPECT_TRUE(again(release));
  release.samples.push_back(1);
  const auto refused = again(release);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "a Release message with a list that is too long");
}

}  // namespace
}  // namespace paceline::wire
