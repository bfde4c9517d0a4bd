#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <torch/torch.h>

#include "paceline/roles/gradient_source.h"

namespace paceline::train {

// What a worker trains: a module, and the loss that it has on samples of a training set. Made by
// make_task, for one's own module and data as for the catalogue's.
struct Task {
  // Its parameters, in the order they are registered, are the flat vector that travels; as they
  // are when the task is handed over, they are what a run begins with. So seed before making it
  // (torch::manual_seed), the same for all workers.
  std::shared_ptr<torch::nn::Module> module;
  std::uint64_t samples = 0;  // size of the training set
  // The mean loss over the samples, a scalar to differentiate. indices: int64 [n], each < samples.
  // May depend on the module's parameters and the samples only: then equal seeds give equal runs.
  std::function<torch::Tensor(const torch::Tensor& indices)> loss;
  // Measures the module on test data; only an evaluator needs it. Gradients are off.
  std::function<roles::EvaluationResult()> evaluate = {};
};

// auto task = make_task(net, x.size(0), [=](Net& net, const torch::Tensor& indices) {
//   return torch::mse_loss(net.forward(x.index_select(0, indices)), y.index_select(0, indices));
// });
template <typename Module, typename Loss>
Task make_task(std::shared_ptr<Module> module, std::uint64_t samples, Loss loss) {
  return {.module = module,
          .samples = samples,
          .loss = [module, loss = std::move(loss)](const torch::Tensor& indices) {
            return loss(*module, indices);
          }};
}

template <typename Module, typename Loss>
Task make_task(const torch::nn::ModuleHolder<Module>& module, std::uint64_t samples, Loss loss) {
  return make_task(module.ptr(), samples, std::move(loss));
}

}  // namespace paceline::train
