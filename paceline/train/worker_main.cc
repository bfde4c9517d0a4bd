#include "paceline/train/worker_main.h"

#include <exception>
#include <utility>

#include "paceline/base/text.h"
#include "paceline/train/source.h"
#include "paceline/train/worker_program.h"

namespace paceline::train {
namespace {

Result<Task> made(const std::function<Task(const RunInfo&)>& make, const RunInfo& info) {
  try {
    return make(info);
  } catch (const std::exception& error) {
    return fail(Code::InvalidArgument, cat("the task was not made: ", error.what()));
  }
}

}  // namespace

int worker_main(int argc, char** argv, const std::function<Task(const RunInfo&)>& make) {
  const auto make_worker = [&make](const node::Config& config) -> Result<node::WorkerParts> {
    auto task = made(make, {config.run.seed, false});
    if (!task) return fail(task.error());
    const std::uint64_t samples = task->samples;
    auto source = TorchSource::create(std::move(*task));
    if (!source) return fail(source.error());
    return node::WorkerParts{std::move(*source), samples};
  };
  const auto make_evaluation =
      [&make](const node::Config& config) -> Result<std::unique_ptr<roles::Evaluation>> {
    auto task = made(make, {config.run.seed, true});
    if (!task) return fail(task.error());
    auto evaluation = TorchEvaluation::create(std::move(*task));
    if (!evaluation) return fail(evaluation.error());
    return std::move(*evaluation);
  };
  return run_worker_program(argc, argv, {make_worker, make_evaluation});
}

}  // namespace paceline::train
