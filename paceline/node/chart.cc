#include "paceline/node/chart.h"

#include <algorithm>
#include <array>
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
constexpr std::string_view kFonts = R"("Helvetica Neue", Helvetica, Arial, sans-serif)";
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

// Of a curve with its own legend: colours and dashes go round with different periods, so that
// twelve can be told apart, and any two without their colours mostly too.
std::string curve_colour(const ChartText& text, std::size_t series) {
  if (!text.has_legend) return colour(series);
  return cat("s", series % kChartColours, " d", series % kChartDashes);
}

Legend legend_of(const ChartText& text, std::span<const Series> series) {
  if (!text.has_legend) return {};
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < series.size(); ++i) {
    entries.push_back({curve_colour(text, i), series[i].name, LegendEntry::Mark::Line});
  }
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
  constexpr std::size_t kFew = 12;  // that many dots stand apart
  const char* radius = series.points.size() > kFew ? "1.2" : "3";
  std::string path;
  std::string dots;
  for (const auto& [x, y] : series.points) {
    path += cat(path.empty() ? "M" : " L", place(frame.x_at(x)), " ", place(frame.y_at(y)));
    dots += cat("<circle cx=\"", place(frame.x_at(x)), "\" cy=\"", place(frame.y_at(y)), "\" r=\"",
                radius, "\"><title>", escape_html(series.name), ": ", y_text(text, y), " at ",
                short_number(x), " ", escape_html(text.x), "</title></circle>");
  }
  return cat("<g class=\"", curve_colour(text, index), "\">", band_of(frame, series), "<path d=\"",
             path, "\"/>", dots, "</g>");
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
    // Curves end high: below the line, at its end, is where they are not.
    out += label(kWidth - kRight - 4, at + 14, "axis end", cat("target ", y_text(text, *level)));
  }
  // Dashed ones over solid ones: where two curves are the same, both are seen.
  for (std::size_t dash = 0; dash < kChartDashes; ++dash) {
    for (std::size_t i = dash; i < series.size(); i += kChartDashes) {
      out += drawn(text, frame, series[i], i);
    }
  }
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
  const Frame frame{{0, static_cast<double>(groups.size())}, y};
  std::string out = begin(text) + y_axis(text, frame);
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
  Legend made;
  double x = left;
  double y = top;
  for (const LegendEntry& entry : entries) {
    const std::string name = shortened(entry.name, 48);
    const double mark = entry.mark == LegendEntry::Mark::Line ? 26 : 11;
    const double needs = mark + 23 + text_width(name);
    if (x > left && x + needs > left + width) {
      x = left;
      y += kRow;
    }
    switch (entry.mark) {
      case LegendEntry::Mark::Square:
        made.svg += cat("<rect class=\"", entry.css, "\" x=\"", place(x), "\" y=\"", place(y),
                        "\" width=\"11\" height=\"11\"/>");
        break;
      case LegendEntry::Mark::Line:
        made.svg += cat("<g class=\"", entry.css, "\"><path d=\"M", place(x), " ", place(y + 6),
                        " h26\"/></g>");
        break;
      case LegendEntry::Mark::Upright:
        made.svg += line(x + 5, y - 2, x + 5, y + 13, entry.css);
        break;
    }
    made.svg += label(x + mark + 5, y + 10, "axis", name);
    x += needs;
  }
  if (!entries.empty()) made.height = y - top + kRow;
  return made;
}

// ---- panels ----

namespace {

class Panels {
 public:
  Panels(const ChartText& text, std::span<const std::string> groups, std::span<const Bars> series)
      : text_(text), groups_(groups), series_(series) {
    for (const Bars& bars : series) {
      for (const auto& value : bars.values) highest_ = std::max(highest_, value.value_or(0));
    }
    highest_ = highest_ > 0 ? highest_ * 1.06 : 1;
    columns_ = std::clamp<std::size_t>(series.size(), 1, kColumns);
    width_ = (kPage - kLeft - kRight + kBetween) / static_cast<double>(columns_) - kBetween;
    double widest = 0;
    for (const std::string& group : groups) widest = std::max(widest, text_width(group) + 8);
    const double group = width_ / static_cast<double>(std::max<std::size_t>(groups.size(), 1));
    every_ = static_cast<std::size_t>(std::max(1.0, std::ceil(widest / group)));
  }

  std::string svg() const {
    const std::size_t rows = (series_.size() + columns_ - 1) / columns_;
    const double height = kHead + kPanel * static_cast<double>(rows) + kFoot;
    std::string out =
        cat("<svg viewBox=\"0 0 ", kPage, " ", height, "\" role=\"img\" aria-label=\"",
            escape_html(text_.title), "\">", label(kLeft, 18, "title", text_.title),
            label((kLeft + kPage - kRight) / 2, height - 8, "axis mid", text_.x),
            "<text transform=\"translate(13 ", place(kHead + (height - kHead) / 2),
            ") rotate(-90)\" class=\"axis mid\">", escape_html(text_.y), "</text>");
    for (std::size_t i = 0; i < series_.size(); ++i) out += panel(i);
    return out + "</svg>\n";
  }

 private:
  static constexpr double kPage = 960;
  static constexpr std::size_t kColumns = 3;
  static constexpr double kBetween = 24;  // two panels
  static constexpr double kHead = 26;
  static constexpr double kFoot = 22;
  static constexpr double kPanel = 172;  // with its name and note above, and its labels below
  static constexpr double kAbove = 42;
  static constexpr double kBelow = 24;

  std::string panel(std::size_t index) const {
    const Bars& bars = series_[index];
    const double left = kLeft + static_cast<double>(index % columns_) * (width_ + kBetween);
    const double top = kHead + kPanel * static_cast<double>(index / columns_) + kAbove;
    const double bottom = top + kPanel - kAbove - kBelow;
    const std::string css = cat("s", index % kChartColours);  // its name tells it from another
    const auto letters = static_cast<std::size_t>((width_ - 16) / text_width("n"));
    std::string out = cat("<rect class=\"", css, "\" x=\"", place(left), "\" y=\"", place(top - 33),
                          "\" width=\"11\" height=\"11\"/>",
                          label(left + 16, top - 23, "name", shortened(bars.name, letters)),
                          label(left, top - 8, "axis", bars.note));
    for (const double tick : ticks(0, highest_, 4)) {
      const double y = bottom - tick / highest_ * (bottom - top);
      out += line(left, y, left + width_, y, "grid");
      if (index % columns_ == 0) out += label(left - 8, y + 4, "axis end", y_text(text_, tick));
    }
    out += line(left, bottom, left + width_, bottom, "frame");
    return out + drawn(bars, index, left, top, bottom);
  }

  std::string drawn(const Bars& bars, std::size_t index, double left, double top,
                    double bottom) const {
    const double group = width_ / static_cast<double>(std::max<std::size_t>(groups_.size(), 1));
    std::string out;
    bool is_measured = false;
    bool is_zero = true;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const double middle = left + (static_cast<double>(g) + 0.5) * group;
      if (g % every_ == 0) out += label(middle, bottom + 15, "axis mid", groups_[g]);
      if (g >= bars.values.size() || !bars.values[g]) continue;
      is_measured = true;
      const double value = *bars.values[g];
      if (value <= 0) continue;
      is_zero = false;
      const double bar = std::min(group * 0.8, 60.0);
      const double high = value / highest_ * (bottom - top);
      out += cat("<rect class=\"s", index % kChartColours, "\" x=\"", place(middle - bar / 2),
                 "\" y=\"", place(bottom - high), "\" width=\"", place(std::max(bar, 0.5)),
                 "\" height=\"", place(high), "\"><title>", escape_html(bars.name), ", ",
                 escape_html(groups_[g]), ": ", y_text(text_, value), "</title></rect>");
    }
    if (is_zero) {
      out += label(left + width_ / 2, (top + bottom) / 2, "axis mid",
                   is_measured ? text_.zero : std::string("nothing was measured"));
    }
    return out;
  }

  const ChartText& text_;
  std::span<const std::string> groups_;
  std::span<const Bars> series_;
  double highest_ = 0;
  std::size_t columns_ = 1;
  double width_ = 0;
  std::size_t every_ = 1;  // that many groups have one label
};

}  // namespace

std::string panel_chart(const ChartText& text, std::span<const std::string> groups,
                        std::span<const Bars> series) {
  return Panels(text, groups, series).svg();
}

// ---- how it looks ----

namespace {

struct Colour {
  std::string_view name;
  std::string_view light;
  std::string_view dark;
};
// After Okabe and Ito. What a worker does differs in lightness as well, so that grey paper and any
// eye tell it: push, compute, pull, wait from dark to light.
constexpr std::array<Colour, 13> kColours{{{"ink", "#1b1f24", "#e6e9ec"},
                                           {"dim", "#4c545d", "#9aa4ae"},
                                           {"line", "#dfe3e8", "#343a41"},
                                           {"s0", "#0072b2", "#56b4e9"},
                                           {"s1", "#d55e00", "#ff8c42"},
                                           {"s2", "#009e73", "#3ccf9f"},
                                           {"s3", "#a8508a", "#e296c4"},
                                           {"s4", "#b07d00", "#f0c04a"},
                                           {"s5", "#3b8fc4", "#9ad0f5"},
                                           {"push", "#003d2b", "#0f8060"},
                                           {"compute", "#0072b2", "#3d9bd6"},
                                           {"pull", "#56b4e9", "#b9e0f7"},
                                           {"wait", "#ffd582", "#7a5200"}}};
constexpr std::size_t kNotDrawn = 3;  // the first ones have no class

std::string variables(std::string_view Colour::*shade) {
  std::string out;
  for (const Colour& each : kColours) out += cat("--", each.name, ": ", each.*shade, "; ");
  return out;
}

// Programs for drawing and typesetting know no variables of CSS: paper has the colours themselves.
std::string rules(bool is_for_paper) {
  const auto value = [&](const Colour& each) {
    return is_for_paper ? std::string(each.light) : cat("var(--", each.name, ")");
  };
  const std::string ink = value(kColours[0]);
  const std::string dim = value(kColours[1]);
  std::string out =
      cat("svg text { fill: ", dim, "; font-family: ", kFonts, "; font-size: 12px; }\n",
          "svg text.title { fill: ", ink, "; font-size: 14px; font-weight: 600; }\n",
          "svg text.name { fill: ", ink, "; font-weight: 600; }\n",
          ".mid { text-anchor: middle; } .end { text-anchor: end; }\n",
          ".grid { stroke: ", value(kColours[2]), "; } .frame { stroke: ", dim, "; }\n",
          ".level { stroke: ", ink, "; stroke-dasharray: 5 4; }\n", ".barrier { stroke: ", ink,
          "; stroke-width: 1.2; }\n",
          "svg path { fill: none; stroke-width: 2; stroke-linejoin: round; }\n",
          "g.again path { stroke-dasharray: 6 3; } rect.again { fill-opacity: .5; }\n",
          "g.d1 path { stroke-dasharray: 8 3; } g.d2 path { stroke-dasharray: 2 3; }\n",
          "g.d3 path { stroke-dasharray: 9 3 2 3; }\n");
  for (const Colour& each : std::span(kColours).subspan(kNotDrawn)) {
    const std::string is = value(each);
    out += cat("g.", each.name, " path { stroke: ", is, "; } g.", each.name, " circle, rect.",
               each.name, ", g.", each.name, " path.band { fill: ", is, "; }\n");
    if (!is_for_paper) out += cat(".", each.name, " { --c: ", is, "; }\n");
  }
  // After the colours: a band has no edge.
  return out + "g path.band { fill-opacity: .16; stroke: none; stroke-width: 0; }\n";
}

// Of a tag: the number that follows `before`.
double number_after(std::string_view text, std::string_view before, std::size_t which) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = text.substr(at + before.size());
  const auto words = split(rest.substr(0, rest.find('"')), ' ');
  return which < words.size() ? parse_double(words[which]).value_or(0) : 0;
}

}  // namespace

std::string chart_style() {
  return cat(":root { color-scheme: light dark; --card: #f7f8fa; ", variables(&Colour::light),
             "}\n@media screen and (prefers-color-scheme: dark) { :root { --card: #1c2024; ",
             variables(&Colour::dark), "} }\nsvg { background: var(--card); }\n", rules(false));
}

std::string standalone(std::string_view svg) {
  constexpr std::string_view kOpen = "<svg ";
  constexpr double kMillimetre = 0.1875;  // a unit's: 12 px are then letters of 6.4 points
  const std::size_t body = svg.find('>') + 1;
  const std::string_view tag = svg.substr(0, body);
  const double width = number_after(tag, "viewBox=\"", 2);
  const double height = number_after(tag, "viewBox=\"", 3);
  return cat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", fixed(width * kMillimetre, 1),
             "mm\" height=\"", fixed(height * kMillimetre, 1), "mm\" ",
             svg.substr(kOpen.size(), body - kOpen.size()), "<style>", rules(true),
             "</style><rect width=\"", width, "\" height=\"", height, "\" fill=\"#ffffff\"/>",
             svg.substr(body));
}

// ---- text ----

namespace {

// Bytes of the character at the front, 0: they are none that may stand in XML.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned>(static_cast<unsigned char>(text[i])) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= ' ' || first == '\t' || first == '\n' ? 1 : 0;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
  if (size == 0 || first > 0xf4) return 0;
  unsigned code = first & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
    code = code << 6U | (byte(i) & 0x3fU);
  }
  constexpr unsigned kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool is_none = code == 0xfffe || code == 0xffff || code > 0x10ffff;
  return code < kLeast[size] || is_surrogate || is_none ? 0 : size;
}

}  // namespace

std::string shortened(std::string_view text, std::size_t letters) {
  std::size_t count = 0;
  std::size_t keep = 0;  // bytes of the first letters - 1
  for (std::size_t at = 0; at < text.size(); ++count) {
    if (count + 1 == letters) keep = at;
    at += std::max<std::size_t>(character(text.substr(at)), 1);
  }
  return count <= letters ? std::string(text) : cat(text.substr(0, keep), "…");
}

double text_width(std::string_view text) {
  constexpr double kLetter = 6.9;  // a generous mean of 12 px sans-serif
  double letters = 0;
  for (std::size_t at = 0; at < text.size(); ++letters) {
    at += std::max<std::size_t>(character(text.substr(at)), 1);
  }
  return kLetter * letters;
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = character(text.substr(at));
    const std::string_view letter = text.substr(at, std::max<std::size_t>(size, 1));
    at += letter.size();
    if (size == 0) {
      out += static_cast<unsigned char>(letter[0]) < ' ' ? " " : "\xef\xbf\xbd";
    } else if (letter == "&") {
      out += "&amp;";
    } else if (letter == "<") {
      out += "&lt;";
    } else if (letter == ">") {
      out += "&gt;";
    } else if (letter == "\"") {
      out += "&quot;";
    } else {
      out += letter;
    }
  }
  return out;
}

}  // namespace paceline::node
