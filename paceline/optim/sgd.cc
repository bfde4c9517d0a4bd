#include "paceline/optim/sgd.h"

#include "paceline/base/check.h"
#include "paceline/optim/vector_clones.h"

namespace paceline::optim {
namespace {

struct Factors {
  float lr, momentum, weight_decay;
};

PACELINE_VECTOR_CLONES
void plain(float* __restrict w, const float* __restrict gradient, std::size_t size, Factors f) {
  for (std::size_t i = 0; i < size; ++i) {
    const float d = gradient[i] + f.weight_decay * w[i];
    w[i] -= f.lr * d;
  }
}

PACELINE_VECTOR_CLONES
void with_momentum(float* __restrict w, float* __restrict velocity,
                   const float* __restrict gradient, std::size_t size, Factors f) {
  for (std::size_t i = 0; i < size; ++i) {
    const float d = gradient[i] + f.weight_decay * w[i];
    const float v = f.momentum * velocity[i] + d;
    velocity[i] = v;
    w[i] -= f.lr * v;
  }
}

PACELINE_VECTOR_CLONES
void with_nesterov(float* __restrict w, float* __restrict velocity,
                   const float* __restrict gradient, std::size_t size, Factors f) {
  for (std::size_t i = 0; i < size; ++i) {
    const float d = gradient[i] + f.weight_decay * w[i];
    const float v = f.momentum * velocity[i] + d;
    velocity[i] = v;
    w[i] -= f.lr * (d + f.momentum * v);
  }
}

PACELINE_VECTOR_CLONES
void with_scaled(float* __restrict w, float* __restrict velocity, const float* __restrict gradient,
                 std::size_t size, Factors f, Momentum m) {
  for (std::size_t i = 0; i < size; ++i) {
    const float d = gradient[i] + f.weight_decay * w[i];
    const float v = velocity[i];
    velocity[i] = m.kept * v + m.entered * d;
    w[i] -= f.lr * (m.carried * v + m.displaced * d);
  }
}

}  // namespace

SGD::SGD(const OptimizerConfig& config, std::size_t size)
    : size_(size),
      momentum_(static_cast<float>(config.momentum)),
      weight_decay_(static_cast<float>(config.weight_decay)),
      nesterov_(config.nesterov),
      velocity_(config.momentum > 0 ? size : 0) {}

void SGD::step(std::span<float> parameters, std::span<const float> gradient, float lr,
               const Momentum* momentum) {
  PACELINE_CHECK(parameters.size() == size_, "the shard has the optimizer's size");
  PACELINE_CHECK(gradient.size() == size_, "the gradient has the shard's size");
  const Factors factors{lr, momentum_, weight_decay_};
  if (velocity_.empty()) {
    plain(parameters.data(), gradient.data(), size_, factors);
  } else if (momentum != nullptr) {
    with_scaled(parameters.data(), velocity_.data(), gradient.data(), size_, factors, *momentum);
  } else if (nesterov_) {
    with_nesterov(parameters.data(), velocity_.data(), gradient.data(), size_, factors);
  } else {
    with_momentum(parameters.data(), velocity_.data(), gradient.data(), size_, factors);
  }
}

std::vector<std::span<float>> SGD::state() {
  if (velocity_.empty()) return {};
  return {velocity_};
}

}  // namespace paceline::optim
