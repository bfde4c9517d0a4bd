// runs, show, report: what has been run.

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "paceline/base/text.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/output.h"
#include "paceline/node/json_field.h"
#include "paceline/node/report.h"
#include "paceline/node/run_folder.h"
#include "paceline/node/summary.h"
#include "paceline/node/table.h"
#include "paceline/roles/decision_json.h"

namespace paceline::cli {
namespace {

using node::Json;
using node::Table;

constexpr std::size_t kReasonsShown = 5;
constexpr std::size_t kStalenessRows = 24;

// ---- runs ----

// What is known of a run, ended or not: the fields of its summary that a list shows.
Json listed(const node::RunFolder& run) {
  const auto summary = node::read_summary(run);
  const Json known = summary ? *summary : Json::object();
  Json out;
  out["run"] = run.name();
  out["path"] = run.path.string();
  for (const char* name : {"exit", "policy", "model", "seed", "workers", "seconds", "samples",
                           "test_accuracy", "seconds_to_target"}) {
    out[name] = node::field(known, name);
  }
  if (summary) return out;
  const auto config = node::parse_config(run.config().string());
  if (!config) return out;
  out["policy"] = config->sync.policy;
  out["model"] = config->model.name;
  out["seed"] = config->run.seed;
  out["workers"] = config->cluster.workers;
  return out;
}

std::string cell(const Json& run, const char* name, int digits) {
  const auto value = node::number(run, name);
  return value ? fixed(*value, digits) : "-";
}

std::string runs_text(const std::vector<Json>& runs) {
  Table table({{"run"},
               {"exit"},
               {"policy"},
               {"model"},
               {"workers", Table::Align::Right},
               {"samples", Table::Align::Right},
               {"seconds", Table::Align::Right},
               {"to target", Table::Align::Right},
               {"accuracy", Table::Align::Right}});
  for (const Json& run : runs) {
    const std::string exit = node::text(run, "exit");
    table.add({node::text(run, "run"), exit.empty() ? "no summary" : exit,
               node::text(run, "policy"), node::text(run, "model"), cell(run, "workers", 0),
               cell(run, "samples", 0), cell(run, "seconds", 1), cell(run, "seconds_to_target", 1),
               cell(run, "test_accuracy", 4)});
  }
  return table.text();
}

// ---- show ----

// "barrier 12: 4 pushes" and "barrier 13: 3 pushes" are one reason.
std::string without_numbers(std::string_view reason) {
  std::string out;
  for (const char c : reason) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!is_digit) {
      out += c;
    } else if (!out.ends_with('N')) {
      out += 'N';
    }
  }
  return out;
}

struct Decisions {
  std::uint64_t events = 0;
  std::uint64_t updates = 0;
  std::uint64_t means = 0;  // of more than one push
  std::uint64_t pushes = 0;
  std::uint64_t dropped = 0;
  std::uint64_t unreadable = 0;  // lines; the last may be cut short
  std::map<std::string, std::uint64_t> reasons;
};

void count(Decisions& decisions, const sync::Decision& decision) {
  ++decisions.events;
  decisions.updates += decision.apply.size();
  decisions.dropped += decision.drop.size();
  for (const sync::Apply& apply : decision.apply) {
    decisions.pushes += apply.pushes.size();
    if (apply.pushes.size() > 1) ++decisions.means;
  }
  if (!decision.reason.empty()) ++decisions.reasons[without_numbers(decision.reason)];
}

Decisions read_decisions(const node::RunFolder& run) {
  Decisions decisions;
  std::ifstream file(run.decisions());
  for (std::string line; std::getline(file, line);) {
    if (const auto parsed = roles::parse_decision(line)) {
      count(decisions, parsed->decision);
    } else {
      ++decisions.unreadable;
    }
  }
  return decisions;
}

std::vector<std::pair<std::string, std::uint64_t>> frequent_reasons(const Decisions& decisions) {
  std::vector<std::pair<std::string, std::uint64_t>> out(decisions.reasons.begin(),
                                                         decisions.reasons.end());
  std::ranges::stable_sort(out, [](const auto& a, const auto& b) { return a.second > b.second; });
  if (out.size() > kReasonsShown) out.resize(kReasonsShown);
  return out;
}

Json decisions_json(const Decisions& decisions) {
  Json reasons = Json::array();
  for (const auto& [reason, times] : frequent_reasons(decisions)) {
    reasons.push_back({{"reason", reason}, {"times", times}});
  }
  return {{"events", decisions.events},   {"updates", decisions.updates},
          {"means", decisions.means},     {"pushes", decisions.pushes},
          {"dropped", decisions.dropped}, {"unreadable", decisions.unreadable},
          {"frequent_reasons", reasons}};
}

std::string decisions_text(const Decisions& decisions) {
  if (decisions.events == 0) return "";
  std::string out = cat("\ndecisions  ", decisions.events, " events, ", decisions.updates,
                        " updates of ", decisions.pushes, " pushes (", decisions.means,
                        " were means of several), ", decisions.dropped, " dropped\n");
  for (const auto& [reason, times] : frequent_reasons(decisions)) {
    out += cat("  ", times, " x  ", reason, "\n");
  }
  return out;
}

// The first rows of the histogram; the rest together.
std::string staleness_text(const Json& summary) {
  std::vector<std::pair<std::string, double>> rows;
  for (const Json& row : node::list(summary, "staleness_histogram")) {
    if (!row.is_array() || row.size() != 2) continue;
    const std::string versions = fixed(node::as_number(row[0]).value_or(0), 0);
    const double pushes = node::as_number(row[1]).value_or(0);
    if (rows.size() < kStalenessRows) {
      rows.emplace_back(versions, pushes);
    } else {
      rows.back() = {"above", rows.back().second + pushes};
    }
  }
  if (rows.empty()) return "";
  const double most =
      std::max(1.0, std::ranges::max(rows, {}, &decltype(rows)::value_type::second).second);
  Table table({{"staleness", Table::Align::Right}, {"pushes", Table::Align::Right}, {""}});
  for (const auto& [versions, pushes] : rows) {
    const auto bar = static_cast<std::size_t>(30 * std::max(pushes, 0.0) / most);
    table.add({versions, fixed(pushes, 0), std::string(bar, '#')});
  }
  return "\n" + table.text();
}

}  // namespace

int cmd_runs(const RunsArgs& args) {
  const auto folders = node::list_runs(args.dir);
  if (!folders) return report_error(folders.error(), args.json);
  std::vector<Json> runs;
  for (const node::RunFolder& run : *folders) runs.push_back(listed(run));
  if (args.json) {
    print_json(Json(runs));
  } else if (runs.empty()) {
    print(cat("There are no runs below ", args.dir, ". Make one: paceline train CONFIG.toml\n"));
  } else {
    print(runs_text(runs));
  }
  return 0;
}

int cmd_show(const ShowArgs& args) {
  const auto run = node::find_run(args.dir, args.run);
  if (!run) return report_error(run.error(), args.json);
  const auto summary = node::read_summary(*run);
  if (!summary) return report_error(summary.error(), args.json);
  const Decisions decisions = read_decisions(*run);
  if (args.json) {
    Json out = *summary;
    out["path"] = run->path.string();
    out["decisions"] = decisions_json(decisions);
    print_json(out);
    return 0;
  }
  print(node::summary_table(*summary));
  print(staleness_text(*summary));
  print(decisions_text(decisions));
  print(cat("\nfolder  ", run->path.string(), "\n"));
  return 0;
}

int cmd_report(const ReportArgs& args) {
  std::vector<node::ReportRun> runs;
  std::vector<Json> summaries;
  for (const std::string& name : args.runs) {
    const auto run = node::find_run(args.dir, name);
    if (!run) return report_error(run.error(), args.json);
    auto summary = node::read_summary(*run);
    if (!summary) return report_error(summary.error(), args.json);
    summaries.push_back(*summary);
    runs.push_back({std::move(*summary), node::read_file(run->config()).value_or("")});
  }
  if (auto ok = node::write_file(args.output, node::report_html(runs)); !ok) {
    return report_error(ok.error(), args.json);
  }
  if (args.json) {
    print_json({{"report", args.output}, {"runs", summaries}});
  } else {
    print(cat(node::comparison_text(summaries), "\nreport  ", args.output, "\n"));
  }
  return 0;
}

}  // namespace paceline::cli
