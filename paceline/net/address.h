#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "paceline/base/result.h"

namespace paceline::net {

// "127.0.0.1:7000", "[::1]:7000", "node17:7000", "unix:/run/job/server-0".
struct Address {
  enum class Kind { Tcp, Unix };
  Kind kind = Kind::Tcp;
  std::string host;  // without brackets
  std::uint16_t port = 0;
  std::string path;
  bool operator==(const Address&) const = default;
};

// InvalidArgument, with the way to write it; a path that is too long for a socket is told here.
Result<Address> parse_address(std::string_view text);
std::string to_string(const Address& address);

}  // namespace paceline::net
