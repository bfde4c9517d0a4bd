#include "paceline/node/report.h"

#include <algorithm>
#include <set>

#include "paceline/base/text.h"
#include "paceline/node/chart.h"
#include "paceline/node/json_field.h"

namespace paceline::node {
namespace {

constexpr std::string_view kStyle = R"(
:root { --page: #ffffff; --bad: #b3261e; }
@media screen and (prefers-color-scheme: dark) { :root { --page: #14171a; --bad: #ff8a80; } }
body { margin: 0 auto; padding: 1.5rem; max-width: 78rem; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; }
p { margin: .2rem 0; color: var(--dim); } .bad { color: var(--bad); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem .35rem 0; text-align: left; border-bottom: 1px solid var(--line);
  white-space: nowrap; } th { color: var(--dim); font-weight: 500; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin: .8rem 0 0; }
.legend i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px;
  margin-right: .4rem; vertical-align: -1px; background: var(--c); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr));
  gap: 1rem; margin-top: 1rem; }
svg { width: 100%; height: auto; border-radius: 8px; }
h1, h2 { overflow-wrap: anywhere; } .picture { margin-top: 1rem; break-inside: avoid; }
.picture.narrow { max-width: 46rem; }
.figures td, .figures th { text-align: right; vertical-align: top; padding: .35rem 0 .35rem 1rem; }
.figures th { white-space: normal; }
.figures td:first-child, .figures th:first-child { text-align: left; padding-left: 0; }
.figures small { display: block; color: var(--dim); }
pre { background: var(--card); padding: 1rem; border-radius: 8px; overflow-x: auto; }
summary { cursor: pointer; }
)";

// ---- what each run is called: its policy, and what tells it from the others ----

std::vector<std::string> names_of(std::span<const ReportRun> runs) {
  const auto named = [&](auto name) {
    std::vector<std::string> names;
    for (const ReportRun& run : runs) names.push_back(name(run.summary));
    return names;
  };
  const auto differ = [](const std::vector<std::string>& names) {
    return std::set(names.begin(), names.end()).size() == names.size();
  };
  const auto policy = named([](const Json& s) { return text(s, "policy"); });
  if (differ(policy)) return policy;
  const auto seeded = named([](const Json& s) {
    return cat(text(s, "policy"), ", seed ", fixed(number(s, "seed").value_or(0), 0));
  });
  if (differ(seeded)) return seeded;
  return named([](const Json& s) { return text(s, "run"); });
}

// ---- the table ----

constexpr std::string_view kNone = "–";

std::string shown(const std::optional<double>& value, int digits, std::string_view unit = "") {
  return value ? cat(fixed(*value, digits), unit) : std::string(kNone);
}
std::string percent(const std::optional<double>& share, int digits = 1) {
  return share ? shown(*share * 100, digits, " %") : std::string(kNone);
}
std::string size(const std::optional<double>& bytes) {
  return bytes ? bytes_text(*bytes) : std::string(kNone);
}
template <typename Show>
std::string each(const Json& values, Show show) {
  std::vector<std::string> parts;
  for (const Json& value : values) parts.push_back(show(as_number(value)));
  return parts.empty() ? std::string(kNone) : join(parts, " · ");
}
std::string whole(const std::optional<double>& value) { return shown(value, 0); }

std::string to_target(const Json& summary) {
  if (!number(summary, "target_accuracy")) return std::string(kNone);
  const auto seconds = number(summary, "seconds_to_target");
  return seconds ? shown(seconds, 1, " s") : "not reached";
}

using Cell = std::string (*)(const Json& summary);
struct Row {
  std::string_view head;
  Cell cell;
};

constexpr Row kRows[] = {
    {"run", [](const Json& s) { return text(s, "run"); }},
    {"end", [](const Json& s) { return text(s, "exit"); }},
    {"time to target", to_target},
    {"time", [](const Json& s) { return shown(number(s, "seconds"), 1, " s"); }},
    {"test accuracy", [](const Json& s) { return percent(number(s, "test_accuracy"), 2); }},
    {"training loss", [](const Json& s) { return shown(number(s, "train_loss"), 4); }},
    {"samples", [](const Json& s) { return whole(number(s, "samples")); }},
    {"steps, by worker", [](const Json& s) { return each(list(s, "steps"), whole); }},
    {"waited, by worker",
     [](const Json& s) {
       return each(list(s, "wait_share"), [](const auto& share) { return percent(share); });
     }},
    {"staleness, median / p95 / max",
     [](const Json& s) {
       const Json& of = field(s, "staleness");
       return cat(whole(number(of, "p50")), " / ", whole(number(of, "p95")), " / ",
                  whole(number(of, "max")));
     }},
    {"pushes applied / dropped / repeated",
     [](const Json& s) {
       const Json& of = field(s, "pushes");
       return cat(whole(number(of, "applied")), " / ", whole(number(of, "dropped")), " / ",
                  whole(number(of, "repeated")));
     }},
    {"pushed", [](const Json& s) { return size(number(field(s, "bytes"), "pushed")); }},
    {"pulled", [](const Json& s) { return size(number(field(s, "bytes"), "pulled")); }},
    {"set-up", [](const Json& s) { return shown(number(s, "setup_seconds"), 1, " s"); }},
    {"SHA-256 of the parameters",
     [](const Json& s) {
       const std::string sum = text(s, "param_sha256");
       return sum.empty() ? std::string(kNone) : sum.substr(0, 16);
     }},
};

std::string table_of(std::span<const ReportRun> runs, std::span<const std::string> names) {
  std::string out = "<div class=\"scroll\"><table><tr><th></th>";
  for (const std::string& name : names) out += cat("<th>", escape_html(name), "</th>");
  out += "</tr>\n";
  for (const Row& row : kRows) {
    out += cat("<tr><th>", row.head, "</th>");
    for (const ReportRun& run : runs) {
      out += cat("<td>", escape_html(row.cell(run.summary)), "</td>");
    }
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

// ---- the drawings ----

std::vector<Series> curves(std::span<const ReportRun> runs, std::span<const std::string> names,
                           const char* x, const char* y) {
  std::vector<Series> out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Series series{.name = names[i], .points = {}};
    for (const Json& point : list(runs[i].summary, "accuracy")) {
      const auto at = number(point, x);
      const auto value = number(point, y);
      if (at && value) series.points.emplace_back(*at, *value);
    }
    std::ranges::stable_sort(series.points, {}, [](const auto& point) { return point.first; });
    out.push_back(std::move(series));
  }
  return out;
}

std::vector<Bars> by_worker(std::span<const ReportRun> runs, std::span<const std::string> names,
                            const char* what) {
  std::vector<Bars> out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Bars bars{.name = names[i], .values = {}};
    for (const Json& value : list(runs[i].summary, what)) bars.values.push_back(as_number(value));
    out.push_back(std::move(bars));
  }
  return out;
}

std::vector<std::string> worker_names(std::span<const Bars> bars) {
  std::size_t count = 0;
  for (const Bars& one : bars) count = std::max(count, one.values.size());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(cat("worker ", i));
  return out;
}

// Shares of the pushes, so that runs of different length compare. Above kStalenessShown: together.
constexpr std::size_t kStalenessShown = 40;

std::string staleness_chart(std::span<const ReportRun> runs, std::span<const std::string> names) {
  std::vector<Bars> all;
  std::size_t groups = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<std::optional<double>> counts(kStalenessShown + 1);
    double total = 0;
    for (const Json& row : list(runs[i].summary, "staleness_histogram")) {
      if (!row.is_array() || row.size() != 2) continue;
      const double versions = as_number(row[0]).value_or(-1);
      const double pushes = as_number(row[1]).value_or(0);
      if (versions < 0 || pushes < 0) continue;
      const auto at =
          static_cast<std::size_t>(std::min(versions, static_cast<double>(kStalenessShown)));
      counts[at] = counts[at].value_or(0) + pushes;
      total += pushes;
      groups = std::max(groups, at + 1);
    }
    for (auto& count : counts) {
      if (count) count = *count / total;
    }
    all.push_back({.name = names[i], .values = std::move(counts)});
  }
  std::vector<std::string> labels;
  for (std::size_t g = 0; g < groups; ++g) {
    labels.push_back(g == kStalenessShown ? cat(g, "+") : cat(g));
  }
  return bar_chart({.title = "Staleness of the pushes that were applied",
                    .x = "versions",
                    .y = "share",
                    .y_percent = true},
                   labels, all);
}

std::optional<double> common_target(std::span<const ReportRun> runs) {
  const auto target = number(runs.front().summary, "target_accuracy");
  const bool common = std::ranges::all_of(
      runs, [&](const ReportRun& run) { return number(run.summary, "target_accuracy") == target; });
  return common ? target : std::nullopt;
}

std::string charts(std::span<const ReportRun> runs, std::span<const std::string> names) {
  const auto target = common_target(runs);
  const auto shares = by_worker(runs, names, "wait_share");
  const auto steps = by_worker(runs, names, "steps");
  std::string out = "<div class=\"legend\">";
  for (std::size_t i = 0; i < names.size(); ++i) {
    out +=
        cat("<span class=\"s", i % kChartColours, "\"><i></i>", escape_html(names[i]), "</span>");
  }
  out += "</div>\n<div class=\"charts\">\n";
  out += line_chart({.title = "Test accuracy over time", .x = "seconds", .y_percent = true},
                    curves(runs, names, "seconds", "accuracy"), target);
  out += line_chart({.title = "Test accuracy over samples", .x = "samples", .y_percent = true},
                    curves(runs, names, "samples", "accuracy"), target);
  out += line_chart({.title = "Test loss over time", .x = "seconds"},
                    curves(runs, names, "seconds", "loss"));
  out += bar_chart({.title = "Share of the time spent waiting", .x = "", .y_percent = true},
                   worker_names(shares), shares);
  out += bar_chart({.title = "Steps made", .x = ""}, worker_names(steps), steps);
  out += staleness_chart(runs, names);
  return out + "</div>\n";
}

// ---- the rest ----

std::string failures(std::span<const ReportRun> runs, std::span<const std::string> names) {
  std::string items;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Json& error = field(runs[i].summary, "error");
    if (error.is_object()) {
      items += cat("<li class=\"bad\">", escape_html(names[i]), ": ",
                   escape_html(text(error, "what")), "</li>\n");
    }
    for (const Json& failure : list(runs[i].summary, "failures")) {
      const std::string why = text(failure, "text");
      items += cat("<li>", escape_html(names[i]), ": ", escape_html(text(failure, "role")), " ",
                   whole(number(failure, "rank")), " at ", shown(number(failure, "at_seconds"), 1),
                   " s: ", escape_html(why.empty() ? text(failure, "cause") : why), "</li>\n");
    }
  }
  return items.empty() ? "" : cat("<h2>Processes that were lost</h2>\n<ul>\n", items, "</ul>\n");
}

std::string configurations(std::span<const ReportRun> runs, std::span<const std::string> names) {
  std::string out = "<h2>Configuration</h2>\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].config_toml.empty()) continue;
    out += cat("<details><summary>", escape_html(names[i]), "</summary><pre>",
               escape_html(runs[i].config_toml), "</pre></details>\n");
  }
  return out;
}

std::string subtitle(const Json& summary) {
  return cat(text(summary, "model"), " on ", text(summary, "data"), ", ",
             whole(number(summary, "workers")), " workers, ", whole(number(summary, "servers")),
             " servers, seed ", whole(number(summary, "seed")));
}

}  // namespace

std::string page(std::string_view title, std::string_view body) {
  return cat("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n",
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
             "<title>Paceline: ", title, "</title>\n<style>", chart_style(), kStyle,
             "</style></head>\n<body>\n", body, "</body></html>\n");
}

std::string report_html(std::span<const ReportRun> runs) {
  if (runs.empty()) return {};
  const std::vector<std::string> names = names_of(runs);
  const std::string title = escape_html(join(names, " against "));
  return page(title, cat("<h1>", title, "</h1>\n<p>", escape_html(subtitle(runs.front().summary)),
                         "</p>\n", charts(runs, names), "<h2>Figures</h2>\n", table_of(runs, names),
                         failures(runs, names), configurations(runs, names)));
}

}  // namespace paceline::node
