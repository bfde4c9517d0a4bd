// Is the contract kept, and how does it compare?
#include <cstdio>
#include <ctime>
#include <memory>

#include "backup.h"
#include "paceline/sim/compare.h"
#include "paceline/sync/contract.h"

using namespace paceline;

namespace {

// This program's thread does everything.
const sim::Machine kMachine{
    .run_all =
        [](std::size_t count, const std::function<void(std::size_t)>& work) {
          for (std::size_t i = 0; i < count; ++i) work(i);
        },
    .processor_seconds = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }};

sim::ClusterSpec profile(std::string_view name) {
  for (const sim::ClusterSpec& cluster : sim::profiles()) {
    if (cluster.name == name) return cluster;
  }
  return sim::equal_cluster(8);
}

int fail_with(const Error& error) {
  std::fprintf(stderr, "%s\n", to_string(error).c_str());
  return 1;
}

}  // namespace

int main() {
  const auto make = [] { return std::make_unique<sync::Backup>(1); };
  if (const Status kept = sync::check_contract(make); !kept) return fail_with(kept.error());
  std::puts("the contract is kept");

  const sim::Experiment experiment{.cluster = profile("one_slow_of_eight"),
                                   .candidates = {{"bsp", {}}, {"backup:1", make}, {"asp", {}}},
                                   .steps = 200};
  const auto comparison = sim::compare(experiment, kMachine);
  if (!comparison) return fail_with(comparison.error());
  for (const sim::PolicyOutcome& policy : comparison->policies) {
    const sim::Outcome& outcome = policy.outcomes.front();
    const double rate = static_cast<double>(outcome.pushes) / outcome.seconds;
    const std::string bar(static_cast<std::size_t>(2.5 * rate), '#');
    std::printf("%-10s %5.2f steps/s  %s\n", policy.policy.c_str(), rate, bar.c_str());
  }
  std::printf("decisions of backup:1: %.16s\n",
              comparison->policies[1].outcomes.front().decisions_sha256.c_str());
  return 0;
}
