#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paceline/base/result.h"
#include "paceline/base/text.h"

// Words of the [optimizer] table and what they mean.
namespace paceline::optim {

template <typename T>
struct Named {
  std::string_view name;
  T value;
};

inline tl::unexpected<Error> bad_key(std::string_view key, std::string what, std::string fix) {
  return fail(Code::InvalidArgument, std::move(what), std::move(fix), cat("optimizer.", key));
}

template <typename T>
Result<T> parse(std::string_view word, std::span<const Named<T>> table, std::string_view key,
                std::string_view noun) {
  std::vector<std::string> names;
  for (const auto& entry : table) {
    if (entry.name == word) return entry.value;
    names.emplace_back(entry.name);
  }
  const auto meant = nearest(word, names);
  return bad_key(key, cat("\"", word, "\" is no ", noun),
                 meant.empty() ? cat("use one of ", join(names))
                               : cat("did you mean \"", meant, "\"? There are ", join(names)));
}

template <typename T>
std::string_view name_of(T value, std::span<const Named<T>> table) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return "unknown";
}

}  // namespace paceline::optim
