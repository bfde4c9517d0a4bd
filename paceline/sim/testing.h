#pragma once

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paceline/sim/scenario.h"
#include "paceline/sim/simulate.h"

// For tests only: a cluster to change one thing of.
namespace paceline::sim::testing {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline const char* const kPolicies[] = {
    "bsp", "asp", "ssp:2", "dssp:1-4", "dssp_literal:1-4", "elastic_bsp:6"};

// Four workers, the last one three times slower, two servers, 60 batches of 4.
inline Scenario plain(const std::string& policy) {
  Scenario scenario;
  scenario.policy = policy;
  scenario.run.workers = 4;
  scenario.run.servers = 2;
  scenario.run.samples = 240;
  scenario.run.batch_size = 4;
  scenario.dataset_size = 100;
  scenario.speeds = {{.step = milliseconds(60), .jitter = 0.1},
                     {.step = milliseconds(60)},
                     {.step = milliseconds(60)},
                     {.step = milliseconds(180)}};
  return scenario;
}

// Every promise kept, and the end with 0.
inline SimResult run_well(const Scenario& scenario) {
  SimResult result = run(scenario);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.exit_code, 0) << result.why;
  return result;
}

inline std::uint64_t steps_of(const SimResult& result, std::uint32_t worker) {
  return result.stats.workers.at(worker).steps;
}

}  // namespace paceline::sim::testing
