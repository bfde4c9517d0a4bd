#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "paceline/optim/optimizer.h"

// Stochastic gradient descent with momentum, as torch.optim.SGD with dampening 0.
//
// Source: Sutskever et al., "On the importance of initialization and momentum in deep learning",
// ICML 2013, in PyTorch's form, where the velocity holds no learning rate:
//   d <- gradient + weight_decay w,  v <- momentum v + d,
//   w <- w - lr v, or with Nesterov  w <- w - lr (d + momentum v).
// PyTorch begins with v = d; so does this, v being 0 at first. A Momentum (momentum.h) given with a
// step stands for the last two lines.
namespace paceline::optim {

class SGD final : public Optimizer {
 public:
  // config: checked.
  SGD(const OptimizerConfig& config, std::size_t size);

  void step(std::span<float> parameters, std::span<const float> gradient, float lr,
            const Momentum* momentum = nullptr) override;
  // The velocity [size]; nothing without momentum.
  std::vector<std::span<float>> state() override;

 private:
  std::size_t size_;
  float momentum_;
  float weight_decay_;
  bool nesterov_;
  std::vector<float> velocity_;  // [size]; empty without momentum
};

}  // namespace paceline::optim
