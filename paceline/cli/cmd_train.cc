#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "paceline/base/text.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/load_config.h"
#include "paceline/cli/output.h"
#include "paceline/cli/progress.h"
#include "paceline/node/launcher.h"
#include "paceline/node/process.h"
#include "paceline/node/report.h"
#include "paceline/node/run_folder.h"
#include "paceline/node/summary.h"

namespace paceline::cli {
namespace {

namespace fs = std::filesystem;

// One's own, or the one beside this program, as in a build folder and in an installation.
Result<std::string> worker_program(const node::Config& config) {
  if (const std::string& own = config.model.program; !own.empty()) {
    if (access(own.c_str(), X_OK) == 0) return fs::absolute(own).string();
    return fail(Code::NotFound, cat("there is no program ", own, " that can be run"),
                "build it, or mend the path", "model.program");
  }
  const std::string path = node::program_folder() + "/paceline-worker";
  if (access(path.c_str(), X_OK) == 0) return path;
  return fail(Code::Refused, cat("there is no program paceline-worker in ", node::program_folder()),
              "it needs LibTorch: configure with -DPACELINE_TORCH=ON (tools/setup fetches it) and "
              "build the target paceline-worker");
}

struct Prepared {
  node::Config config;
  node::RunFolder folder;
  std::string worker;
};

Result<Prepared> prepare(const TrainArgs& args) {
  auto config = load_config(args);
  if (!config) return fail(config.error());
  if (const Status data = check_data(*config); !data) return fail(data.error());
  auto worker = worker_program(*config);
  if (!worker) return fail(worker.error());
  auto folder = node::make_run_folder(*config, std::chrono::system_clock::now());
  if (!folder) return fail(folder.error());
  return Prepared{std::move(*config), std::move(*folder), std::move(*worker)};
}

Status write_results(const Prepared& run, const node::Json& summary, const std::string& report) {
  if (auto written = node::write_file(run.folder.summary(), node::summary_text(summary));
      !written) {
    return written;
  }
  const std::vector<node::ReportRun> runs{{summary, node::to_toml(run.config)}};
  const std::string html = node::report_html(runs);
  if (auto written = node::write_file(run.folder.report(), html); !written) return written;
  return report.empty() ? Status{} : node::write_file(report, html);
}

void print_results(const Prepared& run, const node::Json& summary) {
  print(node::summary_table(summary));
  print(cat("run folder: ", run.folder.path.string(),
            "\nreport:     ", run.folder.report().string(), "\n"));
}

}  // namespace

int cmd_train(const TrainArgs& args) {
  const auto began = std::chrono::steady_clock::now();
  auto run = prepare(args);
  if (!run) return report_error(run.error(), args.json);

  Progress progress(stderr);
  progress.note(cat(run->config.sync.policy, ", ", run->config.cluster.workers, " workers, ",
                    run->config.cluster.servers, " servers; ", run->folder.path.string()));
  const node::LaunchResult result =
      node::launch({.config = run->config,
                    .folder = run->folder,
                    .paceline = node::program_folder() + "/paceline",
                    .worker_program = run->worker,
                    .began = began,
                    .on_figures = [&](const auto& stats) { progress.update(stats); },
                    .on_notice = [&](const std::string& text) { progress.note(text); }});
  progress.finish();

  const node::Json summary = node::summary_json(run->config, result.stats,
                                                {.run = run->folder.name(),
                                                 .exit_code = result.exit_code,
                                                 .setup_seconds = result.setup_seconds,
                                                 .error = result.error});
  if (auto written = write_results(*run, summary, args.report); !written) {
    return report_error(written.error(), args.json);
  }
  if (result.error) {
    report_error(*result.error, args.json);
  } else if (args.json) {
    print_json(summary);
  } else {
    print_results(*run, summary);
  }
  return result.exit_code;
}

}  // namespace paceline::cli
