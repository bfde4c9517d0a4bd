#include "paceline/net/address.h"

#include <sys/un.h>

#include "paceline/base/text.h"

namespace paceline::net {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;

Result<Address> parse_path(std::string_view path) {
  if (path.empty()) {
    return fail(Code::InvalidArgument, "the address \"unix:\" names no socket",
                "write unix:/path/to/socket");
  }
  if (path.size() > kMaxPath) {
    return fail(Code::InvalidArgument,
                cat("the socket's path ", path, " has ", path.size(), " characters, more than the ",
                    kMaxPath, " that the system allows"),
                "choose a shorter folder");
  }
  return Address{Address::Kind::Unix, {}, 0, std::string(path)};
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  if (text.starts_with(kUnix)) return parse_path(text.substr(kUnix.size()));
  const auto wrong = [&](std::string_view what) {
    return fail(Code::InvalidArgument, cat("the address \"", text, "\" ", what),
                "write host:port, [::1]:port or unix:/path/to/socket");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong("has no port");
  std::string_view host = text.substr(0, colon);
  const auto port = parse_uint(text.substr(colon + 1));
  if (!port || *port > 65535) return wrong("has no port from 0 to 65535");
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty()) return wrong("has no host");
  if (!bracketed && host.find(':') != std::string_view::npos) {
    return wrong("needs brackets around its host");
  }
  return Address{Address::Kind::Tcp, std::string(host), static_cast<std::uint16_t>(*port), {}};
}

std::string to_string(const Address& address) {
  if (address.kind == Address::Kind::Unix) return cat(kUnix, address.path);
  const bool v6 = address.host.find(':') != std::string::npos;
  return v6 ? cat("[", address.host, "]:", address.port) : cat(address.host, ":", address.port);
}

}  // namespace paceline::net
