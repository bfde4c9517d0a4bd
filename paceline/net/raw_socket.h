#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "paceline/net/address.h"

// A plain blocking socket: the stranger in tests, the yardstick in benchmarks.
namespace paceline::net::testing {

class RawSocket {
 public:
  explicit RawSocket(int file) : file_(file) {}
  ~RawSocket() { close(); }
  RawSocket(RawSocket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  // To an address that a listen() gave.
  static RawSocket connected(const std::string& text) {
    const Address address = parse_address(text).value();
    RawSocket socket(::socket(address.kind == Address::Kind::Tcp ? AF_INET : AF_UNIX,
                              SOCK_STREAM | SOCK_CLOEXEC, 0));
    int failed = 0;
    if (address.kind == Address::Kind::Tcp) {
      sockaddr_in there{};
      there.sin_family = AF_INET;
      there.sin_port = htons(address.port);
      inet_pton(AF_INET, address.host.c_str(), &there.sin_addr);
      const int on = 1;
      setsockopt(socket.file_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      failed = ::connect(socket.file_, reinterpret_cast<sockaddr*>(&there), sizeof there);
    } else {
      sockaddr_un there{};
      there.sun_family = AF_UNIX;
      std::memcpy(there.sun_path, address.path.c_str(), address.path.size() + 1);
      failed = ::connect(socket.file_, reinterpret_cast<sockaddr*>(&there), sizeof there);
    }
    if (failed != 0) socket.close();
    return socket;
  }

  // Takes a path without listening there.
  bool bind(const std::string& path) {
    sockaddr_un here{};
    here.sun_family = AF_UNIX;
    std::memcpy(here.sun_path, path.c_str(), path.size() + 1);
    return ::bind(file_, reinterpret_cast<sockaddr*>(&here), sizeof here) == 0;
  }

  bool good() const { return file_ >= 0; }
  void close() {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
  }

  // False once the peer is gone.
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(file_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  // Exactly so many bytes, less at the end of the stream.
  std::string read(std::size_t size) {
    std::string bytes(size, '\0');
    std::size_t done = 0;
    while (done < size) {
      const ssize_t n = ::recv(file_, bytes.data() + done, size - done, 0);
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    bytes.resize(done);
    return bytes;
  }
  // Waits for the end: everything that still came.
  std::string rest() {
    std::string all;
    for (std::string part = read(1); !part.empty(); part = read(1)) all += part;
    return all;
  }

 private:
  int file_;
};

}  // namespace paceline::net::testing
