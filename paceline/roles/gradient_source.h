#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "paceline/base/bytes.h"
#include "paceline/base/result.h"

namespace paceline::roles {

// One gradient that is asked for: which samples, with which parameters, and where it goes.
struct GradientTask {
  // Indices into the training set, in order: [batch].
  std::vector<std::uint64_t> samples;
  // The flat parameter vector in shards, float32, in the order of the model's parameter names.
  std::vector<std::span<const float>> parameters;
  // Where the gradient of the mean loss over the samples is written: shards of the same sizes.
  std::vector<std::span<float>> gradient;
};

struct GradientResult {
  float loss = 0;  // mean over the samples, before the update
};

// Parameters in, gradient out. train/ implements it with LibTorch; the simulator and tests with a
// few lines, so that the roles train for real without LibTorch in sight.
class GradientSource {
 public:
  virtual ~GradientSource() = default;
  // Floats in the flat parameter vector.
  virtual std::uint64_t parameter_count() const = 0;
  // The parameters that a run with this seed begins with: float32 [parameter_count].
  virtual void initial_parameters(std::span<float> parameters) = 0;
  virtual Result<GradientResult> gradient(const GradientTask& task) = 0;
};

struct EvaluationResult {
  double accuracy = 0;  // share of the test set that is right, 0..1
  double loss = 0;      // mean
};

// Measures parameters on data that is never trained on.
class Evaluation {
 public:
  virtual ~Evaluation() = default;
  virtual std::uint64_t parameter_count() const = 0;
  virtual Result<EvaluationResult> evaluate(std::span<const float> parameters) = 0;
};

}  // namespace paceline::roles
