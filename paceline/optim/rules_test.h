#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "paceline/base/random.h"
#include "paceline/base/text.h"
#include "paceline/optim/optimizer.h"

// What the tests of all update rules share.
namespace paceline::optim::testing {

// Nothing here is 1, 0 or a power of two: a factor left out or used twice must show.
inline OptimizerConfig plain_sgd() { return {.name = "sgd"}; }
inline OptimizerConfig decayed_sgd() { return {.name = "sgd", .weight_decay = 0.07}; }
inline OptimizerConfig momentum() {
  return {.name = "sgd", .momentum = 0.83, .weight_decay = 0.07};
}
inline OptimizerConfig nesterov() {
  return {.name = "sgd", .momentum = 0.83, .nesterov = true, .weight_decay = 0.07};
}
inline OptimizerConfig adam() {
  return {.name = "adam", .weight_decay = 0.07, .beta1 = 0.83, .beta2 = 0.97, .eps = 1e-3};
}
inline OptimizerConfig adamw() {
  return {.name = "adamw", .weight_decay = 0.07, .beta1 = 0.83, .beta2 = 0.97, .eps = 1e-3};
}
inline std::vector<OptimizerConfig> all_rules() {
  return {plain_sgd(), decayed_sgd(), momentum(), nesterov(), adam(), adamw()};
}

inline std::string name_of(const OptimizerConfig& config) {
  return cat(config.name, config.momentum > 0 ? "_momentum" : "",
             config.nesterov ? "_nesterov" : "", config.weight_decay > 0 ? "_decay" : "");
}

inline std::unique_ptr<Optimizer> make(const OptimizerConfig& config, std::size_t size) {
  auto made = make_optimizer(config, size);
  EXPECT_TRUE(made) << to_string(made.error());
  return std::move(*made);
}

// Uniform in [-1, 1).
inline std::vector<float> some_floats(Rng rng, std::size_t size) {
  std::vector<float> out(size);
  for (float& value : out) value = static_cast<float>(2 * rng.unit() - 1);
  return out;
}

// The rules once more, one number at a time as the papers write them.
// Rounded to float after each operation, in the order that the headers give; an operation a
// statement, so that no compiler may fuse two.
class DumbRule {
 public:
  explicit DumbRule(const OptimizerConfig& config) : config_(config) {}

  float step(float w, float gradient, float lr) {
    return config_.name == "sgd" ? sgd(w, gradient, lr) : adam(w, gradient, lr);
  }

 private:
  static float f(double value) { return static_cast<float>(value); }

  float sgd(float w, float gradient, float lr) {
    const float mu = f(config_.momentum);
    const float decayed = f(config_.weight_decay) * w;
    const float d = gradient + decayed;
    const float kept = mu * first_;
    first_ = kept + d;
    if (!config_.nesterov) {
      const float moved = lr * first_;
      return w - moved;
    }
    const float ahead = mu * first_;
    const float moved = lr * (d + ahead);
    return w - moved;
  }

  float adam(float w, float gradient, float lr) {
    ++steps_;
    const double power1 = std::pow(config_.beta1, steps_);
    const double power2 = std::pow(config_.beta2, steps_);
    const bool decoupled = config_.name == "adamw";
    const float decayed = f(config_.weight_decay) * w;
    const float g = decoupled ? gradient : gradient + decayed;
    if (decoupled) w = w * f(1 - lr * config_.weight_decay);
    const float old1 = f(config_.beta1) * first_;
    const float new1 = f(1 - config_.beta1) * g;
    first_ = old1 + new1;
    const float old2 = f(config_.beta2) * second_;
    const float square = g * g;
    const float new2 = f(1 - config_.beta2) * square;
    second_ = old2 + new2;
    const float root = std::sqrt(second_) * f(1 / std::sqrt(1 - power2));
    const float direction = first_ / (root + f(config_.eps));
    const float moved = f(lr / (1 - power1)) * direction;
    return w - moved;
  }

  OptimizerConfig config_;
  float first_ = 0;   // velocity, or mean
  float second_ = 0;  // mean square
  int steps_ = 0;
};

}  // namespace paceline::optim::testing

namespace paceline::optim {

// For GoogleTest, which else prints the bytes.
inline void PrintTo(const OptimizerConfig& config, std::ostream* out) {  // NOLINT: its name
  *out << testing::name_of(config);
}

}  // namespace paceline::optim
