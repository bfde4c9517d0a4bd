#include "paceline/wire/handshake.h"

#include <algorithm>
#include <utility>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "paceline/base/check.h"
#include "paceline/base/text.h"
#include "paceline/wire/codec.h"
#include "paceline/wire/little_endian.h"

namespace paceline::wire {
namespace {

// Layout of a hello:                      and of a proof:
//   0   4  magic "PCLH"                     0  4  magic "PCLP"
//   4   4  version                          4  4  verdict (0: accepted)
//   8   4  role of the sender               8 32  HMAC; zeros beside a refusal
//   12  4  index of the sender
//   16  4  role of whom it wants
//   20  4  index of whom it wants
//   24 32  SHA-256 of the job's name
//   56 32  nonce
// Magic and version stay where they are in every version to come.
constexpr std::uint32_t kHelloMagic = 0x484C4350;
constexpr std::uint32_t kProofMagic = 0x504C4350;
constexpr std::size_t kStartBytes = 8;
constexpr std::size_t kMacBytes = 32;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string digest(std::string_view text) {
  std::string out(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

std::uint32_t word(const std::string& message, std::size_t at) {
  return detail::load<std::uint32_t>(bytes_of(message), at);
}
void set_word(std::string& message, std::size_t at, std::uint32_t value) {
  detail::store<std::uint32_t>(std::as_writable_bytes(std::span(message)), at, value);
}

std::optional<NodeId> node_at(const std::string& message, std::size_t at) {
  const std::uint32_t role = word(message, at);
  const std::uint32_t index = word(message, at + 4);
  if (role > static_cast<std::uint32_t>(Role::Evaluator) || index >= kMaxIndex) return std::nullopt;
  return NodeId{static_cast<Role>(role), index};
}
void set_node(std::string& message, std::size_t at, NodeId node) {
  set_word(message, at, static_cast<std::uint32_t>(node.role));
  set_word(message, at + 4, node.index);
}

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

std::string secret_hex(const Secret& secret) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const std::byte byte : secret) {
    hex += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    hex += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return hex;
}

Result<Secret> parse_secret(std::string_view hex) {
  Secret secret{};
  bool good = hex.size() == 2 * secret.size();
  for (std::size_t i = 0; good && i < secret.size(); ++i) {
    const int high = hex_value(hex[2 * i]);
    const int low = hex_value(hex[2 * i + 1]);
    good = high >= 0 && low >= 0;
    secret[i] = static_cast<std::byte>(16 * high + low);
  }
  // Says nothing about the text itself: it may be a secret with a slip.
  if (!good) return fail(Code::InvalidArgument, "the job's secret is not 64 hexadecimal digits");
  return secret;
}

Handshake Handshake::initiator(const HandshakeIdentity& identity, NodeId peer, const Nonce& nonce) {
  return {identity, Side::Initiator, peer, nonce};
}

Handshake Handshake::acceptor(const HandshakeIdentity& identity, const Nonce& nonce) {
  return {identity, Side::Acceptor, {}, nonce};
}

Handshake::Handshake(const HandshakeIdentity& identity, Side side, NodeId peer, const Nonce& nonce)
    : identity_(identity), side_(side), peer_(peer), nonce_(nonce) {}

std::string Handshake::begin() const { return side_ == Side::Initiator ? hello() : std::string{}; }

std::string Handshake::hello() const {
  std::string message(kHelloBytes, '\0');
  set_word(message, 0, kHelloMagic);
  set_word(message, 4, identity_.version);
  set_node(message, 8, identity_.self);
  set_node(message, 16, peer_);
  message.replace(24, 32, digest(identity_.job));
  message.replace(56, 32, reinterpret_cast<const char*>(nonce_.data()), nonce_.size());
  return message;
}

std::string Handshake::proof(Side side) const {
  const bool first = side_ == Side::Initiator;
  std::string transcript = side == Side::Initiator ? "initiator" : "acceptor.";
  transcript += first ? hello() : hello_of_peer_;
  transcript += first ? hello_of_peer_ : hello();
  std::string mac(kMacBytes, '\0');
  unsigned int length = kMacBytes;
  HMAC(EVP_sha256(), identity_.secret.data(), static_cast<int>(identity_.secret.size()),
       reinterpret_cast<const unsigned char*>(transcript.data()), transcript.size(),
       reinterpret_cast<unsigned char*>(mac.data()), &length);
  return mac;
}

std::string Handshake::verdict(Verdict verdict) const {
  std::string message(8, '\0');
  set_word(message, 0, kProofMagic);
  set_word(message, 4, static_cast<std::uint32_t>(verdict));
  return message + (verdict == Verdict::Accepted ? proof(side_) : std::string(kMacBytes, '\0'));
}

std::string Handshake::name_of_peer() const {
  return side_ == Side::Initiator ? to_string(peer_) : "whoever connected";
}

std::size_t Handshake::wanted() const {
  if (state_ == State::AwaitHello) return kHelloBytes - received_.size();
  if (state_ == State::AwaitProof) return kProofBytes - received_.size();
  return 0;
}

Handshake::Outcome Handshake::failed(Error error, std::string send) {
  state_ = State::Failed;
  return {std::move(send), std::move(error)};
}

// Looks at magic and version as soon as they are there, so that random bytes and other versions,
// whose hello may have another size, are told apart at once.
std::optional<Error> Handshake::check_start(std::span<const std::byte> start) const {
  const bool hello = state_ == State::AwaitHello;
  const std::uint32_t magic = detail::load<std::uint32_t>(start, 0);
  if (magic != (hello ? kHelloMagic : kProofMagic)) {
    return Error{Code::Corruption, cat(name_of_peer(), " does not speak Paceline's protocol"),
                 "is this the right address, and TLS on at both ends or at none?"};
  }
  const std::uint32_t version = detail::load<std::uint32_t>(start, 4);
  if (hello && version != identity_.version) {
    return Error{Code::Refused,
                 cat(name_of_peer(), " speaks version ", version, " of the protocol, this is ",
                     identity_.version),
                 "run the same build of Paceline everywhere"};
  }
  return std::nullopt;
}

Handshake::Outcome Handshake::receive(std::span<const std::byte> bytes) {
  PACELINE_CHECK(bytes.size() <= wanted(), "no more bytes than were asked for");
  received_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (bytes.empty() || received_.size() < kStartBytes) return {};
  if (auto error = check_start(bytes_of(received_))) {
    // Another version learns of it from our hello, whose start it can read.
    const bool answer = error->code == Code::Refused && side_ == Side::Acceptor;
    return failed(std::move(*error), answer ? hello() : std::string{});
  }
  if (wanted() > 0) return {};
  return state_ == State::AwaitHello ? on_hello() : on_proof();
}

Handshake::Outcome Handshake::on_hello() {
  hello_of_peer_ = std::exchange(received_, {});
  const auto from = node_at(hello_of_peer_, 8);
  const auto to = node_at(hello_of_peer_, 16);
  if (!from || !to) {
    return failed({Code::Corruption, cat(name_of_peer(), " sent a hello that names no process")});
  }
  const bool accepts = side_ == Side::Acceptor;
  const bool expected = accepts || *from == peer_;
  const auto refuse = [&](Error error, Verdict reason) {
    return failed(std::move(error), accepts ? hello() + verdict(reason) : std::string{});
  };
  if (accepts) peer_ = *from;  // our hello names it
  if (hello_of_peer_.compare(24, 32, digest(identity_.job)) != 0) {
    return refuse({Code::Refused, cat(to_string(*from), " belongs to another job")},
                  Verdict::WrongJob);
  }
  if (!expected || *to != identity_.self || *from == identity_.self) {
    std::string what =
        accepts ? cat(to_string(*from), " looked for ", to_string(*to), " and found ",
                      to_string(identity_.self))
                : cat("at the address of ", to_string(peer_), " there is ", to_string(*from));
    return refuse({Code::Refused, std::move(what), "the address is out of date"},
                  Verdict::WrongPeer);
  }
  state_ = State::AwaitProof;
  return {accepts ? hello() : verdict(Verdict::Accepted), {}};
}

Error Handshake::refused_by_peer(std::uint32_t verdict) const {
  const std::string who = to_string(peer_);
  switch (static_cast<Verdict>(verdict)) {
    case Verdict::WrongSecret:
      return {Code::Refused, cat(who, " refused this process: its secret of the job is another"),
              "start all processes with the same secret"};
    case Verdict::WrongJob:
      return {Code::Refused, cat(who, " refused this process: it belongs to another job")};
    case Verdict::WrongPeer:
      return {Code::Refused, cat("another process answered at the address of ", who),
              "its address is out of date"};
    case Verdict::Accepted:
      break;
  }
  return {Code::Corruption, cat(who, " refused this process for the unknown reason ", verdict)};
}

Handshake::Outcome Handshake::on_proof() {
  const std::string message = std::exchange(received_, {});
  const bool accepts = side_ == Side::Acceptor;
  if (const std::uint32_t verdict = word(message, 4); verdict != 0) {
    return failed(refused_by_peer(verdict));
  }
  const std::string expected = proof(accepts ? Side::Initiator : Side::Acceptor);
  if (CRYPTO_memcmp(message.data() + 8, expected.data(), kMacBytes) != 0) {
    Error error{Code::Refused, cat(to_string(peer_), " does not know this job's secret"),
                "start all processes with the same secret"};
    return failed(std::move(error), accepts ? verdict(Verdict::WrongSecret) : std::string{});
  }
  state_ = State::Done;
  return {accepts ? verdict(Verdict::Accepted) : std::string{}, {}};
}

}  // namespace paceline::wire
