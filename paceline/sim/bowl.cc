#include "paceline/sim/bowl.h"

#include "paceline/base/check.h"

namespace paceline::sim {
namespace {

// In [-1, 1), in steps of 2^-11, so that sums of some are exact in any order but means are not.
float target(std::uint64_t sample, std::uint64_t parameter) {
  std::uint64_t mix = sample * 0x9e3779b97f4a7c15U + parameter * 0xbf58476d1ce4e5b9U + 1;
  mix = (mix ^ (mix >> 30U)) * 0x94d049bb133111ebU;
  return static_cast<float>(static_cast<std::int64_t>(mix >> 52U) - 2048) / 2048.0F;
}

}  // namespace

void Bowl::initial_parameters(std::span<float> parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i] = 3.0F + static_cast<float>(i % 7) / 3.0F;
  }
}

Result<roles::GradientResult> Bowl::gradient(const roles::GradientTask& task) {
  PACELINE_CHECK(!task.samples.empty(), "a gradient of something");
  const auto count = static_cast<float>(task.samples.size());
  float loss = 0;
  std::uint64_t parameter = 0;
  for (std::size_t shard = 0; shard < task.parameters.size(); ++shard) {
    for (std::size_t i = 0; i < task.parameters[shard].size(); ++i, ++parameter) {
      float sum = 0;
      for (const std::uint64_t sample : task.samples) {
        const float distance = task.parameters[shard][i] - target(sample, parameter);
        sum += distance;
        loss += distance * distance;
      }
      task.gradient[shard][i] = sum / count;
    }
  }
  return roles::GradientResult{.loss = loss / count / 2};
}

double Bowl::accuracy(std::span<const float> parameters) {
  double sum = 0;
  for (const float w : parameters) sum += static_cast<double>(w) * static_cast<double>(w);
  return 1 / (1 + sum / static_cast<double>(parameters.size()));
}

}  // namespace paceline::sim
