#include "paceline/cli/comparison_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "paceline/base/text.h"
#include "paceline/node/chart.h"
#include "paceline/node/report.h"
#include "paceline/sim/compare_json.h"

namespace paceline::cli {
namespace {

using node::Bars;
using node::ChartText;
using node::escape_html;
using node::Series;
using sim::Comparison;
using sim::Outcome;
using sim::PolicyOutcome;
using sim::Segment;
using sim::Spread;

constexpr std::size_t kRowsShown = 16;          // workers of a timeline, groups of bars
constexpr double kStepsShown = 24;              // of the slowest worker, in a timeline
constexpr std::size_t kSegmentsShown = 12'000;  // of all timelines together
constexpr std::size_t kCurvePoints = 400;       // of each policy
constexpr std::size_t kStalenessBars = 24;

std::string percent(double share, int digits = 1) { return cat(fixed(100 * share, digits), " %"); }

std::vector<std::string> names_of(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const PolicyOutcome& policy : comparison.policies) names.push_back(policy.policy);
  return names;
}

template <typename Figure>
Spread spread(const PolicyOutcome& policy, Figure figure) {
  return spread_of(
      policy, [&](const Outcome& outcome) -> std::optional<double> { return figure(outcome); });
}

// ---- timelines ----

// Those shown: all, or as many as fit, evenly among all.
std::vector<std::uint32_t> rows_of(std::uint32_t workers) {
  std::vector<std::uint32_t> rows(std::min<std::size_t>(workers, kRowsShown));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<std::uint32_t>(i * workers / rows.size());
  }
  return rows;
}

double recorded_until(const sim::Timeline& timeline) {
  return timeline.segments.empty() ? 0 : timeline.segments.back().end;
}

// The longest mean step of a worker that made one.
double longest_step(const sim::Timeline& timeline, std::uint32_t workers) {
  std::vector<double> total(workers);
  std::vector<double> count(workers);
  for (const Segment& segment : timeline.segments) {
    if (segment.kind != Segment::Kind::Compute) continue;
    total[segment.worker] += segment.end - segment.begin;
    ++count[segment.worker];
  }
  double longest = 0;
  for (std::uint32_t w = 0; w < workers; ++w) {
    if (count[w] > 0) longest = std::max(longest, total[w] / count[w]);
  }
  return longest;
}

// Where the rows shown would need more than `most` segments.
double crowded_at(const sim::Timeline& timeline, std::uint32_t workers, std::size_t most) {
  const std::vector<std::uint32_t> rows = rows_of(workers);
  for (const Segment& segment : timeline.segments) {
    if (!std::ranges::binary_search(rows, segment.worker)) continue;
    if (most == 0) return segment.begin;
    --most;
  }
  return recorded_until(timeline);
}

// The same for all policies, so that they compare at a glance. 0: nothing was recorded.
double window_of(const Comparison& comparison) {
  double window = 0;
  double steps = 0;
  for (const PolicyOutcome& policy : comparison.policies) {
    window = std::max(window, recorded_until(policy.timeline));
    steps = std::max(steps, kStepsShown * longest_step(policy.timeline, comparison.workers));
  }
  for (const PolicyOutcome& policy : comparison.policies) {
    // Where it was cut, the others end there too.
    if (policy.timeline.segments.size() == sim::kTimelineSegments) {
      window = std::min(window, recorded_until(policy.timeline));
    }
  }
  if (steps > 0) window = std::min(window, steps);
  const std::size_t most = kSegmentsShown / std::max<std::size_t>(comparison.policies.size(), 1);
  for (const PolicyOutcome& policy : comparison.policies) {
    const double crowded = crowded_at(policy.timeline, comparison.workers, most);
    if (crowded > 0 && crowded < recorded_until(policy.timeline)) {
      window = std::min(window, crowded);
    }
  }
  return window;
}

constexpr std::pair<Segment::Kind, const char*> kKinds[] = {{Segment::Kind::Compute, "compute"},
                                                            {Segment::Kind::Pull, "pull"},
                                                            {Segment::Kind::Push, "push"},
                                                            {Segment::Kind::Wait, "wait"}};

const char* name_of(Segment::Kind kind) {
  return std::ranges::find(kKinds, kind, &std::pair<Segment::Kind, const char*>::first)->second;
}

std::string place(double value) { return fixed(value, 1); }

class TimelineChart {
 public:
  TimelineChart(const Comparison& comparison, const PolicyOutcome& policy, double window)
      : comparison_(comparison),
        policy_(policy),
        window_(window),
        rows_(rows_of(comparison.workers)) {}

  std::string svg() const {
    const std::string title = cat(node::shortened(policy_.policy, 60), ": what each worker does");
    const node::Legend legend = names();
    const double top = 28 + legend.height + 6;
    const double bottom = top + kRow * static_cast<double>(rows_.size());
    return cat("<svg viewBox=\"0 0 ", kWidth, " ", place(bottom + 44),
               "\" role=\"img\" aria-label=\"", escape_html(title), "\"><text x=\"", kLeft,
               "\" y=\"18.0\" class=\"title\">", escape_html(title), "</text>", legend.svg,
               axis(bottom), workers(top), segments(top), barriers(top, bottom), "</svg>\n");
  }

 private:
  static constexpr double kWidth = 960;
  static constexpr double kLeft = 92;  // "worker 999999"
  static constexpr double kRight = 22;
  static constexpr double kRow = 17;

  double x_at(double seconds) const {
    return kLeft + seconds / window_ * (kWidth - kLeft - kRight);
  }

  bool is_shown(const Segment& segment) const {
    return segment.begin < window_ && std::ranges::binary_search(rows_, segment.worker);
  }

  node::Legend names() const {
    std::vector<node::LegendEntry> entries;
    for (const auto& [kind, name] : kKinds) {
      const auto is_kind = [&, k = kind](const Segment& s) { return s.kind == k && is_shown(s); };
      if (std::ranges::any_of(policy_.timeline.segments, is_kind)) entries.push_back({name, name});
    }
    const auto& barriers = policy_.timeline.barriers;
    if (!barriers.empty() && barriers.front() <= window_) {
      entries.push_back({"barrier", "barrier", node::LegendEntry::Mark::Upright});
    }
    node::Legend legend = node::legend(entries, kLeft, 28, kWidth - kLeft - kRight);
    if (rows_.size() < comparison_.workers) {
      legend.svg += cat("<text x=\"", kWidth - kRight, "\" y=\"18.0\" class=\"axis end\">",
                        rows_.size(), " of ", comparison_.workers, " workers, ",
                        comparison_.workers - rows_.size(), " not shown</text>");
    }
    return legend;
  }

  std::string axis(double bottom) const {
    std::string out;
    for (const double tick : node::ticks(0, window_, 10)) {
      const std::string x = place(x_at(tick));
      out +=
          cat("<line x1=\"", x, "\" y1=\"", place(bottom), "\" x2=\"", x, "\" y2=\"",
              place(bottom + 4), "\" class=\"frame\"/><text x=\"", x, "\" y=\"", place(bottom + 17),
              "\" class=\"axis mid\">", to_text(std::round(tick * 1e6) / 1e6), "</text>");
    }
    return cat(out, "<text x=\"", place((kLeft + kWidth - kRight) / 2), "\" y=\"",
               place(bottom + 36),
               "\" class=\"axis mid\">virtual seconds since the first release</text>");
  }

  std::string workers(double top) const {
    std::string out;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      out +=
          cat("<text x=\"", kLeft - 8, "\" y=\"", place(top + kRow * static_cast<double>(i) + 12),
              "\" class=\"axis end\">worker ", rows_[i], "</text>");
    }
    return out;
  }

  std::string segments(double top) const {
    std::string out;
    for (const Segment& segment : policy_.timeline.segments) {
      if (!is_shown(segment)) continue;
      const auto row = std::ranges::lower_bound(rows_, segment.worker) - rows_.begin();
      const double begin = x_at(segment.begin);
      const double end = x_at(std::min(segment.end, window_));
      out += cat("<rect class=\"", name_of(segment.kind), "\" x=\"", fixed(begin, 2), "\" y=\"",
                 place(top + kRow * static_cast<double>(row) + 2), "\" width=\"",
                 fixed(std::max(end - begin - kGap, 0.3), 2), "\" height=\"", kRow - 4, "\"/>");
    }
    return out;
  }
  static constexpr double kGap = 0.6;  // tells one step from the next

  std::string barriers(double top, double bottom) const {
    std::string out;
    for (const double barrier : policy_.timeline.barriers) {
      if (barrier > window_) break;
      const std::string x = fixed(x_at(barrier), 2);
      out += cat("<line x1=\"", x, "\" y1=\"", place(top - 3), "\" x2=\"", x, "\" y2=\"",
                 place(bottom + 3), "\" class=\"barrier\"/>");
    }
    return out;
  }

  const Comparison& comparison_;
  const PolicyOutcome& policy_;
  double window_;
  std::vector<std::uint32_t> rows_;
};

// ---- accuracy against time ----

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::ranges::max_element(values.begin(), middle)) / 2;
}

// The kth evaluation comes after the same samples with every seed.
Series curve_of(const PolicyOutcome& policy) {
  Series series{.name = policy.policy, .points = {}};
  std::size_t count = SIZE_MAX;
  for (const Outcome& outcome : policy.outcomes) {
    count = std::min(count, outcome.evaluations.size());
  }
  if (policy.outcomes.empty()) return series;
  const std::size_t every = (count + kCurvePoints - 1) / kCurvePoints;
  for (std::size_t k = 0; k < count; k += every) {
    std::vector<double> at;
    std::vector<double> accuracy;
    for (const Outcome& outcome : policy.outcomes) {
      at.push_back(to_seconds(outcome.evaluations[k].at));
      accuracy.push_back(outcome.evaluations[k].accuracy);
    }
    const auto [low, high] = std::ranges::minmax(accuracy);
    series.points.emplace_back(median(at), median(accuracy));
    if (policy.outcomes.size() > 1) series.band.emplace_back(low, high);
  }
  return series;
}

// Twice the time that the slowest needs to the target: what comes after is flat, and would press
// the rest against the axis. None: all is shown.
std::optional<double> shown_until(const Comparison& comparison) {
  double slowest = 0;
  for (const PolicyOutcome& policy : comparison.policies) {
    slowest = std::max(slowest,
                       spread(policy, [](const Outcome& o) { return o.seconds_to_target; }).high);
  }
  return slowest > 0 ? std::optional(2 * slowest) : std::nullopt;
}

void cut(Series& series, double until) {
  const auto after = std::ranges::find_if(
      series.points, [&](const std::pair<double, double>& point) { return point.first > until; });
  series.points.erase(after, series.points.end());
  series.band.resize(std::min(series.band.size(), series.points.size()));
}

std::string accuracy_chart(const Comparison& comparison) {
  std::vector<Series> curves;
  double end = 0;
  for (const PolicyOutcome& policy : comparison.policies) {
    curves.push_back(curve_of(policy));
    if (!curves.back().points.empty()) end = std::max(end, curves.back().points.back().first);
  }
  std::string axis = "virtual seconds";
  if (const auto until = shown_until(comparison); until && *until < end) {
    for (Series& curve : curves) cut(curve, *until);
    axis += cat(", the first ", fixed(*until, 0), " of ", fixed(end, 0));
  }
  if (comparison.seeds > 1) axis += "; median of the seeds, band from lowest to highest";
  return node::line_chart({.title = "Test accuracy against time",
                           .x = std::move(axis),
                           .y = "test accuracy",
                           .y_percent = true,
                           .has_legend = true},
                          curves, comparison.target_accuracy);
}

// ---- waiting ----

std::vector<double> mean_waits(const PolicyOutcome& policy) {
  std::vector<double> waits;
  for (const Outcome& outcome : policy.outcomes) {
    waits.resize(std::max(waits.size(), outcome.wait_share.size()));
    for (std::size_t w = 0; w < outcome.wait_share.size(); ++w) {
      waits[w] += outcome.wait_share[w] / static_cast<double>(policy.outcomes.size());
    }
  }
  return waits;
}

std::string waiting_chart(const Comparison& comparison) {
  std::vector<std::string> groups;
  std::vector<Bars> bars;
  const bool is_each = comparison.workers <= kRowsShown;
  constexpr std::pair<const char*, double> kRanks[] = {
      {"least", 0}, {"25 %", 0.25}, {"median", 0.5}, {"75 %", 0.75}, {"most", 1}};
  if (is_each) {
    for (std::uint32_t w = 0; w < comparison.workers; ++w) groups.push_back(cat(w));
  } else {
    for (const auto& [name, rank] : kRanks) groups.emplace_back(name);
  }
  for (const PolicyOutcome& policy : comparison.policies) {
    std::vector<double> waits = mean_waits(policy);
    Bars one{.name = policy.policy, .values = {}};
    if (!waits.empty()) {
      const double sum = std::accumulate(waits.begin(), waits.end(), 0.0);
      one.note = cat("mean ", percent(sum / static_cast<double>(waits.size())));
    }
    if (is_each) {
      one.values.assign(waits.begin(), waits.end());
    } else if (!waits.empty()) {
      std::ranges::sort(waits);
      for (const auto& [name, rank] : kRanks) {
        one.values.emplace_back(
            waits[static_cast<std::size_t>(rank * static_cast<double>(waits.size() - 1))]);
      }
    }
    bars.push_back(std::move(one));
  }
  return node::panel_chart(
      {.title = "Waiting",
       .x = is_each ? std::string("worker")
                    : cat("the ", comparison.workers, " workers, from who waits least to who most"),
       .y = "share of the time",
       .y_percent = true,
       .zero = "no worker waits"},
      groups, bars);
}

// ---- staleness ----

std::map<std::uint64_t, std::uint64_t> staleness_of(const PolicyOutcome& policy) {
  std::map<std::uint64_t, std::uint64_t> counts;
  for (const Outcome& outcome : policy.outcomes) {
    for (const auto& [versions, pushes] : outcome.staleness) counts[versions] += pushes;
  }
  return counts;
}

// Versions a bar: 1, 2, 5, 10, ... such that 98 % of each policy's pushes find a place.
std::uint64_t bar_width(const Comparison& comparison) {
  std::uint64_t largest = 0;
  for (const PolicyOutcome& policy : comparison.policies) {
    largest = std::max(largest, roles::quantile(staleness_of(policy), 0.98));
  }
  std::uint64_t width = 1;
  for (std::uint64_t power = 1; width * kStalenessBars <= largest; power *= 10) {
    for (const std::uint64_t nice : {power, 2 * power, 5 * power}) {
      width = nice;
      if (width * kStalenessBars > largest) break;
    }
  }
  return width;
}

std::string staleness_chart(const Comparison& comparison) {
  const std::uint64_t width = bar_width(comparison);
  std::uint64_t largest = 0;
  std::size_t used = 0;
  std::vector<Bars> bars;
  for (const PolicyOutcome& policy : comparison.policies) {
    Bars one{.name = policy.policy, .values = {}};
    one.values.resize(kStalenessBars + 1);
    const auto counts = staleness_of(policy);
    double total = 0;
    for (const auto& [versions, pushes] : counts) total += static_cast<double>(pushes);
    if (!counts.empty()) {
      one.note = cat("median ", roles::quantile(counts, 0.5), ", 95 % up to ",
                     roles::quantile(counts, 0.95), ", largest ", counts.rbegin()->first);
      largest = std::max(largest, counts.rbegin()->first);
    }
    for (const auto& [versions, pushes] : counts) {
      const auto bar =
          static_cast<std::size_t>(std::min<std::uint64_t>(versions / width, kStalenessBars));
      one.values[bar] = one.values[bar].value_or(0) + static_cast<double>(pushes) / total;
      used = std::max(used, bar + 1);
    }
    bars.push_back(std::move(one));
  }
  std::vector<std::string> groups;
  for (std::size_t bar = 0; bar < used; ++bar) {
    groups.push_back(cat(bar * width, bar == kStalenessBars ? "+" : ""));
  }
  std::string axis = "updates between a gradient's version and its own update";
  if (width > 1) axis += cat("; a bar is ", width, " wide");
  if (used > kStalenessBars) {
    axis += cat("; the last bar is ", kStalenessBars * width, " to ", largest);
  }
  return node::panel_chart(
      {.title = "Staleness", .x = std::move(axis), .y = "share of the pushes", .y_percent = true},
      groups, bars);
}

// ---- words and figures ----

struct Cell {
  std::string figure;
  std::string range = {};  // from the lowest seed to the highest, or empty
};

Cell with_range(const Spread& spread, int digits, std::string_view unit = "") {
  if (spread.count == 0) return {"–"};
  Cell cell{cat(fixed(spread.mean, digits), unit)};
  const std::string low = fixed(spread.low, digits);
  const std::string high = fixed(spread.high, digits);
  if (spread.count > 1 && low != high) cell.range = cat(low, " to ", high);
  return cell;
}

std::string in_words(const Cell& cell) {
  return cell.range.empty() ? cell.figure : cat(cell.figure, " (", cell.range, ")");
}

struct Column {
  std::string head;
  std::function<Cell(const PolicyOutcome&)> cell;
};

Cell staleness_text(const PolicyOutcome& policy) {
  std::string text;
  for (const double share : {0.5, 0.95, 1.0}) {
    const Spread of = spread(policy, [&](const Outcome& outcome) {
      return static_cast<double>(roles::quantile(outcome.staleness, share));
    });
    text += cat(text.empty() ? "" : " / ", fixed(of.mean, 0));
  }
  return {text};
}

Cell target_text(const PolicyOutcome& policy) {
  const Spread reached = spread(policy, [](const Outcome& o) { return o.seconds_to_target; });
  if (reached.count == 0) return {"never"};
  Cell cell = with_range(reached, 1, " s");
  if (reached.count < policy.outcomes.size()) {
    cell.range += cat(cell.range.empty() ? "" : ", ", reached.count, " of ", policy.outcomes.size(),
                      " seeds");
  }
  return cell;
}

// Not so for advice: what was soon seen to be slow was tried with fewer.
bool have_all_seeds(const Comparison& comparison) {
  return std::ranges::all_of(comparison.policies, [&](const PolicyOutcome& policy) {
    return policy.outcomes.size() == comparison.seeds;
  });
}

std::vector<Column> columns_of(const Comparison& comparison) {
  std::vector<Column> columns{
      {"policy", [](const PolicyOutcome& p) { return Cell{node::shortened(p.policy, 60)}; }}};
  const auto add = [&](std::string head, auto cell) {
    columns.push_back({std::move(head), std::move(cell)});
  };
  if (!have_all_seeds(comparison)) {
    add("seeds", [](const PolicyOutcome& p) { return Cell{cat(p.outcomes.size())}; });
  }
  if (comparison.trained) {
    if (comparison.target_accuracy) {
      add(cat("time to ", percent(*comparison.target_accuracy)), target_text);
    }
    add("final accuracy", [](const PolicyOutcome& p) {
      return with_range(spread(p, [](const Outcome& o) { return o.test_accuracy; }), 4);
    });
  }
  add("steps a second",
      [](const PolicyOutcome& p) { return with_range(spread(p, sim::steps_per_second), 3); });
  add("time", [](const PolicyOutcome& p) {
    return with_range(spread(p, [](const Outcome& o) { return o.seconds; }), 1, " s");
  });
  add("waiting", [](const PolicyOutcome& p) {
    return with_range(spread(p, [](const Outcome& o) { return 100 * o.wait_share_mean; }), 1, " %");
  });
  add("staleness p50 / p95 / max", staleness_text);
  add("barriers", [](const PolicyOutcome& p) {
    return with_range(spread(p, [](const Outcome& o) { return static_cast<double>(o.barriers); }),
                      0);
  });
  add("wait for a server", [](const PolicyOutcome& p) {
    return with_range(spread(p, [](const Outcome& o) { return 1e3 * o.server_queue_seconds; }), 2,
                      " ms");
  });
  add("pushed", [](const PolicyOutcome& p) {
    return Cell{bytes_text(
        spread(p, [](const Outcome& o) { return static_cast<double>(o.pushed_bytes); }).mean)};
  });
  return columns;
}

std::string table_of(const Comparison& comparison) {
  const std::vector<Column> columns = columns_of(comparison);
  std::string out = "<div class=\"scroll\"><table class=\"figures\"><tr>";
  for (const Column& column : columns) out += cat("<th>", escape_html(column.head), "</th>");
  out += "</tr>\n";
  for (const PolicyOutcome& policy : comparison.policies) {
    out += "<tr>";
    for (const Column& column : columns) {
      const Cell cell = column.cell(policy);
      out += cat("<td>", escape_html(cell.figure));
      if (!cell.range.empty()) out += cat("<small>", escape_html(cell.range), "</small>");
      out += "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string listed(const std::vector<std::string>& names) {
  if (names.size() <= 1) return names.empty() ? "" : names.front();
  return cat(join(std::span(names).first(names.size() - 1)), " and ", names.back());
}

std::string short_name(const PolicyOutcome& policy) { return node::shortened(policy.policy, 60); }

// Seed by seed, as seeds differ more than policies: reached the target no later than the other did.
bool leads_once(const PolicyOutcome& policy, const PolicyOutcome& other) {
  return std::ranges::any_of(policy.outcomes, [&](const Outcome& outcome) {
    const auto same = std::ranges::find(other.outcomes, outcome.seed, &Outcome::seed);
    return same != other.outcomes.end() && outcome.seconds_to_target && same->seconds_to_target &&
           *outcome.seconds_to_target <= *same->seconds_to_target;
  });
}

std::string fastest_to_target(const Comparison& comparison) {
  const std::string target = percent(*comparison.target_accuracy);
  const auto time = [](const PolicyOutcome& policy) {
    return spread(policy, [](const Outcome& o) { return o.seconds_to_target; });
  };
  const PolicyOutcome* first = nullptr;
  for (const PolicyOutcome& policy : comparison.policies) {
    const Spread of = time(policy);
    if (of.count == 0 || of.count < comparison.seeds) continue;
    if (first == nullptr || of.mean < time(*first).mean) first = &policy;
  }
  if (first == nullptr) {
    return cat("No policy reaches ", target, comparison.seeds > 1 ? " with every seed." : ".");
  }
  const Spread best = time(*first);
  std::string text = cat(short_name(*first), " reaches ", target, " first, after ",
                         in_words(with_range(best, 1, " s")), ".");
  if (comparison.seeds == 1) return text + " That is one seed: others may differ.";
  std::vector<std::string> near;
  for (const PolicyOutcome& policy : comparison.policies) {
    if (&policy != first && leads_once(policy, *first)) near.push_back(short_name(policy));
  }
  if (!near.empty())
    text += cat(" With some seeds ", listed(near), near.size() == 1 ? " is" : " are", " as fast.");
  return text;
}

std::string most_steps(const Comparison& comparison) {
  double largest = 0;
  for (const PolicyOutcome& policy : comparison.policies) {
    largest = std::max(largest, spread(policy, sim::steps_per_second).mean);
  }
  std::vector<std::string> names;
  for (const PolicyOutcome& policy : comparison.policies) {
    if (fixed(spread(policy, sim::steps_per_second).mean, 3) == fixed(largest, 3)) {
      names.push_back(short_name(policy));
    }
  }
  if (largest <= 0) return "No step was finished.";
  const std::string more =
      comparison.trained ? "" : " How much old gradients cost is seen with --train.";
  if (comparison.policies.size() == 1) {
    return cat(names.front(), " makes ", fixed(largest, 3), " steps a second.", more);
  }
  const bool is_all = names.size() == comparison.policies.size();
  return cat(is_all              ? std::string("All policies make")
             : names.size() == 1 ? cat(names.front(), " makes the most steps,")
                                 : cat(listed(names), " make the most steps,"),
             " ", fixed(largest, 3), is_all ? " steps a second." : " a second.", more);
}

std::string answer_of(const Comparison& comparison) {
  if (comparison.policies.empty()) return "Nothing was compared.";
  return comparison.trained && comparison.target_accuracy ? fastest_to_target(comparison)
                                                          : most_steps(comparison);
}

std::string subtitle(const Comparison& comparison) {
  return cat(comparison.workers, comparison.workers == 1 ? " worker, " : " workers, ",
             comparison.servers, comparison.servers == 1 ? " server, " : " servers, ",
             comparison.seeds == 1 ? cat("seed ", comparison.first_seed)
                                   : cat("seeds ", comparison.first_seed, " to ",
                                         comparison.first_seed + comparison.seeds - 1,
                                         have_all_seeds(comparison)
                                             ? ": means, and from lowest to highest"
                                             : " or the first of them: means, and from lowest to "
                                               "highest"),
             "; virtual time");
}

// A name for files, and the drawing.
std::vector<Picture> charts_of(const Comparison& comparison) {
  std::vector<Picture> charts;
  const bool is_measured =
      std::ranges::any_of(comparison.policies, [](const PolicyOutcome& policy) {
        return std::ranges::any_of(policy.outcomes,
                                   [](const Outcome& o) { return !o.evaluations.empty(); });
      });
  if (comparison.trained && is_measured) {
    charts.push_back({"accuracy", accuracy_chart(comparison)});
  }
  charts.push_back({"waiting", waiting_chart(comparison)});
  charts.push_back({"staleness", staleness_chart(comparison)});
  return charts;
}

std::vector<Picture> timelines_of(const Comparison& comparison) {
  std::vector<Picture> timelines;
  const double window = window_of(comparison);
  if (window <= 0) return timelines;
  for (const PolicyOutcome& policy : comparison.policies) {
    timelines.push_back({cat("timeline_", file_word(policy.policy)),
                         TimelineChart(comparison, policy, window).svg()});
  }
  return timelines;
}

}  // namespace

std::string file_word(std::string_view policy) {
  constexpr std::size_t kLongest = 100;  // file systems take 255 bytes
  policy = policy.substr(0, kLongest);
  std::string word;
  for (const char c : policy) word += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return word;
}

std::string comparison_html(const Comparison& comparison) {
  const std::string title =
      escape_html(cat(node::shortened(comparison.cluster, 80), ": ",
                      node::shortened(join(names_of(comparison), ", "), 200)));
  std::string body = cat("<h1>", escape_html(node::shortened(comparison.cluster, 80)), "</h1>\n<p>",
                         escape_html(subtitle(comparison)), "</p>\n<h2>",
                         escape_html(answer_of(comparison)), "</h2>\n", table_of(comparison));
  for (const Picture& chart : charts_of(comparison)) {
    const bool is_narrow = chart.name == "accuracy";
    body += cat("<div class=\"picture", is_narrow ? " narrow" : "", "\">", chart.svg, "</div>\n");
  }
  const std::vector<Picture> timelines = timelines_of(comparison);
  if (!timelines.empty()) {
    body += cat("<h2>The beginning, seed ", comparison.first_seed, "</h2>\n");
    for (const Picture& timeline : timelines) {
      body += cat("<div class=\"picture\">", timeline.svg, "</div>\n");
    }
  }
  return node::page(title, body);
}

std::vector<Picture> comparison_pictures(const Comparison& comparison) {
  std::vector<Picture> pictures = charts_of(comparison);
  std::ranges::move(timelines_of(comparison), std::back_inserter(pictures));
  std::map<std::string, int> known;  // policies whose names differ in signs alone
  for (Picture& picture : pictures) {
    const int before = known[picture.name]++;
    if (before > 0) picture.name += cat("_", before + 1);
    picture.svg = node::standalone(picture.svg);
  }
  return pictures;
}

}  // namespace paceline::cli
