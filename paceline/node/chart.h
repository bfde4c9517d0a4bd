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
  std::vector<std::pair<double, double>> points;     // finite; x rising in a line chart
  std::vector<std::pair<double, double>> band = {};  // [points] lowest and highest; or empty
};

struct ChartText {
  std::string title;
  std::string x;
  std::string y;
  bool y_percent = false;   // y is a share, shown as per cent
  bool has_legend = false;  // below the title; otherwise the page has one for all
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

// Below a title: a coloured square and a name each, in rows that fit `width`.
struct LegendEntry {
  std::string css;  // class of the square
  std::string name;
};
struct Legend {
  std::string svg;
  double height = 0;
};
Legend legend(std::span<const LegendEntry> entries, double left, double top, double width);

// How charts look: colours in the light, and in the dark unless it is for paper.
std::string chart_style(bool is_for_paper);
// A chart as a file of its own, on white.
std::string standalone(std::string_view svg);

std::string escape_html(std::string_view text);

}  // namespace paceline::node
