#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "paceline/base/check.h"
#include "paceline/wire/handshake.h"

namespace paceline::wire::testing {

// The stream that a real peer would send to this side, the other one's first answers included.
inline std::string real_conversation(bool to_initiator) {
  const HandshakeIdentity worker{worker_node(WorkerId{2}), "job", {}};
  const HandshakeIdentity server{server_node(1), "job", {}};
  Nonce nonce{};
  auto initiator = Handshake::initiator(worker, server.self, nonce);
  nonce[0] = std::byte{1};
  auto acceptor = Handshake::acceptor(server, nonce);
  const auto bytes = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  const std::string hello = initiator.begin();
  const std::string answer = acceptor.receive(bytes(hello)).send;
  const std::string proof = initiator.receive(bytes(answer)).send;
  return to_initiator ? answer + acceptor.receive(bytes(proof)).send : hello + proof;
}

// The first byte chooses the side and how the bytes are cut; the rest is what the peer sends,
// laid over (exclusive or) what a real one would: so the fuzzer starts at the gate. Nobody gets in
// whose bytes differ from the real ones.
inline void fuzz_handshake(std::span<const std::byte> input) {
  if (input.empty()) return;
  const auto first = std::to_integer<unsigned>(input[0]);
  const bool initiates = (first & 1U) != 0;
  std::string stream = real_conversation(initiates);
  const std::string real = stream;
  stream.resize(std::max(stream.size(), input.size() - 1));
  for (std::size_t i = 1; i < input.size(); ++i) {
    stream[i - 1] = static_cast<char>(stream[i - 1] ^ std::to_integer<char>(input[i]));
  }
  const HandshakeIdentity identity{
      initiates ? worker_node(WorkerId{2}) : server_node(1), "job", {}};
  Nonce nonce{};
  nonce[0] = std::byte{static_cast<unsigned char>(initiates ? 0 : 1)};
  auto machine = initiates ? Handshake::initiator(identity, server_node(1), nonce)
                           : Handshake::acceptor(identity, nonce);
  std::size_t at = 0;
  while (machine.wanted() > 0 && at < stream.size()) {
    const std::size_t n =
        std::min({machine.wanted(), stream.size() - at, std::size_t{1} + (first >> 1U)});
    const auto outcome = machine.receive(std::as_bytes(std::span(stream).subspan(at, n)));
    PACELINE_CHECK(outcome.send.size() <= kHelloBytes + kProofBytes, "answers are small");
    PACELINE_CHECK(!outcome.error || !machine.done(), "an error opens nothing");
    at += n;
  }
  const bool same = stream.compare(0, real.size(), real) == 0;
  PACELINE_CHECK(machine.done() == same, "only the real conversation opens");
}

}  // namespace paceline::wire::testing
