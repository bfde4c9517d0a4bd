#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "paceline/base/bytes.h"
#include "paceline/base/ids.h"
#include "paceline/base/result.h"
#include "paceline/base/time.h"
#include "paceline/net/event_loop.h"
#include "paceline/net/tls.h"
#include "paceline/wire/handshake.h"
#include "paceline/wire/messages.h"

namespace paceline::net {

struct TransportOptions {
  NodeId self;
  std::string job;  // name of the run; a process of another one is refused
  wire::Secret secret{};
  std::shared_ptr<TlsContext> tls;  // null: none. Over TCP only; Unix sockets stay as they are
  wire::Limits limits;

  // A link that has bytes to move and moves none for so long is broken.
  Duration link_timeout = std::chrono::seconds(15);
  // From the first byte to the proof of the secret, TLS included.
  Duration handshake_timeout = std::chrono::seconds(5);
  // Between two tries to reach a peer: doubles from the first to the second.
  Duration retry_first = std::chrono::milliseconds(50);
  Duration retry_last = std::chrono::seconds(1);
  // Accepted connections that have not proven the secret yet; beyond it the oldest is closed, so
  // that a flood of them neither takes memory nor keeps a peer out.
  std::size_t unproven_most = 256;
  // What waits to be written to one peer. At either bound the link is broken (a single message
  // may be larger). Roles repeat what was lost.
  std::size_t queue_messages_most = 1U << 14U;
  std::size_t queue_bytes_most = std::size_t{4} << 30U;
};

enum class LogLevel : std::uint8_t { Debug, Info, Warning, Error };

// Called on the loop's thread, and never inside a call of Transport's. None may destroy it.
struct Handlers {
  std::function<void(NodeId from, wire::Message message, Payload payload)> on_message;
  std::function<void(NodeId peer)> on_up;
  std::function<void(NodeId peer, const std::string& why)> on_down;
  std::function<void(LogLevel level, const std::string& text)> on_log;
};

// Since the transport was made. strangers: connections to us that did not prove the secret, for
// whatever reason; refused: peers that we called and that did not.
struct Counters {
  std::uint64_t strangers = 0;
  std::uint64_t refused = 0;
  std::uint64_t links = 0;  // proven, so far
  std::uint64_t messages_in = 0;
  std::uint64_t messages_out = 0;
  std::uint64_t bytes_in = 0;  // all of a link's bytes, below TLS's own
  std::uint64_t bytes_out = 0;
  std::uint64_t payload_bytes_in = 0;
  std::uint64_t payload_bytes_out = 0;
};

// Links to the other processes of the run, each proven by the job's secret; README.md has the
// contract. Everything but counters() belongs to the loop's thread (or to the thread that sets all
// up, while the loop does not run yet or any more), so no name says so.
class Transport {
 public:
  // The loop and the pool outlive it.
  Transport(EventLoop& loop, TransportOptions options, BufferPool& pool, Handlers handlers);
  // Closes everything at once; no handler is called any more.
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  // Lets peers connect at "127.0.0.1:0", "[::1]:7000" or "unix:/path"; gives the address with the
  // port that it became. May be called for several addresses.
  Result<std::string> listen(const std::string& address);

  // Reaches that node and keeps the link up until disconnect(): whoever answers proves to be it.
  // Another address replaces the old one. InvalidArgument: this is no address.
  Status connect(NodeId peer, const std::string& address);

  // What was sent goes out, then the link is closed. No on_down. Not reached again; the peer may
  // still connect by itself.
  void disconnect(NodeId peer);

  // Sends to the peer if there is a link, in order; else drops it silently. payload: null for none;
  // it is not copied.
  void send(NodeId peer, const wire::Message& message, Payload payload = nullptr);

  bool linked(NodeId peer) const;

  // Calls `done` once everything sent so far is with the system, or at the deadline. For the end.
  void flush(Duration deadline, std::function<void()> done);

  // From any thread.
  Counters counters() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace paceline::net
