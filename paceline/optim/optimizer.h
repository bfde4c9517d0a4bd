#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "paceline/base/result.h"
#include "paceline/optim/momentum.h"

namespace paceline::optim {

// The [optimizer] of a configuration, without the learning rate: that one belongs to the run
// (schedule.h) and comes with each step.
struct OptimizerConfig {
  std::string name = "sgd";  // sgd, adam, adamw
  double momentum = 0;       // sgd: 0 <= momentum < 1
  bool nesterov = false;     // sgd: look ahead along the momentum; needs one
  double weight_decay = 0;   // >= 0. sgd, adam: added to the gradient (L2); adamw: apart from it
  double beta1 = 0.9;        // adam, adamw: decay of the mean, 0 <= beta1 < 1
  double beta2 = 0.999;      // adam, adamw: decay of the mean square, 0 <= beta2 < 1
  double eps = 1e-8;         // adam, adamw: > 0

  bool operator==(const OptimizerConfig&) const = default;
};

// An update rule and its state for one shard of the flat parameter vector. Elementwise: a vector
// cut into shards moves bit for bit as the whole does, whatever the machine's vectors are.
// Not thread-safe: a shard has one owner.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One update, in place and in one pass over memory. parameters, gradient: [size], not
  // overlapping. The caller has checked what came over the wire: a wrong size is a bug.
  // momentum: instead of the configured one; null: that one. A rule without momentum ignores it.
  virtual void step(std::span<float> parameters, std::span<const float> gradient, float lr,
                    const Momentum* momentum = nullptr) = 0;

  // All that the next step depends on, for a checkpoint to read or to write back in place. The
  // number and sizes follow from config and size alone; the views live as long as the optimizer.
  virtual std::vector<std::span<float>> state() = 0;
};

// size: floats in the shard. Errors name the key: "optimizer.momentum".
Result<std::unique_ptr<Optimizer>> make_optimizer(const OptimizerConfig& config, std::size_t size);

// The check alone, for a program that has no shard.
Status check(const OptimizerConfig& config);

}  // namespace paceline::optim
