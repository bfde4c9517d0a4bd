// A worker with a model and data of its own: does a point lie in the circle? run.toml names it.
#include "paceline/train/worker_main.h"

using namespace paceline::train;

Task make(const RunInfo& run) {
  torch::manual_seed(run.seed);  // all workers begin alike
  const torch::Tensor x = torch::randn({20000, 2});
  const torch::Tensor y = (x.square().sum(1) < 1.4).to(torch::kLong);
  torch::nn::Sequential net(torch::nn::Linear(2, 32), torch::nn::ReLU(), torch::nn::Linear(32, 2));

  // The first 16,000 points are trained on: the mean loss over some of their rows.
  Task task = make_task(net, 16000, [=](auto& model, const torch::Tensor& rows) {
    return torch::cross_entropy_loss(model.forward(x.index_select(0, rows)),
                                     y.index_select(0, rows));
  });
  // The others are the evaluator's.
  task.evaluate = [=]() mutable -> paceline::roles::EvaluationResult {
    const torch::Tensor out = net->forward(x.slice(0, 16000)), truth = y.slice(0, 16000);
    return {.accuracy = (out.argmax(1) == truth).to(torch::kDouble).mean().item<double>(),
            .loss = torch::cross_entropy_loss(out, truth).item<double>()};
  };
  return task;
}

int main(int argc, char** argv) { return worker_main(argc, argv, make); }
