#include "paceline/node/table.h"

#include <algorithm>
#include <utility>

#include "paceline/base/check.h"

namespace paceline::node {
namespace {

// Characters, not bytes: UTF-8 continuation bytes take no column.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  PACELINE_CHECK(cells.size() <= columns_.size(), "a row has no more cells than columns");
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(std::size_t indent) const {
  std::vector<std::string> heads;
  for (const Column& column : columns_) heads.push_back(column.head);
  std::vector<std::size_t> widths(columns_.size());
  const auto widen = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], width_of(cells[i]));
  };
  widen(heads);
  std::ranges::for_each(rows_, widen);

  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text(indent, ' ');
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string fill(widths[i] - width_of(cells[i]), ' ');
      if (i > 0) text += "  ";
      text += columns_[i].align == Align::Right ? fill + cells[i] : cells[i] + fill;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  const bool headed =
      std::ranges::any_of(heads, [](const std::string& head) { return !head.empty(); });
  if (headed) line(heads);
  std::ranges::for_each(rows_, line);
  return out;
}

}  // namespace paceline::node
