#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The commands of `paceline`, each a function in cmd_NAME.cc from its parsed options to the exit
// code. main.cc declares the options.
namespace paceline::cli {

struct ConfigArgs {
  std::string config;            // CONFIG.toml
  std::vector<std::string> set;  // "a.b=value"
  std::optional<std::string> sync;
  std::optional<std::string> code;
  bool json = false;
};
struct TrainArgs : ConfigArgs {
  std::string report;  // empty: only in the run's folder
};
struct CheckArgs : ConfigArgs {
  bool keys = false;  // prints the table of keys instead
};
// Of the processes that `train` starts.
struct RoleArgs {
  std::string folder;       // of the run; its config.toml is the completed one
  std::uint32_t index = 0;  // of a server
};
struct ListArgs {
  bool json = false;
};
struct ZiplineArgs {
  std::string file;
  bool json = false;
};
struct RunsArgs {
  std::string dir = "runs";
  bool json = false;
};
struct ShowArgs {
  std::string run = "latest";
  std::string dir = "runs";
  bool json = false;
};
struct ReplayArgs {
  std::string run = "latest";
  std::string dir = "runs";
  bool simulate = false;  // the configuration too
  bool json = false;
};
struct ReportArgs {
  std::vector<std::string> runs;
  std::string dir = "runs";
  std::string output = "report.html";
  bool json = false;
};

// Of the laboratory's commands: a cluster, and what is simulated on it.
struct LabArgs {
  std::string cluster;                   // a profile, a file, a run; empty: `workers` equal ones
  std::optional<std::uint32_t> workers;  // null: the configuration's, or kDefaultWorkers
  ConfigArgs train;                      // config empty: nothing is trained
  std::optional<std::uint64_t> steps;
  std::optional<double> seconds;
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;
  std::uint32_t jobs = 0;  // threads; 0: as many as processors
  bool json = false;
};
inline constexpr const char* kReportFile = "comparison.html";
struct SimArgs : LabArgs {
  std::string compare = "bsp,asp,ssp:3,dssp:3-15,elastic_bsp:15";
  std::string decisions;  // FILE.jsonl; empty: none
  std::string report;     // FILE.html; empty: kReportFile, if it can be written
  bool no_report = false;
  std::string pictures;  // folder of .svg files; empty: none
};
struct AdviseArgs : LabArgs {
  std::string compare;           // empty: those that are worth a try
  std::optional<double> target;  // accuracy
  std::string report;            // FILE.html; empty: none
};

struct Laboratory;  // laboratory.h

int cmd_sim(const SimArgs& args, const Laboratory& laboratory);
int cmd_advise(const AdviseArgs& args, const Laboratory& laboratory);
int cmd_train(const TrainArgs& args);
int cmd_coordinator(const RoleArgs& args);
int cmd_server(const RoleArgs& args);
int cmd_check(const CheckArgs& args);
int cmd_policies(const ListArgs& args);
int cmd_codes(const ListArgs& args);
int cmd_models(const ListArgs& args);
int cmd_datasets(const ListArgs& args);
int cmd_zipline(const ZiplineArgs& args);
int cmd_runs(const RunsArgs& args);
int cmd_show(const ShowArgs& args);
int cmd_replay(const ReplayArgs& args);
int cmd_report(const ReportArgs& args);

}  // namespace paceline::cli
