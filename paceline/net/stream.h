#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <system_error>

#include <asio/buffer.hpp>
#include <asio/generic/stream_protocol.hpp>

#include "paceline/base/result.h"
#include "paceline/net/tls.h"

namespace paceline::net {

using Socket = asio::generic::stream_protocol::socket;  // TCP or Unix

// A connected socket, with or without TLS over it. Handlers are never called inside the call.
class Stream {
 public:
  using Done = std::function<void(const std::error_code&)>;
  using IoDone = std::function<void(const std::error_code&, std::size_t)>;

  virtual ~Stream() = default;
  virtual void secure(bool as_client, Done done) = 0;
  virtual void read_some(std::span<std::byte> space, IoDone done) = 0;
  // buffers: stay until done, as does what they point to.
  virtual void write_some(std::span<const asio::const_buffer> buffers, IoDone done) = 0;
  virtual Socket& socket() = 0;

  // All that waits ends with an error.
  void close();
  // The peer sees the end of the stream once it has read what was written.
  void end_writing();
};

std::unique_ptr<Stream> make_plain_stream(Socket socket);
std::unique_ptr<Stream> make_tls_stream(Socket socket, std::shared_ptr<TlsContext> context);

// For links that carry data: no delay, and a peer that is gone is noticed within `timeout` even
// where nothing says so. TCP only; nothing happens on a Unix socket.
void tune_tcp(Socket& socket, std::chrono::milliseconds timeout);

// The programs that this process starts do not get the socket: else a link would stay open when its
// owner dies.
void keep_from_children(int file);

// Why a stream ended, in words for the peer's name before it: "closed the connection".
Error stream_error(const std::error_code& error);

}  // namespace paceline::net
