#include "paceline/train/serial.h"

#include <bit>
#include <cstddef>
#include <utility>

#include "paceline/base/hash.h"
#include "paceline/optim/mean.h"

namespace paceline::train {

static_assert(std::endian::native == std::endian::little, "parameters are hashed as they lie");

SerialTrainer::SerialTrainer(roles::GradientSource& source,
                             std::unique_ptr<optim::Optimizer> optimizer)
    : source_(&source),
      optimizer_(std::move(optimizer)),
      parameters_(source.parameter_count()),
      mean_(parameters_.size()) {
  source.initial_parameters(parameters_);
}

Result<SerialTrainer> SerialTrainer::create(roles::GradientSource& source,
                                            const optim::OptimizerConfig& config) {
  auto optimizer = optim::make_optimizer(config, source.parameter_count());
  if (!optimizer) return fail(optimizer.error());
  return SerialTrainer(source, std::move(*optimizer));
}

Result<float> SerialTrainer::update(std::span<const std::vector<std::uint64_t>> batches, float lr) {
  if (batches.empty()) return fail(Code::InvalidArgument, "an update of no batches");
  while (gradients_.size() < batches.size()) gradients_.emplace_back(parameters_.size());
  std::vector<std::span<const float>> parts;
  float loss = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const auto result = source_->gradient(
        {.samples = batches[i], .parameters = {parameters_}, .gradient = {gradients_[i]}});
    if (!result) return fail(result.error());
    loss += result->loss;
    parts.emplace_back(gradients_[i]);
  }
  optim::mean_into(mean_, parts);
  optimizer_->step(parameters_, mean_, lr);
  return loss / static_cast<float>(batches.size());
}

std::string SerialTrainer::parameters_sha256() const {
  return sha256_hex(std::as_bytes(std::span(parameters_)));
}

}  // namespace paceline::train
