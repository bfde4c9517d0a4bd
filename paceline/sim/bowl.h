#pragma once

#include <cstdint>
#include <span>

#include "paceline/roles/gradient_source.h"

namespace paceline::sim {

// Something to train without a model: each sample has a target drawn from its index, the loss is
// half the squared distance of the parameters to it. Cheap, the same bits on every machine, and
// different for every sample, so that one gradient in a wrong place shows in the parameters.
class Bowl final : public roles::GradientSource {
 public:
  explicit Bowl(std::uint64_t parameter_count) : parameter_count_(parameter_count) {}
  std::uint64_t parameter_count() const override { return parameter_count_; }
  void initial_parameters(std::span<float> parameters) override;
  Result<roles::GradientResult> gradient(const roles::GradientTask& task) override;

  // In (0, 1], 1 at the bottom of the bowl.
  static double accuracy(std::span<const float> parameters);

 private:
  std::uint64_t parameter_count_;
};

}  // namespace paceline::sim
