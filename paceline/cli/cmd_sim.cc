// sim: the same cluster under several policies, on virtual time.

#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "paceline/base/text.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/comparison_report.h"
#include "paceline/cli/laboratory.h"
#include "paceline/cli/output.h"
#include "paceline/node/run_folder.h"
#include "paceline/node/table.h"
#include "paceline/sim/compare_json.h"
#include "paceline/sync/registry.h"

namespace paceline::cli {
namespace {

namespace fs = std::filesystem;
using node::Table;
using sim::Outcome;
using sim::PolicyOutcome;
using sim::Spread;

Status check_policies(const std::vector<std::string>& policies) {
  std::set<std::string> known;
  for (const std::string& policy : policies) {
    const auto made = sync::make_policy(policy);
    if (!made) {
      Error error = made.error();
      error.where = "--compare";
      return fail(std::move(error));
    }
    if (!known.insert((*made)->spec()).second) {
      return fail(Code::InvalidArgument, cat(policy, " is there twice"), "leave one of them out",
                  "--compare");
    }
  }
  return {};
}

// ---- decisions, a file for each policy ----

// The file that was asked for; with several policies, each has its own: d.jsonl, d.ssp_3.jsonl.
std::string decisions_file(const std::string& file, const std::string& policy, bool is_only) {
  if (is_only) return file;
  const fs::path path(file);
  return (path.parent_path() /
          cat(path.stem().string(), ".", file_word(policy), path.extension().string()))
      .string();
}

class DecisionFiles {
 public:
  Status open(const std::string& file, const std::vector<std::string>& policies) {
    for (const std::string& policy : policies) {
      names_.push_back(decisions_file(file, policy, policies.size() == 1));
      files_.emplace_back(names_.back(), std::ios::binary | std::ios::trunc);
      if (!files_.back()) return refused(names_.back());
    }
    return {};
  }
  void write(std::size_t candidate, std::string_view line) {
    files_[candidate].write(line.data(), static_cast<std::streamsize>(line.size())).put('\n');
  }
  Status close() {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      files_[i].close();
      if (!files_[i]) return refused(names_[i]);
    }
    return {};
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  static Status refused(const std::string& name) {
    return fail(Code::Refused, "this file cannot be written", "is there a folder, and space in it?",
                name);
  }

  std::vector<std::string> names_;
  std::vector<std::ofstream> files_;
};

// ---- progress ----

class Counter {
 public:
  explicit Counter(std::size_t all) : all_(all), shows_(all > 1 && isatty(STDERR_FILENO) != 0) {}
  ~Counter() {
    if (shows_) std::fprintf(stderr, "\r\033[K");
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  void tell() {
    const std::lock_guard lock(mutex_);
    ++done_;
    if (shows_) std::fprintf(stderr, "\r%zu of %zu runs", done_, all_);
  }

 private:
  std::mutex mutex_;
  std::size_t done_ = 0;
  std::size_t all_;
  bool shows_;
};

// ---- the table ----

std::string with_spread(const Spread& spread, int digits) {
  if (spread.count == 0) return "-";
  std::string text = fixed(spread.mean, digits);
  if (spread.count > 1) {
    text += cat(" (", fixed(spread.low, digits), " to ", fixed(spread.high, digits), ")");
  }
  return text;
}

std::string staleness_text(const PolicyOutcome& policy) {
  std::string text;
  for (const double share : {0.5, 0.95, 1.0}) {
    const Spread spread = spread_of(policy, [&](const Outcome& outcome) {
      return static_cast<double>(roles::quantile(outcome.staleness, share));
    });
    text += cat(text.empty() ? "" : " / ", fixed(spread.mean, 0));
  }
  return text;
}

std::string target_text(const PolicyOutcome& policy) {
  const Spread spread = spread_of(policy, [](const Outcome& o) { return o.seconds_to_target; });
  if (spread.count == 0) return "never";
  std::string text = with_spread(spread, 1);
  if (spread.count < policy.outcomes.size()) {
    text += cat(", ", spread.count, " of ", policy.outcomes.size());
  }
  return text;
}

std::string table_of(const sim::Comparison& comparison) {
  using Align = Table::Align;
  std::vector<Table::Column> columns{{"policy"},
                                     {"steps/s", Align::Right},
                                     {"seconds", Align::Right},
                                     {"waiting", Align::Right},
                                     {"staleness p50/p95/max", Align::Right},
                                     {"barriers", Align::Right},
                                     {"queue ms", Align::Right},
                                     {"pushed", Align::Right}};
  if (comparison.trained) {
    columns.push_back({"accuracy", Align::Right});
    if (comparison.target_accuracy) {
      columns.push_back({cat("s to ", *comparison.target_accuracy), Align::Right});
    }
  }
  Table table(std::move(columns));
  for (const PolicyOutcome& policy : comparison.policies) {
    const auto mean = [&](const auto& figure) { return spread_of(policy, figure).mean; };
    std::vector<std::string> cells{
        policy.policy,
        with_spread(spread_of(policy, [](const Outcome& o) { return steps_per_second(o); }), 3),
        fixed(mean([](const Outcome& o) { return o.seconds; }), 1),
        cat(fixed(100 * mean([](const Outcome& o) { return o.wait_share_mean; }), 1), " %"),
        staleness_text(policy),
        fixed(mean([](const Outcome& o) { return static_cast<double>(o.barriers); }), 0),
        fixed(1e3 * mean([](const Outcome& o) { return o.server_queue_seconds; }), 2),
        bytes_text(mean([](const Outcome& o) { return static_cast<double>(o.pushed_bytes); }))};
    if (comparison.trained) {
      cells.push_back(
          with_spread(spread_of(policy, [](const Outcome& o) { return o.test_accuracy; }), 4));
      if (comparison.target_accuracy) cells.push_back(target_text(policy));
    }
    table.add(std::move(cells));
  }
  return table.text();
}

std::string heading(const sim::Comparison& comparison) {
  const std::string seeds =
      comparison.seeds == 1
          ? cat("seed ", comparison.first_seed)
          : cat("seeds ", comparison.first_seed, " to ",
                comparison.first_seed + comparison.seeds - 1, ", means and ranges");
  return cat(comparison.cluster, ": ", comparison.workers, " workers, ", comparison.servers,
             " servers, ", seeds, "\n\n");
}

Status write_pictures(const std::string& folder, const sim::Comparison& comparison) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return fail(Code::Refused, cat("this folder cannot be made: ", error.message()), {}, folder);
  }
  for (const Picture& picture : comparison_pictures(comparison)) {
    const fs::path file = fs::path(folder) / (picture.name + ".svg");
    if (auto ok = node::write_file(file, picture.svg); !ok) return ok;
  }
  return {};
}

// A report that nobody asked for may fail to be written. Gives the file's name, empty: none.
Result<std::string> write_report(const SimArgs& args, const sim::Comparison& comparison) {
  if (args.no_report) return std::string();
  const std::string file = args.report.empty() ? kReportFile : args.report;
  auto written = node::write_file(file, comparison_html(comparison));
  if (written) return file;
  if (!args.report.empty()) return fail(written.error());
  std::fprintf(stderr, "paceline: no report: %s\n", to_string(written.error()).c_str());
  return std::string();
}

Result<sim::Comparison> simulate(const SimArgs& args, const Laboratory& laboratory,
                                 DecisionFiles& files) {
  const auto policies = sync::split_policies(args.compare);
  if (!policies) {
    Error error = policies.error();
    error.where = "--compare";
    return fail(std::move(error));
  }
  if (auto ok = check_policies(*policies); !ok) return fail(ok.error());
  auto experiment = make_experiment(args, laboratory);
  if (!experiment) return fail(experiment.error());
  for (const std::string& policy : *policies) experiment->candidates.push_back({.policy = policy});
  experiment->timeline = !args.no_report || !args.pictures.empty();
  if (!args.decisions.empty()) {
    if (auto ok = files.open(args.decisions, *policies); !ok) return fail(ok.error());
    experiment->decisions = [&](std::size_t candidate, std::string_view line) {
      files.write(candidate, line);
    };
  }
  Counter counter(policies->size() * args.seeds);
  experiment->progress = [&] { counter.tell(); };
  auto comparison = sim::compare(*experiment, make_machine(args));
  if (!comparison) return comparison;
  if (auto ok = files.close(); !ok) return fail(ok.error());
  if (!args.pictures.empty()) {
    if (auto ok = write_pictures(args.pictures, *comparison); !ok) return fail(ok.error());
  }
  return comparison;
}

}  // namespace

int cmd_sim(const SimArgs& args, const Laboratory& laboratory) {
  DecisionFiles files;
  const auto comparison = simulate(args, laboratory, files);
  if (!comparison) return report_error(comparison.error(), args.json);
  const auto report = write_report(args, *comparison);
  if (!report) return report_error(report.error(), args.json);
  if (args.json) {
    nlohmann::ordered_json json = to_json(*comparison);
    if (report->empty()) {
      json["report"] = nullptr;
    } else {
      json["report"] = *report;
    }
    json["decisions"] = files.names();
    print_json(json);
    return 0;
  }
  print(heading(*comparison));
  print(table_of(*comparison));
  if (!report->empty()) print(cat("\nreport: ", *report, "\n"));
  for (const std::string& name : files.names()) print(cat("decisions: ", name, "\n"));
  return 0;
}

}  // namespace paceline::cli
