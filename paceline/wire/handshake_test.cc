#include "paceline/wire/handshake.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "paceline/base/random.h"

namespace paceline::wire {
namespace {

constexpr NodeId kServer = server_node(1);
constexpr NodeId kWorker = worker_node(WorkerId{2});

Secret secret_of(std::uint64_t seed) {
  Rng rng(seed);
  Secret secret;
  for (std::byte& byte : secret) byte = static_cast<std::byte>(rng.below(256));
  return secret;
}

HandshakeIdentity identity(NodeId self) { return {self, "job-1", secret_of(1)}; }

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// One end of a connection: bytes that wait for it, and what it said.
struct End {
  Handshake machine;
  std::string inbox;
  std::string said;
  std::optional<Error> error;

  std::string step(std::size_t most) {
    const std::size_t n = std::min({most, machine.wanted(), inbox.size()});
    auto outcome = machine.receive(bytes_of(std::string_view(inbox).substr(0, n)));
    inbox.erase(0, n);
    if (outcome.error && !error) error = outcome.error;
    said += outcome.send;
    return outcome.send;
  }
};

// Lets both talk until neither has anything left to do. most: bytes handed over at once.
void talk(End& initiator, End& acceptor, std::size_t most = 1000) {
  const std::string hello = initiator.machine.begin();
  initiator.said += hello;
  acceptor.inbox += hello + acceptor.machine.begin();
  for (int i = 0; i < 1000; ++i) {
    initiator.inbox += acceptor.step(most);
    acceptor.inbox += initiator.step(most);
  }
}

struct Pair {
  End initiator;
  End acceptor;
};
Pair pair(const HandshakeIdentity& from, NodeId wanted, const HandshakeIdentity& to) {
  return {{Handshake::initiator(from, wanted, secret_of(10))},
          {Handshake::acceptor(to, secret_of(20))}};
}

TEST(Handshake, BothProveWhoTheyAreInAnyPieces) {
  for (const std::size_t most : {1U, 7U, 1000U}) {
    auto [initiator, acceptor] = pair(identity(kWorker), kServer, identity(kServer));
    talk(initiator, acceptor, most);
    EXPECT_TRUE(initiator.machine.done());
    EXPECT_TRUE(acceptor.machine.done());
    EXPECT_EQ(initiator.machine.peer(), kServer);
    EXPECT_EQ(acceptor.machine.peer(), kWorker);
    EXPECT_EQ(initiator.machine.wanted(), 0U);
    EXPECT_FALSE(initiator.error);
    EXPECT_FALSE(acceptor.error);
    EXPECT_EQ(initiator.said.size(), kHelloBytes + kProofBytes);
    EXPECT_EQ(acceptor.said.size(), kHelloBytes + kProofBytes);
  }
}

// What follows the handshake stays in the stream for whoever reads frames.
TEST(Handshake, WantsNoByteMoreThanItNeeds) {
  auto [initiator, acceptor] = pair(identity(kWorker), kServer, identity(kServer));
  EXPECT_EQ(acceptor.machine.wanted(), kHelloBytes);
  acceptor.inbox = initiator.machine.begin();
  acceptor.step(10);
  EXPECT_EQ(acceptor.machine.wanted(), kHelloBytes - 10);
  initiator.inbox = acceptor.step(1000);
  EXPECT_EQ(acceptor.machine.wanted(), kProofBytes);
  initiator.step(1000);
  EXPECT_EQ(initiator.machine.wanted(), kProofBytes);
}

void expect_error(const End& end, Code code, const std::string& word) {
  EXPECT_FALSE(end.machine.done());
  ASSERT_TRUE(end.error);
  EXPECT_EQ(end.error->code, code);
  EXPECT_NE(to_string(*end.error).find(word), std::string::npos) << to_string(*end.error);
}

TEST(Handshake, AWrongSecretIsRefusedAndBothSaySo) {
  auto wrong = identity(kWorker);
  wrong.secret = secret_of(2);
  auto [initiator, acceptor] = pair(wrong, kServer, identity(kServer));
  talk(initiator, acceptor);
  expect_error(initiator, Code::Refused, "same secret");
  expect_error(acceptor, Code::Refused, "does not know this job's secret");
  // Nothing made with the secret went to a stranger.
  EXPECT_EQ(acceptor.said.substr(kHelloBytes + 8), std::string(32, '\0'));
}

// One flipped bit of the secret is enough.
TEST(Handshake, EveryBitOfTheSecretCounts) {
  for (std::size_t bit = 0; bit < 256; bit += 15) {
    auto wrong = identity(kWorker);
    wrong.secret[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    auto [initiator, acceptor] = pair(wrong, kServer, identity(kServer));
    talk(initiator, acceptor);
    EXPECT_FALSE(acceptor.machine.done());
    EXPECT_FALSE(initiator.machine.done());
  }
}

TEST(Handshake, AnotherVersionIsToldApartFromAWrongSecret) {
  auto newer = identity(kWorker);
  newer.version = kProtocolVersion + 1;
  auto [initiator, acceptor] = pair(newer, kServer, identity(kServer));
  talk(initiator, acceptor);
  expect_error(initiator, Code::Refused, "version 1 of the protocol, this is 2");
  expect_error(acceptor, Code::Refused, "version 2 of the protocol, this is 1");
}

// A later version's hello may have any size: its first 8 bytes decide.
TEST(Handshake, SeesTheVersionInTheFirstEightBytes) {
  auto newer = identity(kWorker);
  newer.version = 77;
  auto [initiator, acceptor] = pair(newer, kServer, identity(kServer));
  acceptor.inbox = initiator.machine.begin().substr(0, 8);
  acceptor.step(8);
  expect_error(acceptor, Code::Refused, "version 77");
}

TEST(Handshake, RandomBytesAreRefusedWithoutAnAnswer) {
  Rng rng(5);
  for (int i = 0; i < 200; ++i) {
    auto [initiator, acceptor] = pair(identity(kWorker), kServer, identity(kServer));
    for (int n = 0; n < 100; ++n) acceptor.inbox += static_cast<char>(rng.below(256));
    acceptor.step(1000);
    expect_error(acceptor, Code::Corruption, "does not speak");
    EXPECT_EQ(acceptor.said, "");
  }
}

TEST(Handshake, AnotherJobIsRefused) {
  auto other = identity(kWorker);
  other.job = "job-2";
  auto [initiator, acceptor] = pair(other, kServer, identity(kServer));
  talk(initiator, acceptor);
  expect_error(initiator, Code::Refused, "another job");
  expect_error(acceptor, Code::Refused, "another job");
}

// A port that was given to another process of the job: nobody takes it for the one that left.
TEST(Handshake, AnotherProcessAtTheAddressIsRefused) {
  auto [initiator, acceptor] = pair(identity(kWorker), server_node(0), identity(kServer));
  talk(initiator, acceptor);
  expect_error(initiator, Code::Refused, "server 1");
  expect_error(acceptor, Code::Refused, "looked for server 0");
}

TEST(Handshake, NobodyTalksToItself) {
  auto [initiator, acceptor] = pair(identity(kServer), kServer, identity(kServer));
  talk(initiator, acceptor);
  EXPECT_FALSE(initiator.machine.done());
  EXPECT_FALSE(acceptor.machine.done());
}

// Somebody who has heard a whole conversation says the same again.
TEST(Handshake, ARecordedConversationDoesNotOpenAnother) {
  auto [initiator, acceptor] = pair(identity(kWorker), kServer, identity(kServer));
  talk(initiator, acceptor);
  ASSERT_TRUE(acceptor.machine.done());

  End fresh{Handshake::acceptor(identity(kServer), secret_of(21))};
  fresh.inbox = initiator.said;
  for (int i = 0; i < 4; ++i) fresh.step(1000);
  expect_error(fresh, Code::Refused, "secret");

  End victim{Handshake::initiator(identity(kWorker), kServer, secret_of(11))};
  victim.inbox = acceptor.said;
  for (int i = 0; i < 4; ++i) victim.step(1000);
  expect_error(victim, Code::Refused, "secret");
}

// Somebody sends an initiator's own words back to it: with and without its own name in them.
TEST(Handshake, AReflectionDoesNotProveAnything) {
  End victim{Handshake::initiator(identity(kWorker), kServer, secret_of(11))};
  victim.inbox = victim.machine.begin();
  victim.step(1000);
  expect_error(victim, Code::Refused, "");

  End other{Handshake::initiator(identity(kWorker), kServer, secret_of(11))};
  std::string hello = other.machine.begin();
  std::swap_ranges(hello.begin() + 8, hello.begin() + 16, hello.begin() + 16);
  other.inbox = hello;
  other.inbox += other.step(1000);  // its proof, sent back as ours
  ASSERT_EQ(other.inbox.size(), kProofBytes);
  other.step(1000);
  expect_error(other, Code::Refused, "secret");
}

void flip(std::string& text, std::size_t bit) {
  if (bit / 8 < text.size()) text[bit / 8] ^= static_cast<char>(1U << (bit % 8));
}

// Is a connection accepted when one bit of what the initiator says is changed on the way?
bool accepted_with_flipped(std::size_t bit) {
  auto [initiator, acceptor] = pair(identity(kWorker), kServer, identity(kServer));
  std::string hello = initiator.machine.begin();
  flip(hello, bit);
  acceptor.inbox = hello;
  initiator.inbox = acceptor.step(1000);
  std::string proof = initiator.step(1000);
  if (bit >= 8 * hello.size()) flip(proof, bit - 8 * hello.size());
  acceptor.inbox = proof;
  acceptor.step(1000);
  return acceptor.machine.done();
}

TEST(Handshake, EveryBitOfTheConversationCounts) {
  constexpr std::size_t kBits = 8 * (kHelloBytes + kProofBytes);
  EXPECT_TRUE(accepted_with_flipped(kBits));  // none
  for (std::size_t bit = 0; bit < kBits; ++bit) {
    EXPECT_FALSE(accepted_with_flipped(bit)) << "byte " << bit / 8 << ", bit " << bit % 8;
  }
}

TEST(Handshake, ReadsASecretFromItsHex) {
  const Secret secret = secret_of(3);
  const auto again = parse_secret(secret_hex(secret));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, secret);
  for (const std::string& bad :
       {std::string(), std::string(63, 'a'), std::string(64, 'g'), std::string(66, '0')}) {
    const auto parsed = parse_secret(bad);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, Code::InvalidArgument);
  }
}

}  // namespace
}  // namespace paceline::wire
