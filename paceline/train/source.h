#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "paceline/base/result.h"
#include "paceline/roles/gradient_source.h"
#include "paceline/train/model.h"
#include "paceline/train/task.h"

// The border to LibTorch: its exceptions end here and become errors.
namespace paceline::train {

// Gradients of a task. To be used by one thread at a time.
class TorchSource final : public roles::GradientSource {
 public:
  static Result<std::unique_ptr<TorchSource>> create(Task task);

  std::uint64_t parameter_count() const override { return view_.size(); }
  void initial_parameters(std::span<float> parameters) override;
  Result<roles::GradientResult> gradient(const roles::GradientTask& task) override;

 private:
  explicit TorchSource(Task task);
  Status check(const roles::GradientTask& task) const;

  Task task_;
  FlatView view_;
  std::vector<float> initial_;
};

class TorchEvaluation final : public roles::Evaluation {
 public:
  static Result<std::unique_ptr<TorchEvaluation>> create(Task task);

  std::uint64_t parameter_count() const override { return view_.size(); }
  Result<roles::EvaluationResult> evaluate(std::span<const float> parameters) override;

 private:
  explicit TorchEvaluation(Task task);

  Task task_;
  FlatView view_;
};

}  // namespace paceline::train
