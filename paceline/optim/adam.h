#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "paceline/optim/optimizer.h"

// Adam and AdamW, as torch.optim's without amsgrad.
//
// Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, algorithm 1;
// Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2.
//   adam:  g <- gradient + weight_decay w
//   adamw: g <- gradient,  w <- (1 - lr weight_decay) w
//   m <- beta1 m + (1 - beta1) g,  v <- beta2 v + (1 - beta2) g^2
//   w <- w - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps),  t = 1, 2, ...
// What depends on t alone is computed in double, once a step.
namespace paceline::optim {

class Adam final : public Optimizer {
 public:
  // config: checked; its name says which of the two.
  Adam(const OptimizerConfig& config, std::size_t size);

  void step(std::span<float> parameters, std::span<const float> gradient, float lr,
            const Momentum* momentum = nullptr) override;
  // m [size], v [size], t [1].
  std::vector<std::span<float>> state() override;

 private:
  std::size_t size_;
  double beta1_;
  double beta2_;
  float eps_;
  double weight_decay_;
  bool decoupled_;
  std::vector<float> mean_;         // m
  std::vector<float> mean_square_;  // v
  // t, a float as all state is. It stands still at 2^24, where both corrections have long been 1.
  std::vector<float> steps_;
};

}  // namespace paceline::optim
