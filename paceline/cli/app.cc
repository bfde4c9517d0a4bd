// The program `paceline`: options of each command, help, and what is wrong with a command line.

#include "paceline/cli/app.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "paceline/base/text.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/environment.h"
#include "paceline/cli/output.h"

namespace paceline::cli {
namespace {

constexpr int kBug = 1;

// ---- help: a line that works comes first ----

class Help : public CLI::Formatter {
 public:
  Help() {
    label("REQUIRED", "");
    label("TEXT", "");
    label("UINT", "");
  }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    if (app->get_parent() == nullptr) return make_main_help(app);
    // The example stands in the footer.
    std::string out = cat("  ", app->get_footer(), "\n\n", app->get_description(), "\n\n");
    out += make_usage(app, name);
    out += make_positionals(app);
    out += make_groups(app, mode);
    return out;
  }
  std::string make_usage(const CLI::App* app, std::string /*name*/) const override {
    std::string out = cat("Usage: paceline ", app->get_name());
    for (const CLI::Option* option : app->get_options()) {
      if (!option->get_positional()) continue;
      const std::string word = option->get_name();
      const bool many = option->get_expected_max() > 1;
      out += cat(" ", option->get_required() ? word : cat("[", word, "]"), many ? " ..." : "");
    }
    return out + " [OPTIONS]\n";
  }

 private:
  static std::string make_main_help(const CLI::App* app) {
    std::string out =
        cat("  ", app->get_footer(), "\n\n", app->get_description(), "\n\nCommands:\n");
    for (const CLI::App* command : app->get_subcommands({})) {
      if (command->get_group().empty()) continue;  // what `train` starts
      const std::string doc = command->get_description();
      std::string name = command->get_name();
      name.resize(11, ' ');
      out += cat("  ", name, doc.substr(0, doc.find_first_of(".\n")), "\n");
    }
    return out +
           "\nOptions:\n  --help     of a command too: paceline COMMAND --help\n"
           "  --version\n\nWith --json a command prints one JSON value and nothing else.\n"
           "Exit codes: 0 done, 2 wrong words, 3 data, 4 a process, 5 the machine, 1 our bug.\n";
  }
};

// ---- the commands ----

struct Commands {
  TrainArgs train;
  RoleArgs role;
  CheckArgs check;
  ListArgs list;
  ZiplineArgs zipline;
  RunsArgs runs;
  ShowArgs show;
  ReplayArgs replay;
  ReportArgs report;
  SimArgs sim;
  AdviseArgs advise;
  const Laboratory* laboratory = nullptr;
  std::map<const CLI::App*, std::function<int()>> run;
};

CLI::App* add(CLI::App& app, const std::string& name, const std::string& example,
              const std::string& doc) {
  CLI::App* command = app.add_subcommand(name, doc);
  command->footer(example);
  return command;
}

void add_json(CLI::App* command, bool& json) {
  command->add_flag("--json", json, "One JSON value on standard output, and nothing else");
}

void add_config(CLI::App* command, ConfigArgs& args, bool required = true) {
  command->add_option("CONFIG", args.config, "The run's configuration, TOML")->required(required);
  command->add_option("--set", args.set, "KEY=VALUE: stronger than the file; may come again")
      ->allow_extra_args(false)
      ->type_name("");
  command->add_option("--sync", args.sync, "POLICY: the same as --set sync.policy=POLICY")
      ->type_name("");
  command->add_option("--code", args.code, "CODE: the same as --set code.scheme=CODE")
      ->type_name("");
  add_json(command, args.json);
}

void add_train(CLI::App& app, Commands& commands) {
  CLI::App* train = add(app, "train", "paceline train demo.toml --sync elastic_bsp:15",
                        "A whole run on this host: coordinator, servers and workers as processes.");
  add_config(train, commands.train);
  train->add_option("--report", commands.train.report, "FILE: one HTML file with the curves")
      ->type_name("");
  commands.run[train] = [&commands] { return cmd_train(commands.train); };
}

void add_check(CLI::App& app, Commands& commands) {
  CLI::App* check = add(app, "check", "paceline check demo.toml --set optimizer.lr=0.2",
                        "Reads, completes and prints a configuration; starts nothing.");
  add_config(check, commands.check, false);
  check->add_flag("--keys", commands.check.keys, "Prints what may stand in one instead");
  commands.run[check] = [&commands] { return cmd_check(commands.check); };
}

void add_registry(CLI::App& app, Commands& commands, const std::string& name,
                  const std::string& doc, int (*run)(const ListArgs&)) {
  CLI::App* command = add(app, name, cat("paceline ", name), doc);
  add_json(command, commands.list.json);
  commands.run[command] = [&commands, run] { return run(commands.list); };
}

void add_zipline(CLI::App& app, Commands& commands) {
  CLI::App* zipline = add(app, "zipline", "printf '2 4 6\\n5 9\\n' | paceline zipline -",
                          "The next barrier for a matrix of predicted ends, one row a worker.");
  zipline->add_option("FILE", commands.zipline.file, "Commas or blanks between; -: standard input")
      ->required();
  add_json(zipline, commands.zipline.json);
  commands.run[zipline] = [&commands] { return cmd_zipline(commands.zipline); };
}

void add_runs(CLI::App& app, Commands& commands) {
  CLI::App* runs = add(app, "runs", "paceline runs", "Past runs, the oldest first.");
  runs->add_option("--dir", commands.runs.dir, "DIR: where runs are, as run.dir (runs)")
      ->type_name("");
  add_json(runs, commands.runs.json);
  commands.run[runs] = [&commands] { return cmd_runs(commands.runs); };
}

void add_show(CLI::App& app, Commands& commands) {
  CLI::App* show = add(app, "show", "paceline show latest",
                       "One run in detail: figures, workers, staleness, decisions.");
  show->add_option("RUN", commands.show.run, "A name of `paceline runs`, a folder, or latest");
  show->add_option("--dir", commands.show.dir, "DIR: where runs are (runs)")->type_name("");
  add_json(show, commands.show.json);
  commands.run[show] = [&commands] { return cmd_show(commands.show); };
}

void add_replay(CLI::App& app, Commands& commands) {
  CLI::App* replay = add(app, "replay", "paceline replay latest",
                         "A run's events, fed to its policy again: are the decisions the same?");
  replay->add_option("RUN", commands.replay.run, "A name of `paceline runs`, a folder, or latest");
  replay->add_option("--dir", commands.replay.dir, "DIR: where runs are (runs)")->type_name("");
  replay->add_flag("--simulate", commands.replay.simulate,
                   "Also simulate the configuration and compare the updates (bsp)");
  add_json(replay, commands.replay.json);
  commands.run[replay] = [&commands] { return cmd_replay(commands.replay); };
}

void add_report(CLI::App& app, Commands& commands) {
  CLI::App* report = add(app, "report", "paceline report latest -o report.html",
                         "Several runs side by side in one HTML file that needs nothing else.");
  report->add_option("RUN", commands.report.runs, "Names, folders, or latest")->required();
  report->add_option("-o,--output", commands.report.output, "FILE (report.html)")->type_name("");
  report->add_option("--dir", commands.report.dir, "DIR: where runs are (runs)")->type_name("");
  add_json(report, commands.report.json);
  commands.run[report] = [&commands] { return cmd_report(commands.report); };
}

void add_laboratory(CLI::App* command, LabArgs& args) {
  const auto option = [&](const std::string& name, auto& value, const std::string& doc) {
    command->add_option(name, value, doc)->type_name("");
  };
  option("--cluster", args.cluster,
         cat("NAME|FILE: ", join(cluster_names()),
             "; a cluster file, a matrix of step ends, a run's folder"));
  option("--workers", args.workers, "N: that many equal ones, 5 % jitter");
  option("--train", args.train.config, "CONFIG.toml: real gradients on virtual time");
  command->add_option("--set", args.train.set, "KEY=VALUE: stronger than CONFIG; may come again")
      ->allow_extra_args(false)
      ->type_name("");
  option("--steps", args.steps, "N: a worker");
  option("--seconds", args.seconds, "T: virtual ones");
  option("--seed", args.seed, "S: the first (1)");
  option("--seeds", args.seeds, cat("K: S to S+K-1 (", args.seeds, ")"));
  option("--jobs", args.jobs, "N: threads; else as many as processors");
  add_json(command, args.json);
}

void add_sim(CLI::App& app, Commands& commands) {
  CLI::App* sim = add(app, "sim", "paceline sim --compare bsp,ssp:3,elastic_bsp --cluster uneven4",
                      "Policies on a simulated cluster, side by side: the roles of a live run on "
                      "virtual time.");
  sim->add_option("--compare", commands.sim.compare, cat("POLICIES (", commands.sim.compare, ")"))
      ->type_name("");
  add_laboratory(sim, commands.sim);
  sim->add_option("--decisions", commands.sim.decisions,
                  "FILE: every decision of the first seed, a line each")
      ->type_name("");
  sim->add_option("--report", commands.sim.report,
                  cat("FILE: one HTML file with the pictures (", kReportFile, ")"))
      ->type_name("");
  sim->add_flag("--no-report", commands.sim.no_report, "Writes none");
  sim->add_option("--pictures", commands.sim.pictures, "FOLDER: each picture as SVG, for papers")
      ->type_name("");
  commands.run[sim] = [&commands] { return cmd_sim(commands.sim, *commands.laboratory); };
}

void add_advise(CLI::App& app, Commands& commands) {
  commands.advise.seeds = 5;
  CLI::App* advise = add(app, "advise", "paceline advise --cluster one_slow_of_eight",
                         "Which policy for this cluster, and why: by virtual time to a target "
                         "accuracy.");
  advise->add_option("--compare", commands.advise.compare, "POLICIES: else all, a few ways each")
      ->type_name("");
  add_laboratory(advise, commands.advise);
  advise->add_option("--target", commands.advise.target, "ACCURACY: else the configuration's")
      ->type_name("");
  advise
      ->add_option("--report", commands.advise.report,
                   "FILE: one HTML file with the pictures of all that was tried")
      ->type_name("");
  commands.run[advise] = [&commands] { return cmd_advise(commands.advise, *commands.laboratory); };
}

void add_roles(CLI::App& app, Commands& commands) {
  const auto role = [&](const std::string& name, const std::string& doc) {
    CLI::App* command = add(app, name, "paceline train demo.toml", doc);
    command->group("");
    command->add_option("FOLDER", commands.role.folder, "The run's folder")->required();
    return command;
  };
  CLI::App* coordinator = role("coordinator", "Started by `paceline train`, one a run.");
  commands.run[coordinator] = [&commands] { return cmd_coordinator(commands.role); };
  CLI::App* server = role("server", "Started by `paceline train`, one a shard.");
  server->add_option("--index", commands.role.index, "Of the shard, from 0")->required();
  commands.run[server] = [&commands] { return cmd_server(commands.role); };
}

void add_commands(CLI::App& app, Commands& commands) {
  add_train(app, commands);
  add_check(app, commands);
  add_registry(app, commands, "policies", "When may a worker go on: the policies.", cmd_policies);
  add_registry(app, commands, "codes", "Gradient codes; none so far.", cmd_codes);
  add_registry(app, commands, "models", "Models, their sizes and sources.", cmd_models);
  add_registry(app, commands, "datasets", "Data sets, and whether they are here.", cmd_datasets);
  add_zipline(app, commands);
  add_sim(app, commands);
  add_advise(app, commands);
  add_runs(app, commands);
  add_show(app, commands);
  add_replay(app, commands);
  add_report(app, commands);
  add_roles(app, commands);
}

// ---- what is wrong with a command line ----

std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

bool is_command(const CLI::App& app, const std::string& word) {
  const auto commands = app.get_subcommands({});
  return std::ranges::any_of(commands,
                             [&](const CLI::App* one) { return one->get_name() == word; });
}

Error unknown_command(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> names = names_of(app);
  const std::string meant = nearest(word, names);
  return {.what = cat("there is no command '", word, "'"),
          .fix = meant.empty() ? cat("there are ", join(names)) : cat("did you mean ", meant, "?"),
          .where = "command line"};
}

const CLI::App& chosen(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : *commands.front();
}

std::string see_help_of(const CLI::App& command) {
  const bool is_main = command.get_parent() == nullptr;
  return cat("see: paceline ", is_main ? "" : command.get_name() + " ", "--help");
}

Error unknown_argument(const CLI::App& command, const std::string& word) {
  const std::string help = see_help_of(command);
  if (!word.starts_with('-')) {
    return {.what = "nothing more is expected here", .fix = help, .where = word};
  }
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> options;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& known : option->get_lnames()) options.push_back("--" + known);
  }
  const std::string meant = nearest(name, options);
  return {.what = "there is no such option",
          .fix = meant.empty() ? help : cat("did you mean ", meant, "?"),
          .where = name};
}

Error command_line_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = chosen(app);
  const std::vector<std::string> extras = command.remaining();
  if (!extras.empty()) return unknown_argument(command, extras.front());
  const std::string what = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return {.what = "a value is missing",
            .fix = see_help_of(command),
            .where = what.substr(0, what.find(':'))};
  }
  return {.what = what, .fix = see_help_of(command), .where = command.get_name()};
}

int run(int argc, char** argv, const Laboratory& laboratory) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool json = std::ranges::find(words, "--json") != words.end();
  if (auto ok = check_environment(environ); !ok) return report_error(ok.error(), json);

  CLI::App app("Trains neural networks on unequal workers: a parameter server with exact policies.",
               "paceline");
  app.footer("paceline train demo.toml --sync elastic_bsp:15");
  app.formatter(std::make_shared<Help>());
  app.set_version_flag("--version", "paceline " PACELINE_VERSION);
  app.require_subcommand(1);
  Commands commands;
  commands.laboratory = &laboratory;
  add_commands(app, commands);

  if (words.empty()) {
    print(app.help());
    return 2;
  }
  if (!words.front().starts_with('-') && !is_command(app, words.front())) {
    return report_error(unknown_command(app, words.front()), json);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print(chosen(app).help());
    return 0;
  } catch (const CLI::CallForVersion& version) {
    print(cat(version.what(), "\n"));
    return 0;
  } catch (const CLI::ParseError& error) {
    return report_error(command_line_error(app, error), json);
  }
  return commands.run.at(&chosen(app))();
}

// What could not be printed was not done.
int flushed(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  const int refused = report_error({.code = Code::Refused,
                                    .what = "standard output cannot be written",
                                    .fix = "is there space left?"},
                                   false);
  return exit_code == 0 ? refused : exit_code;
}

}  // namespace

int run_program(int argc, char** argv, Laboratory laboratory) {
  laboratory.words.assign(argv + 1, argv + argc);
  try {
    return flushed(run(argc, argv, laboratory));
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr,
                 "paceline: there is not enough memory; fewer --workers or --jobs take less\n");
    return 5;
  } catch (const std::exception& error) {
    std::fprintf(stderr,
                 "paceline: this is a bug in Paceline: %s; please report it with the command line "
                 "and the run's folder\n",
                 error.what());
    return kBug;
  }
}

}  // namespace paceline::cli
