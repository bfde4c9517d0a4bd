#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "paceline/base/ids.h"
#include "paceline/base/result.h"
#include "paceline/wire/messages.h"

// How both ends of a new connection prove that they know the job's secret, before anything else is
// read. A pure state machine: bytes in, bytes out, random numbers handed in.
//
//   initiator -> acceptor   hello: version, who I am, whom I want, job, nonce
//   acceptor -> initiator   hello: version, who I am, who you say you are, job, nonce
//   initiator -> acceptor   proof = HMAC(secret, "initiator" + both hellos)
//   acceptor -> initiator   proof = HMAC(secret, "acceptor" + both hellos), or a reason why not
//
// HMAC-SHA256 (RFC 2104) over a transcript with fresh nonces of both sides, as in the
// challenge-response protocols of ISO/IEC 9798-4.
//
// Invariants:
//   (1) an acceptor gives no proof before it has seen one;
//   (2) a recorded conversation does not help: both sides' nonces are in both proofs;
//   (3) a reflected one neither: the proofs of the two sides differ in their first word, and
//       nobody talks to itself;
//   (4) nothing is taken from a peer but these messages, of fixed size.
// It proves who opened the connection. Against someone who sits on the path and changes what
// follows there is TLS.
namespace paceline::wire {

using Secret = std::array<std::byte, 32>;
using Nonce = std::array<std::byte, 32>;  // never used twice

// 64 hexadecimal digits, as a secret stands in a file or variable.
std::string secret_hex(const Secret& secret);
Result<Secret> parse_secret(std::string_view hex);

inline constexpr std::size_t kHelloBytes = 88;
inline constexpr std::size_t kProofBytes = 40;

struct HandshakeIdentity {
  NodeId self;
  std::string job;
  Secret secret{};
  std::uint32_t version = kProtocolVersion;  // another one only in tests
};

class Handshake {
 public:
  // Opens a connection to `peer`; whoever else answers is refused.
  static Handshake initiator(const HandshakeIdentity& identity, NodeId peer, const Nonce& nonce);
  static Handshake acceptor(const HandshakeIdentity& identity, const Nonce& nonce);

  // What to send first: the initiator's hello; empty for the acceptor.
  std::string begin() const;

  // Bytes to read before the next receive() can say more; 0: done or failed. Reading no more than
  // this leaves what follows the handshake in the stream.
  std::size_t wanted() const;

  struct Outcome {
    std::string send;            // goes out, even beside an error: the reason for the peer
    std::optional<Error> error;  // the connection is to be closed
  };
  // bytes: at most wanted().
  Outcome receive(std::span<const std::byte> bytes);

  bool done() const { return state_ == State::Done; }
  // Who the other side says it is; proven once done() holds.
  NodeId peer() const { return peer_; }

 private:
  enum class State { AwaitHello, AwaitProof, Done, Failed };
  enum class Side : std::uint8_t { Initiator, Acceptor };
  // Why an acceptor says no: the number on the wire.
  enum class Verdict : std::uint32_t { Accepted, WrongSecret, WrongJob, WrongPeer };

  Handshake(const HandshakeIdentity& identity, Side side, NodeId peer, const Nonce& nonce);

  std::string hello() const;
  std::string proof(Side side) const;
  std::string verdict(Verdict verdict) const;
  Outcome failed(Error error, std::string send = {});
  std::optional<Error> check_start(std::span<const std::byte> start) const;
  Outcome on_hello();
  Outcome on_proof();
  Error refused_by_peer(std::uint32_t verdict) const;
  std::string name_of_peer() const;

  HandshakeIdentity identity_;
  Side side_;
  State state_ = State::AwaitHello;
  NodeId peer_;
  Nonce nonce_;
  std::string received_;       // the message that is arriving
  std::string hello_of_peer_;  // whole
};

}  // namespace paceline::wire
