#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Drawings as inline SVG, without a script. Colours are CSS classes s0 to s5, by series, so that
// the page decides how they look in the light and in the dark; a file of its own has them as they
// are.
namespace paceline::node {

inline constexpr std::size_t kChartColours = 6;
inline constexpr std::size_t kChartDashes = 4;

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
  bool has_legend = false;  // of a line chart, below the title; otherwise the page has one for all
  std::string zero = {};    // what a panel says whose bars are all zero
};

// Lines with a dot at each point that says its values when pointed at. level: a dashed line across.
std::string line_chart(const ChartText& text, std::span<const Series> series,
                       std::optional<double> level = std::nullopt);

// Groups of bars: group i has a bar for each series that has a value there.
struct Bars {
  std::string name;
  std::vector<std::optional<double>> values;  // [groups], at least 0
  std::string note = {};                      // a line below its name, in a panel
};
std::string bar_chart(const ChartText& text, std::span<const std::string> groups,
                      std::span<const Bars> series);

// A panel for each series, all to the same scale.
std::string panel_chart(const ChartText& text, std::span<const std::string> groups,
                        std::span<const Bars> series);

// About `count` round numbers from low to high.
std::vector<double> ticks(double low, double high, int count);

// Below a title: a mark and a name each, in rows that fit `width`.
struct LegendEntry {
  enum class Mark : std::uint8_t { Square, Line, Upright };
  std::string css;  // class of the mark
  std::string name;
  Mark mark = Mark::Square;
};
struct Legend {
  std::string svg;
  double height = 0;
};
Legend legend(std::span<const LegendEntry> entries, double left, double top, double width);

// How charts look on a page: colours in the light, and in the dark unless it is printed.
std::string chart_style();
// A chart as a file of its own: on white, in millimetres, with nothing that only browsers know.
std::string standalone(std::string_view svg);

// At most that many letters, the last of them "…" if there are more.
std::string shortened(std::string_view text, std::size_t letters);
// About how wide it is, in units of a drawing.
double text_width(std::string_view text);

// Fit for HTML and XML, whatever it was: what may not stand there is a blank or U+FFFD.
std::string escape_html(std::string_view text);

}  // namespace paceline::node
