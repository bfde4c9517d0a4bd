#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <asio/buffer.hpp>
#include <asio/steady_timer.hpp>

#include "paceline/base/bytes.h"
#include "paceline/base/ids.h"
#include "paceline/base/result.h"
#include "paceline/base/time.h"
#include "paceline/net/stream.h"
#include "paceline/wire/frame.h"
#include "paceline/wire/handshake.h"

namespace paceline::net {

// Counters, as many threads may read them.
struct AtomicCounters {
  std::atomic<std::uint64_t> strangers{0}, refused{0}, links{0};
  std::atomic<std::uint64_t> messages_in{0}, messages_out{0};
  std::atomic<std::uint64_t> bytes_in{0}, bytes_out{0};
  std::atomic<std::uint64_t> payload_bytes_in{0}, payload_bytes_out{0};
};

// One connection from its first byte to its last. The loop's thread owns it; a completion that is
// under way keeps it alive.
//
//   Securing (TLS) -> Proving (handshake) -> Up -> Leaving (what was sent goes out) -> Closed
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_proven(Connection& connection) = 0;
    virtual void on_frame(Connection& connection, wire::Frame frame) = 0;
    // It broke, by itself or by break_later(). Not after abandon().
    virtual void on_closed(Connection& connection, const Error& why) = 0;
  };
  struct Setup {
    const wire::Limits& limits;
    BufferPool& pool;
    AtomicCounters& counters;
    Duration handshake_timeout;
    Duration leave_timeout;
  };

  // id: unique in the transport, grows. called: we opened it.
  Connection(std::uint64_t id, Owner& owner, const Setup& setup, std::unique_ptr<Stream> stream,
             wire::Handshake handshake, bool called);

  void start();

  std::uint64_t id() const { return id_; }
  bool called() const { return called_; }
  bool up() const { return state_ == State::Up; }
  // Who the other side says it is; proven once up.
  NodeId peer() const { return peer_; }

  // A frame's header and head, and the payload that goes behind it.
  void send(std::string head, Payload payload);
  std::size_t queued_messages() const { return outbox_.size(); }
  std::size_t queued_bytes() const { return queued_bytes_; }

  // What was sent goes out, then it closes; nothing is read any more.
  void leave(Error why);
  // Closes at once; the owner is told from the loop.
  void break_later(const Error& why);
  // Closes at once; the owner hears nothing any more.
  void abandon();
  // Breaks it if it had bytes to move since `limit` and moved none.
  void check_progress(std::chrono::steady_clock::time_point limit);

 private:
  enum class State { Securing, Proving, Up, Leaving, Closed };
  struct Outgoing {
    std::string head;
    Payload payload;
  };

  void on_secured();
  void read_next();
  void on_read(const std::error_code& error, std::size_t n);
  void on_proving(std::span<const std::byte> bytes);
  void become_up();
  void take_frames();
  void write_next();
  void on_written(const std::error_code& error, std::size_t n);
  void drop_written(std::size_t n);
  void close(const Error& why);
  void shut();
  void set_deadline(Duration timeout, Error why);
  std::span<std::byte> space();

  std::uint64_t id_;
  Owner* owner_;  // null: abandoned
  Setup setup_;
  std::unique_ptr<Stream> stream_;
  std::optional<wire::Handshake> handshake_;
  bool called_;
  NodeId peer_;
  State state_ = State::Securing;
  asio::steady_timer deadline_;
  Error leaving_because_;

  std::array<std::byte, 128> small_;         // before it is up, and for what nobody reads
  std::optional<wire::FrameReader> reader_;  // from then on
  std::deque<Outgoing> outbox_;
  std::size_t queued_bytes_ = 0;
  std::size_t front_written_ = 0;  // bytes of outbox_.front()
  bool writing_ = false;
  std::vector<asio::const_buffer> gathered_;
  std::chrono::steady_clock::time_point read_at_;  // when bytes moved last
  std::chrono::steady_clock::time_point
      written_at_;  // when bytes moved last, or the outbox became not empty
};

}  // namespace paceline::net
