#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/base/ids.h"

// Text without a formatting library in the header: LibTorch brings its own fmt, so nothing that
// train/ includes may see Debian's.
namespace paceline {

// Shortest digits that give the same double again: "0.1", "3", "1e+20"; "nan", "inf".
std::string to_text(double value);
// `digits` after the point: fixed(2.5, 2) == "2.50".
std::string fixed(double value, int digits);
// With a unit that fits: "1.3 GB", "512 B".
std::string bytes_text(double bytes);

namespace detail {
inline void append(std::string& out, std::string_view text) { out += text; }
inline void append(std::string& out, char c) { out += c; }
template <std::same_as<bool> T>  // else a pointer would be one
void append(std::string& out, T value) {
  out += value ? "true" : "false";
}
inline void append(std::string& out, double value) { out += to_text(value); }
inline void append(std::string& out, float value) { out += to_text(static_cast<double>(value)); }
template <std::integral T>
  requires(!std::same_as<T, bool>)
void append(std::string& out, T value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}
inline void append(std::string& out, WorkerId worker) { append(out, worker.value); }
}  // namespace detail

// Everything one after the other: cat("step ", 3, " of ", 7).
template <typename... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

// "a, b, c".
std::string join(std::span<const std::string> parts, std::string_view between = ", ");

std::vector<std::string_view> split(std::string_view text, char at);
std::string_view trim(std::string_view text);

// Of a path: its last name, without the ending: "a/b.c.json" is "b.c".
std::string_view stem_of(std::string_view path);
// Of a path: what stands before its last name, without the slash; empty if nothing does.
std::string_view folder_of(std::string_view path);

// The whole text is one number, in range; nothing else is accepted (no sign for unsigned, no
// spaces).
std::optional<std::uint64_t> parse_uint(std::string_view text);
std::optional<double> parse_double(std::string_view text);

// The candidate that a person most likely meant: least edit distance, at most a third of its
// length; empty if none is near. For "did you mean".
std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace paceline
