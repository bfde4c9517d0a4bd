#pragma once

#include <functional>
#include <string>
#include <vector>

#include "paceline/base/result.h"
#include "paceline/cli/commands.h"
#include "paceline/node/config.h"
#include "paceline/sim/compare.h"

// What `sim` and `advise` have in common: the cluster and the training of a command line, the
// machine that simulates, and the way to LibTorch.
namespace paceline::cli {

using SourcesFactory = std::function<Result<sim::Sources>(std::uint64_t seed)>;

// How this program trains what needs LibTorch. `paceline` cannot: it hands over to paceline-worker.
struct Laboratory {
  std::vector<std::string> words;  // the command line, for handing over
  // null: not here.
  std::function<Result<SourcesFactory>(const node::Config&)> torch_sources;
};

// What is to be simulated, but for the candidates. Models that need LibTorch are handed over to
// paceline-worker, and this process becomes that one.
// fallback: a configuration's text, for a command that trains even if no --train is given.
Result<sim::Experiment> make_experiment(const LabArgs& args, const Laboratory& laboratory,
                                        const char* fallback = nullptr);

// args.jobs threads; 0: as many as there are processors.
sim::Machine make_machine(const LabArgs& args);

std::vector<std::string> cluster_names();

}  // namespace paceline::cli
