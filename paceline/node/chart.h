#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Drawings as inline SVG, without a script. Colours are CSS classes s0 to s5, by series, so that
// the page decides how they look in the light and in the dark.
namespace paceline::node {

inline constexpr std::size_t kChartColours = 6;

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // finite; x rising in a line chart
};

struct ChartText {
  std::string title;
  std::string x;
  std::string y;
  bool y_percent = false;  // y is a share, shown as per cent
};

// Lines with a dot at each point that says its values when pointed at. level: a dashed line across.
std::string line_chart(const ChartText& text, std::span<const Series> series,
                       std::optional<double> level = std::nullopt);

// Groups of bars: group i has a bar for each series that has a value there.
struct Bars {
  std::string name;
  std::vector<std::optional<double>> values;  // [groups], at least 0
};
std::string bar_chart(const ChartText& text, std::span<const std::string> groups,
                      std::span<const Bars> series);

// About `count` round numbers from low to high.
std::vector<double> ticks(double low, double high, int count);

std::string escape_html(std::string_view text);

}  // namespace paceline::node
