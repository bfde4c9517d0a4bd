#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "paceline/base/result.h"
#include "paceline/optim/optimizer.h"
#include "paceline/roles/gradient_source.h"

namespace paceline::train {

// Training in one thread, without servers or network: what distributed runs are compared with. On
// the same batches it makes the very bits that BSP makes.
class SerialTrainer {
 public:
  // source: outlives the trainer.
  static Result<SerialTrainer> create(roles::GradientSource& source,
                                      const optim::OptimizerConfig& config);

  // One update with the mean of the gradients of these batches of samples, summed in this order.
  // Returns the mean of their losses. lr: what the update moves with (optim::effective_lr).
  Result<float> update(std::span<const std::vector<std::uint64_t>> batches, float lr);

  std::span<const float> parameters() const { return parameters_; }
  // Of the parameters as little-endian float32: the param_sha256 of a run's summary.
  std::string parameters_sha256() const;

 private:
  SerialTrainer(roles::GradientSource& source, std::unique_ptr<optim::Optimizer> optimizer);

  roles::GradientSource* source_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::vector<float> parameters_;
  std::vector<float> mean_;
  std::vector<std::vector<float>> gradients_;  // one a batch, kept between updates
};

}  // namespace paceline::train
