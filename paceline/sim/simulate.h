#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "paceline/roles/gradient_source.h"
#include "paceline/roles/run_stats.h"
#include "paceline/sim/scenario.h"

namespace paceline::sim {

struct ProcessEnd {
  NodeId node;
  std::uint64_t life = 0;
  int exit_code = 0;  // -9: killed
  std::string why;
  Time at{};
  bool operator==(const ProcessEnd&) const = default;
};

struct SimResult {
  std::string failure;  // empty: every promise was kept. Else the promise by number, and what broke
  std::uint64_t hash = 0;  // of all events: the same scenario gives the same hash
  std::uint64_t events = 0;
  Time ended{};  // virtual

  int exit_code = -1;  // of the coordinator; -1: it did not end
  std::string why;
  roles::RunStats stats;
  std::vector<std::string> decisions;  // the lines of decisions.jsonl
  std::vector<std::string> log;        // "   1.234567 worker 2: ..."
  std::vector<ProcessEnd> ends;        // in the order in which they ended
  std::vector<float> parameters;       // at the end, if it ended with 0

  std::uint64_t lost_messages = 0;
  std::uint64_t link_breaks = 0;
  bool operator==(const SimResult&) const = default;
};

struct SimOptions {
  roles::GradientSource* source = nullptr;  // null: a Bowl
  bool keep_log = false;                    // also every message
};

// Runs the roles on virtual time, with the checkers (checkers.h) after every event; stops at the
// first broken promise.
SimResult run(const Scenario& scenario, const SimOptions& options = {});

}  // namespace paceline::sim
