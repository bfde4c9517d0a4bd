#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/base/result.h"
#include "paceline/roles/gradient_source.h"
#include "paceline/train/catalog.h"
#include "paceline/train/data.h"

// Real gradients without LibTorch, for the laboratory: those of the catalogue's models that are
// dense layers alone, by Eigen. Parameters, initial values, images and loss are TorchSource's.
//
// Like there, numbers that are not finite go through: a run that diverges has a loss of NaN and
// goes on.
namespace paceline::train {

// Whether the model, for such images, is made of Flatten, Dense and Relu alone.
bool is_native(std::string_view model, const Shape& image, std::int64_t classes);

class DenseNetwork;  // native_source.cc

// To be used by one thread at a time; any number may share the data.
class NativeSource final : public roles::GradientSource {
 public:
  // Code::InvalidArgument for a model that is not native, or data that does not hold what it says.
  static Result<std::unique_ptr<NativeSource>> create(std::string_view model,
                                                      std::shared_ptr<const Dataset> train,
                                                      std::uint64_t seed);
  ~NativeSource() override;

  std::uint64_t parameter_count() const override;
  void initial_parameters(std::span<float> parameters) override;
  Result<roles::GradientResult> gradient(const roles::GradientTask& task) override;

 private:
  NativeSource(std::unique_ptr<DenseNetwork> network, std::vector<Parameter> parameters,
               std::uint64_t seed);

  std::unique_ptr<DenseNetwork> network_;
  std::vector<Parameter> parameters_;
  std::uint64_t seed_;
};

class NativeEvaluation final : public roles::Evaluation {
 public:
  static Result<std::unique_ptr<NativeEvaluation>> create(std::string_view model,
                                                          std::shared_ptr<const Dataset> test);
  ~NativeEvaluation() override;

  std::uint64_t parameter_count() const override;
  Result<roles::EvaluationResult> evaluate(std::span<const float> parameters) override;

 private:
  explicit NativeEvaluation(std::unique_ptr<DenseNetwork> network);

  std::unique_ptr<DenseNetwork> network_;
};

// What one thread of the laboratory trains with.
struct Sources {
  std::unique_ptr<roles::GradientSource> gradients;
  std::unique_ptr<roles::Evaluation> evaluation;
};
// May be called from several threads; all that it makes share the data. seed: of the initial
// parameters.
using SourcesFactory = std::function<Result<Sources>(std::uint64_t seed)>;

// Reads the data. path: as load() takes it.
Result<SourcesFactory> native_sources(std::string_view model, std::string_view data,
                                      const std::string& path);

}  // namespace paceline::train
