#include "paceline/net/stream.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <asio/error.hpp>
#include <asio/post.hpp>
#include <asio/ssl/error.hpp>
#include <asio/ssl/stream.hpp>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "paceline/base/text.h"
#include "paceline/net/tls_context.h"

namespace paceline::net {
namespace {

asio::mutable_buffer buffer_of(std::span<std::byte> space) {
  return asio::buffer(space.data(), space.size());
}

class PlainStream final : public Stream {
 public:
  explicit PlainStream(Socket socket) : socket_(std::move(socket)) {}

  void secure(bool, Done done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done({}); });
  }
  void read_some(std::span<std::byte> space, IoDone done) override {
    socket_.async_read_some(buffer_of(space), std::move(done));
  }
  void write_some(std::span<const asio::const_buffer> buffers, IoDone done) override {
    socket_.async_write_some(buffers, std::move(done));
  }
  Socket& socket() override { return socket_; }

 private:
  Socket socket_;
};

class TlsStream final : public Stream {
 public:
  TlsStream(Socket socket, std::shared_ptr<TlsContext> context)
      : context_(std::move(context)), stream_(std::move(socket), context_->context) {}

  void secure(bool as_client, Done done) override {
    stream_.async_handshake(
        as_client ? asio::ssl::stream_base::client : asio::ssl::stream_base::server,
        std::move(done));
  }
  void read_some(std::span<std::byte> space, IoDone done) override {
    stream_.async_read_some(buffer_of(space), std::move(done));
  }
  void write_some(std::span<const asio::const_buffer> buffers, IoDone done) override {
    stream_.async_write_some(buffers, std::move(done));
  }
  Socket& socket() override { return stream_.next_layer(); }

 private:
  std::shared_ptr<TlsContext> context_;
  asio::ssl::stream<Socket> stream_;
};

void set_option(Socket& socket, int level, int name, int value) {
  // Not every system has each of them; without it a dead peer is noticed later.
  static_cast<void>(setsockopt(socket.native_handle(), level, name, &value, sizeof value));
}

}  // namespace

void Stream::close() {
  std::error_code ignored;
  socket().close(ignored);
}

void Stream::end_writing() {
  std::error_code ignored;
  socket().shutdown(Socket::shutdown_send, ignored);
}

std::unique_ptr<Stream> make_plain_stream(Socket socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

std::unique_ptr<Stream> make_tls_stream(Socket socket, std::shared_ptr<TlsContext> context) {
  return std::make_unique<TlsStream>(std::move(socket), std::move(context));
}

void tune_tcp(Socket& socket, std::chrono::milliseconds timeout) {
  std::error_code error;
  const auto family = socket.local_endpoint(error).protocol().family();
  if (error || (family != AF_INET && family != AF_INET6)) return;
  const int ms = static_cast<int>(std::max<std::int64_t>(1, timeout.count()));
  const int third = std::max(1, ms / 3000);  // seconds: quiet for one, then two probes
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, ms);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, third);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, third);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 2);
}

void keep_from_children(int file) { static_cast<void>(fcntl(file, F_SETFD, FD_CLOEXEC)); }

Error stream_error(const std::error_code& error) {
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
    return {Code::Unavailable, "closed the connection"};
  }
  if (error == asio::error::timed_out) {
    return {Code::Unavailable, "did not answer for too long"};
  }
  if (error.category() == asio::error::get_ssl_category()) {
    return {Code::Refused, cat("TLS failed: ", error.message()),
            "both sides need TLS and the certificate of the same job"};
  }
  std::string text = error.message();
  std::transform(text.begin(), text.begin() + 1, text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return {Code::Unavailable, std::move(text)};
}

}  // namespace paceline::net
