#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "paceline/base/result.h"
#include "paceline/node/checkpoint.h"
#include "paceline/node/config.h"
#include "paceline/roles/gradient_source.h"

// The processes that `paceline train` starts, from their first line to their exit code. Two
// threads, or three: the main thread hears signals and the launcher; the loop owns the role; a
// worker computes in a third. The launcher's lines are in job.h.
namespace paceline::node {

// The tensors of a run's model, in the order of the flat vector; empty if it is not known.
using LayoutOf = std::function<std::vector<TensorLayout>(const Config&)>;

// folder: of the run; its config.toml is the completed one.
int run_coordinator(const std::string& folder, const LayoutOf& layout);
int run_server(const std::string& folder, std::uint32_t index);

struct WorkerParts {
  std::unique_ptr<roles::GradientSource> source;
  std::uint64_t dataset_size = 0;  // training samples
};
int run_worker(const std::string& folder, std::uint32_t index,
               const std::function<Result<WorkerParts>(const Config&)>& make);
int run_evaluator(
    const std::string& folder,
    const std::function<Result<std::unique_ptr<roles::Evaluation>>(const Config&)>& make);

}  // namespace paceline::node
