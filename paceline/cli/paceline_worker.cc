// The program paceline-worker: a worker of a run, or its evaluator. The only one with LibTorch;
// `paceline train` starts it.

#include <utility>

#include "paceline/train/builtin.h"
#include "paceline/train/data.h"
#include "paceline/train/worker_program.h"

namespace {

using namespace paceline;

train::Builtin builtin_of(const node::Config& config) {
  return {.model = config.model.name,
          .data = config.data.name,
          .path = config.data.path,
          .seed = config.run.seed};
}

Result<node::WorkerParts> make_worker(const node::Config& config) {
  const auto data = train::find_data(config.data.name);
  if (!data) return fail(data.error());
  auto source = train::make_source(builtin_of(config));
  if (!source) return fail(source.error());
  return node::WorkerParts{std::move(*source), (*data)->train_samples};
}

Result<std::unique_ptr<roles::Evaluation>> make_evaluation(const node::Config& config) {
  return train::make_evaluation(builtin_of(config));
}

}  // namespace

int main(int argc, char** argv) {
  return train::run_worker_program(argc, argv, {make_worker, make_evaluation});
}
