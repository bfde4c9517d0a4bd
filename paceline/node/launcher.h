#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "paceline/base/result.h"
#include "paceline/node/config.h"
#include "paceline/node/run_folder.h"
#include "paceline/roles/run_stats.h"

namespace paceline::node {

struct LaunchOptions {
  Config config;  // completed
  RunFolder folder;
  std::string paceline;        // the program with the coordinator and the servers
  std::string worker_program;  // the one with LibTorch
  std::chrono::steady_clock::time_point began;
  std::function<void(const roles::RunStats&)> on_figures;  // several a second
  std::function<void(const std::string&)> on_notice;       // something to tell the user now
};

struct LaunchResult {
  roles::RunStats stats;
  int exit_code = 0;
  std::optional<double> setup_seconds;
  std::optional<Error> error;  // why it did not end well
};

// A whole run on this host: starts coordinator, servers, workers and evaluator as processes, tells
// the coordinator which of them end, and waits for the run's end. When it returns, no process is
// left: who does not go in time is killed. Stops early at SIGINT and SIGTERM.
//
// To be called by the main thread of a program with one thread; blocks SIGINT, SIGTERM, SIGHUP and
// SIGCHLD from there on.
LaunchResult launch(const LaunchOptions& options);

}  // namespace paceline::node
