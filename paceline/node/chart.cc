#include "paceline/node/chart.h"

#include <algorithm>
#include <cmath>

#include "paceline/base/text.h"

namespace paceline::node {
namespace {

// In units of the drawing; the page scales it.
constexpr double kWidth = 640;
constexpr double kHeight = 340;
constexpr double kLeft = 62;
constexpr double kRight = 22;
constexpr double kTop = 34;
constexpr double kBottom = 46;
constexpr std::size_t kGroupLabels = 16;  // at most so many stand below the bars

struct Range {
  double low = 0;
  double high = 1;
  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

// From values to places.
struct Frame {
  Range x;
  Range y;
  double top = kTop;
  double x_at(double value) const {
    return kLeft + (value - x.low) / (x.high - x.low) * (kWidth - kLeft - kRight);
  }
  double y_at(double value) const {
    return kHeight - kBottom - (value - y.low) / (y.high - y.low) * (kHeight - top - kBottom);
  }
};

std::string place(double value) { return fixed(value, 1); }

// Short, as an axis has it: "150k", "0.25".
std::string short_number(double value) {
  const double size = std::abs(value);
  if (size >= 1e9) return cat(to_text(std::round(value / 1e7) / 100), "G");
  if (size >= 1e6) return cat(to_text(std::round(value / 1e4) / 100), "M");
  if (size >= 1e4) return cat(to_text(std::round(value / 10) / 100), "k");
  return to_text(std::round(value * 1e4) / 1e4);
}
std::string y_text(const ChartText& text, double value) {
  return text.y_percent ? cat(to_text(std::round(value * 1e4) / 100), " %") : short_number(value);
}

std::string label(double x, double y, std::string_view css, std::string_view text) {
  return cat("<text x=\"", place(x), "\" y=\"", place(y), "\" class=\"", css, "\">",
             escape_html(text), "</text>");
}
std::string line(double x1, double y1, double x2, double y2, std::string_view css) {
  return cat("<line x1=\"", place(x1), "\" y1=\"", place(y1), "\" x2=\"", place(x2), "\" y2=\"",
             place(y2), "\" class=\"", css, "\"/>");
}

std::string begin(const ChartText& text) {
  std::string out =
      cat("<svg viewBox=\"0 0 ", kWidth, " ", kHeight, "\" role=\"img\" aria-label=\"",
          escape_html(text.title), "\">", label(kLeft, 18, "title", text.title),
          label((kLeft + kWidth - kRight) / 2, kHeight - 8, "axis mid", text.x));
  if (!text.y.empty()) {
    out += cat("<text transform=\"translate(13 ", place((kHeight + kTop - kBottom) / 2),
               ") rotate(-90)\" class=\"axis mid\">", escape_html(text.y), "</text>");
  }
  return out;
}

// Classes of the nth series: six colours, then the same again, broken or pale.
std::string colour(std::size_t series) {
  return cat("s", series % kChartColours, series < kChartColours ? "" : " again");
}

template <typename Named>
Legend legend_of(const ChartText& text, std::span<const Named> series) {
  if (!text.has_legend) return {};
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < series.size(); ++i) entries.push_back({colour(i), series[i].name});
  return legend(entries, kLeft, kTop - 6, kWidth - kLeft - kRight);
}

std::string y_axis(const ChartText& text, const Frame& frame) {
  std::string out;
  for (const double tick : ticks(frame.y.low, frame.y.high, 6)) {
    const double y = frame.y_at(tick);
    out += line(kLeft, y, kWidth - kRight, y, "grid");
    out += label(kLeft - 8, y + 4, "axis end", y_text(text, tick));
  }
  return out;
}

std::string x_axis(const Frame& frame) {
  std::string out = line(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "frame");
  for (const double tick : ticks(frame.x.low, frame.x.high, 7)) {
    const double x = frame.x_at(tick);
    out += line(x, kHeight - kBottom, x, kHeight - kBottom + 4, "frame");
    out += label(x, kHeight - kBottom + 18, "axis mid", short_number(tick));
  }
  return out;
}

std::string empty_chart(const ChartText& text) {
  return cat(begin(text), label(kWidth / 2, kHeight / 2, "axis mid", "nothing was measured"),
             "</svg>\n");
}

std::string band_of(const Frame& frame, const Series& series) {
  if (series.band.size() != series.points.size() || series.band.empty()) return {};
  std::string there;
  std::string back;
  for (std::size_t i = 0; i < series.band.size(); ++i) {
    const std::string x = place(frame.x_at(series.points[i].first));
    there += cat(i == 0 ? "M" : " L", x, " ", place(frame.y_at(series.band[i].second)));
    back = cat(" L", x, " ", place(frame.y_at(series.band[i].first)), back);
  }
  return cat("<path class=\"band\" d=\"", there, back, " Z\"/>");
}

std::string drawn(const ChartText& text, const Frame& frame, const Series& series,
                  std::size_t index) {
  constexpr std::size_t kFew = 40;  // that many dots stand apart
  const char* radius = series.points.size() > kFew ? "1.5" : "3";
  std::string path;
  std::string dots;
  for (const auto& [x, y] : series.points) {
    path += cat(path.empty() ? "M" : " L", place(frame.x_at(x)), " ", place(frame.y_at(y)));
    dots += cat("<circle cx=\"", place(frame.x_at(x)), "\" cy=\"", place(frame.y_at(y)), "\" r=\"",
                radius, "\"><title>", escape_html(series.name), ": ", y_text(text, y), " at ",
                short_number(x), " ", escape_html(text.x), "</title></circle>");
  }
  return cat("<g class=\"", colour(index), "\">", band_of(frame, series), "<path d=\"", path,
             "\"/>", dots, "</g>");
}

// A little air above and below, and never an empty range.
Range padded(Range range, bool is_share) {
  const double pad = std::max((range.high - range.low) * 0.06, 1e-6 * std::abs(range.high) + 1e-9);
  Range out{range.low - pad, range.high + pad};
  if (is_share) out = {std::max(out.low, 0.0), std::min(std::max(out.high, out.low + 0.01), 1.0)};
  if (out.high <= out.low) out.low = out.high - 0.01;
  return out;
}

}  // namespace

std::vector<double> ticks(double low, double high, int count) {
  const double span = high - low;
  if (!(span > 0) || !std::isfinite(span) || count < 1) return {low};
  const double rough = span / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double nice : {1.0, 2.0, 2.5, 5.0}) {
    if (nice * power >= rough * 0.999) {
      step = nice * power;
      break;
    }
  }
  std::vector<double> out;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) {
    out.push_back(i * step + 0.0);  // not -0
  }
  return out;
}

std::string line_chart(const ChartText& text, std::span<const Series> series,
                       std::optional<double> level) {
  std::optional<Range> y;
  Range x{0, 0};
  for (const Series& one : series) {
    for (const auto& point : one.points) {
      if (!y) y = Range{point.second, point.second};
      x.take(point.first);
      y->take(point.second);
    }
    for (const auto& [low, high] : one.band) {
      if (!y) continue;
      y->take(low);
      y->take(high);
    }
  }
  if (!y) return empty_chart(text);
  if (level) y->take(*level);
  if (x.high <= 0) x.high = 1;
  const Legend names = legend_of(text, series);
  const Frame frame{x, padded(*y, text.y_percent), kTop + names.height};
  std::string out = begin(text) + names.svg + y_axis(text, frame) + x_axis(frame);
  if (level) {
    const double at = frame.y_at(*level);
    out += line(kLeft, at, kWidth - kRight, at, "level");
    out += label(kLeft + 6, at - 5, "axis", cat("target ", y_text(text, *level)));
  }
  for (std::size_t i = 0; i < series.size(); ++i) out += drawn(text, frame, series[i], i);
  return out + "</svg>\n";
}

std::string bar_chart(const ChartText& text, std::span<const std::string> groups,
                      std::span<const Bars> series) {
  Range y{0, 0};
  for (const Bars& bars : series) {
    for (const auto& value : bars.values) y.take(value.value_or(0));
  }
  if (groups.empty()) return empty_chart(text);
  y.high = y.high > 0 ? y.high * 1.06 : 1;
  const Legend names = legend_of(text, series);
  const Frame frame{{0, static_cast<double>(groups.size())}, y, kTop + names.height};
  std::string out = begin(text) + names.svg + y_axis(text, frame);
  const double group = frame.x_at(1) - frame.x_at(0);
  const double bar = group * 0.8 / static_cast<double>(std::max<std::size_t>(series.size(), 1));
  const std::size_t every = (groups.size() + kGroupLabels - 1) / kGroupLabels;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const double left = frame.x_at(static_cast<double>(g)) + group * 0.1;
    for (std::size_t i = 0; i < series.size(); ++i) {
      if (g >= series[i].values.size() || !series[i].values[g]) continue;
      const double value = *series[i].values[g];
      const double top = frame.y_at(value);
      out += cat("<rect class=\"", colour(i), "\" x=\"", place(left + static_cast<double>(i) * bar),
                 "\" y=\"", place(top), "\" width=\"", place(std::max(bar * 0.92, 0.5)),
                 "\" height=\"", place(kHeight - kBottom - top), "\"><title>",
                 escape_html(series[i].name), ", ", escape_html(groups[g]), ": ",
                 y_text(text, value), "</title></rect>");
    }
    if (g % every == 0) {
      out += label(left + group * 0.4, kHeight - kBottom + 18, "axis mid", groups[g]);
    }
  }
  out += line(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "frame");
  return out + "</svg>\n";
}

Legend legend(std::span<const LegendEntry> entries, double left, double top, double width) {
  constexpr double kRow = 17;
  constexpr double kLetter = 6.6;  // a generous mean of 12 px sans-serif
  constexpr std::size_t kLongest = 48;
  Legend made;
  double x = left;
  double y = top;
  for (const LegendEntry& entry : entries) {
    const std::string name =
        entry.name.size() <= kLongest ? entry.name : cat(entry.name.substr(0, kLongest), "...");
    const double needs = 34 + kLetter * static_cast<double>(name.size());
    if (x > left && x + needs > left + width) {
      x = left;
      y += kRow;
    }
    made.svg += cat("<rect class=\"", entry.css, "\" x=\"", place(x), "\" y=\"", place(y),
                    "\" width=\"11\" height=\"11\"/>", label(x + 16, y + 10, "axis", name));
    x += needs;
  }
  if (!entries.empty()) made.height = y - top + kRow;
  return made;
}

std::string chart_style(bool is_for_paper) {
  std::string out = ":root { --ink: #1b1f24; --dim: #4c545d; --line: #dfe3e8; --card: #ffffff;\n";
  out +=
      "  --s0: #0072b2; --s1: #d55e00; --s2: #009e73; --s3: #a8508a; --s4: #b07d00; --s5: "
      "#3b8fc4;\n";
  out += "  --compute: #0072b2; --push: #009e73; --pull: #8fcdf2; --wait: #f0a04a; }\n";
  if (!is_for_paper) {
    out += R"(:root { color-scheme: light dark; --dim: #5d6670; --card: #f7f8fa; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --dim: #9aa4ae; --line: #343a41;
  --card: #1c2024;
  --s0: #56b4e9; --s1: #ff8c42; --s2: #3ccf9f; --s3: #e296c4; --s4: #f0c04a; --s5: #9ad0f5;
  --compute: #2f8fd0; --push: #3ccf9f; --pull: #b9e0f7; --wait: #c9762a; } }
)";
  }
  out += R"(svg { background: var(--card); }
svg text { fill: var(--dim); font: 12px system-ui, "Helvetica Neue", Arial, sans-serif; }
svg text.title { fill: var(--ink); font-size: 14px; font-weight: 600; }
.mid { text-anchor: middle; } .end { text-anchor: end; }
.grid { stroke: var(--line); } .frame { stroke: var(--dim); }
.level { stroke: var(--dim); stroke-dasharray: 5 4; }
svg path { fill: none; stroke-width: 2; stroke-linejoin: round; }
g path { stroke: var(--c); } g circle, rect { fill: var(--c); }
g path.band { fill: var(--c); fill-opacity: .16; stroke: none; }
g.again path { stroke-dasharray: 6 3; } rect.again { fill-opacity: .5; }
.barrier { stroke: var(--ink); stroke-width: 1.2; }
)";
  for (std::size_t i = 0; i < kChartColours; ++i) {
    out += cat(".s", i, " { --c: var(--s", i, "); }\n");
  }
  for (const char* kind : {"compute", "push", "pull", "wait"}) {
    out += cat(".", kind, " { --c: var(--", kind, "); }\n");
  }
  return out;
}

std::string standalone(std::string_view svg) {
  constexpr std::string_view kOpen = "<svg ";
  const std::size_t body = svg.find('>') + 1;
  return cat("<svg xmlns=\"http://www.w3.org/2000/svg\" ",
             svg.substr(kOpen.size(), body - kOpen.size()), "<style>", chart_style(true),
             "</style>", svg.substr(body));
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:  // no control character may stand in XML
        out += static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' ? ' ' : c;
    }
  }
  return out;
}

}  // namespace paceline::node
