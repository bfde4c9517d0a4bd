#pragma once

#include <cstdint>
#include <functional>

#include "paceline/train/task.h"

namespace paceline::train {

struct RunInfo {
  std::uint64_t seed = 1;  // run.seed, the same for all processes of a run
  bool evaluate = false;   // this process measures: Task::evaluate is wanted, and only that
};

// The main function of a worker with a model and data of one's own; `paceline train` starts it
// where the configuration says model.program. Everything random in `make` must follow from the
// seed: all workers begin alike. Exceptions of LibTorch end the process with a word.
//
//   int main(int argc, char** argv) {
//     return paceline::train::worker_main(argc, argv, [](const paceline::train::RunInfo& run) {
//       torch::manual_seed(run.seed);
//       return paceline::train::make_task(net, samples, loss);
//     });
//   }
int worker_main(int argc, char** argv, const std::function<Task(const RunInfo&)>& make);

}  // namespace paceline::train
