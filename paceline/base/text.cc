#include "paceline/base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "paceline/base/result.h"

namespace paceline {

std::string to_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

std::string fixed(double value, int digits) {
  if (!std::isfinite(value)) return to_text(value);
  std::array<char, 400> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, std::clamp(digits, 0, 20))
                       .ptr;
  return {text.data(), end};
}

std::string bytes_text(double bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return cat(fixed(bytes, unit == 0 ? 0 : 1), " ", kUnits[unit]);
}

std::string join(std::span<const std::string> parts, std::string_view between) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) out += between;
    out += part;
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string_view stem_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? name : name.substr(0, dot);
}

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::optional<std::uint64_t> parse_uint(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

namespace {

// Characters to change, insert, remove, or swap with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);  // the row above the last one
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word.substr(0, 100), candidate);
    if (distance > std::max<std::size_t>(1, candidate.size() / 3)) continue;
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string to_string(WorkerId worker) { return cat(worker.value); }
std::string to_string(const PushId& push) {
  return cat("worker ", push.worker, ", step ", push.step, " (life ", push.incarnation, ")");
}
std::string to_string(Role role) {
  switch (role) {
    case Role::Coordinator:
      return "coordinator";
    case Role::Server:
      return "server";
    case Role::Worker:
      return "worker";
    case Role::Evaluator:
      return "evaluator";
  }
  return "unknown";
}
std::string to_string(NodeId node) {
  if (node.role == Role::Coordinator || node.role == Role::Evaluator) return to_string(node.role);
  return cat(to_string(node.role), " ", node.index);
}

std::string_view to_string(Code code) {
  switch (code) {
    case Code::InvalidArgument:
      return "invalid argument";
    case Code::NotFound:
      return "not found";
    case Code::Unavailable:
      return "unavailable";
    case Code::DeadlineExceeded:
      return "deadline exceeded";
    case Code::StaleGeneration:
      return "stale generation";
    case Code::Corruption:
      return "corruption";
    case Code::Refused:
      return "refused";
    case Code::Cancelled:
      return "cancelled";
  }
  return "unknown";
}

std::string to_string(const Error& error) {
  std::string out;
  if (!error.where.empty()) out = cat(error.where, ": ");
  out += error.what;
  if (!error.fix.empty()) out += cat("; ", error.fix);
  return out;
}

}  // namespace paceline
