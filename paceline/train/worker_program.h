#pragma once

#include <functional>
#include <memory>

#include "paceline/base/result.h"
#include "paceline/node/role_process.h"

namespace paceline::train {

struct WorkerProgram {
  std::function<Result<node::WorkerParts>(const node::Config&)> make_worker;
  std::function<Result<std::unique_ptr<roles::Evaluation>>(const node::Config&)> make_evaluation;
};

// The main function of a program that `paceline train` starts as worker or evaluator, whatever it
// computes gradients with: reads the command line, runs the role, returns the exit code.
int run_worker_program(int argc, char** argv, const WorkerProgram& program);

}  // namespace paceline::train
