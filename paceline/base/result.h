#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace paceline {

// What the caller can do about it.
enum class Code {
  InvalidArgument,   // mend the call, the command line, the configuration
  NotFound,          // the thing named is not there
  Unavailable,       // try again: a peer is gone, the system refused something for now
  DeadlineExceeded,  // it took too long; try again or raise the deadline
  StaleGeneration,   // join again
  Corruption,        // a file or message is not what it says it is
  Refused,           // the machine said no: port, folder, memory, permission
  Cancelled,         // somebody asked for it
};

std::string_view to_string(Code code);

// An operating error: something the world did. `what` names the thing and what is wrong with it,
// `fix` the way out, `where` the file and line or the option, where there is one.
struct Error {
  Code code = Code::InvalidArgument;
  std::string what;
  std::string fix = {};
  std::string where = {};

  bool operator==(const Error&) const = default;
};

// "where: what; fix", as a person reads it.
std::string to_string(const Error& error);

// A value or the reason why there is none. `*result` and `result->` need `if (result)` before.
template <typename T>
using Result = tl::expected<T, Error>;

using Status = Result<void>;

inline tl::unexpected<Error> fail(Code code, std::string what, std::string fix = {},
                                  std::string where = {}) {
  return tl::unexpected<Error>(Error{code, std::move(what), std::move(fix), std::move(where)});
}
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace paceline
