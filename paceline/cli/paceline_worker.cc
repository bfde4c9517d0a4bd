// The program paceline-worker: a worker of a run, or its evaluator. The only one with LibTorch;
// `paceline train` starts it. With --laboratory, `paceline sim` and `paceline advise` on models
// that need LibTorch.

#include <string_view>
#include <utility>

#include "paceline/cli/app.h"
#include "paceline/train/builtin.h"
#include "paceline/train/data.h"
#include "paceline/train/process.h"
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

Result<cli::SourcesFactory> torch_sources(const node::Config& config) {
  return cli::SourcesFactory{[config](std::uint64_t seed) -> Result<sim::Sources> {
    train::Builtin builtin = builtin_of(config);
    builtin.seed = seed;
    auto gradients = train::make_source(builtin);
    if (!gradients) return fail(gradients.error());
    auto evaluation = train::make_evaluation(builtin);
    if (!evaluation) return fail(evaluation.error());
    return sim::Sources{std::move(*gradients), std::move(*evaluation)};
  }};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--laboratory") {
    train::prepare_process();
    return cli::run_program(argc - 1, argv + 1, {.torch_sources = torch_sources});
  }
  return train::run_worker_program(argc, argv, {make_worker, make_evaluation});
}
