#pragma once

#include <asio/ssl/context.hpp>

namespace paceline::net {

class TlsContext {
 public:
  // Trusts that certificate alone, and shows it. Throws nothing; see load_tls().
  TlsContext() : context(asio::ssl::context::tls) {}

  asio::ssl::context context;
};

}  // namespace paceline::net
