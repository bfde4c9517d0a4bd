#include "paceline/optim/adam.h"

#include <cmath>

#include "paceline/base/check.h"
#include "paceline/optim/vector_clones.h"

namespace paceline::optim {
namespace {

// Both rules in one loop: adam has shrink 1, adamw has l2 0.
struct Factors {
  float beta1, one_minus_beta1;
  float beta2, one_minus_beta2;
  float l2;           // times w, into the gradient
  float shrink;       // of w, before the step
  float step_size;    // lr / (1 - beta1^t)
  float root_factor;  // 1 / sqrt(1 - beta2^t)
  float eps;
};

PACELINE_VECTOR_CLONES
void update(float* __restrict w, float* __restrict mean, float* __restrict mean_square,
            const float* __restrict gradient, std::size_t size, Factors f) {
  for (std::size_t i = 0; i < size; ++i) {
    const float g = gradient[i] + f.l2 * w[i];
    const float m = f.beta1 * mean[i] + f.one_minus_beta1 * g;
    const float v = f.beta2 * mean_square[i] + f.one_minus_beta2 * (g * g);
    mean[i] = m;
    mean_square[i] = v;
    w[i] = w[i] * f.shrink - f.step_size * (m / (std::sqrt(v) * f.root_factor + f.eps));
  }
}

}  // namespace

Adam::Adam(const OptimizerConfig& config, std::size_t size)
    : size_(size),
      beta1_(config.beta1),
      beta2_(config.beta2),
      eps_(static_cast<float>(config.eps)),
      weight_decay_(config.weight_decay),
      decoupled_(config.name == "adamw"),
      mean_(size),
      mean_square_(size),
      steps_(1) {}

void Adam::step(std::span<float> parameters, std::span<const float> gradient, float lr,
                const Momentum*) {
  PACELINE_CHECK(parameters.size() == size_, "the shard has the optimizer's size");
  PACELINE_CHECK(gradient.size() == size_, "the gradient has the shard's size");
  steps_[0] += 1;
  const double t = steps_[0];
  const Factors factors{
      .beta1 = static_cast<float>(beta1_),
      .one_minus_beta1 = static_cast<float>(1 - beta1_),
      .beta2 = static_cast<float>(beta2_),
      .one_minus_beta2 = static_cast<float>(1 - beta2_),
      .l2 = decoupled_ ? 0.0F : static_cast<float>(weight_decay_),
      .shrink = decoupled_ ? static_cast<float>(1 - lr * weight_decay_) : 1.0F,
      .step_size = static_cast<float>(lr / (1 - std::pow(beta1_, t))),
      .root_factor = static_cast<float>(1 / std::sqrt(1 - std::pow(beta2_, t))),
      .eps = eps_,
  };
  update(parameters.data(), mean_.data(), mean_square_.data(), gradient.data(), size_, factors);
}

std::vector<std::span<float>> Adam::state() { return {mean_, mean_square_, steps_}; }

}  // namespace paceline::optim
