#pragma once

#include <string_view>

// PACELINE_CHECK(condition, "what must hold"): a broken invariant is our bug. It is on in every
// build, prints what and where, and aborts. Nothing that a peer, a file or a user sends may reach
// one: those are errors (result.h).
#define PACELINE_CHECK(condition, what)                                         \
  do {                                                                          \
    if (!(condition)) {                                                         \
      ::paceline::detail::check_failed(#condition, (what), __FILE__, __LINE__); \
    }                                                                           \
  } while (false)

namespace paceline::detail {

[[noreturn]] void check_failed(const char* condition, std::string_view what, const char* file,
                               int line);

}  // namespace paceline::detail
