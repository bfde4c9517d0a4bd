#include "paceline/cli/output.h"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "paceline/base/text.h"
#include "paceline/node/summary.h"

namespace paceline::cli {

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::size_t kWidth = 96;
  std::string out;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) out += cat(std::string(indent, ' '), line, "\n");
    line.clear();
  };
  for (const std::string_view word : split(text, ' ')) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > kWidth) flush();
    line += cat(line.empty() ? "" : " ", word);
  }
  flush();
  return out;
}

void print_json(const nlohmann::ordered_json& value) { print(node::summary_text(value)); }

int report_error(const Error& error, bool json) {
  std::fflush(stdout);
  const std::string line = cat("paceline: ", to_string(error), "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
  if (json) print_json(node::error_json(error));
  return node::exit_code(error);
}

}  // namespace paceline::cli
