#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include <torch/torch.h>

#include "paceline/base/result.h"
#include "paceline/train/catalog.h"
#include "paceline/train/data.h"

namespace paceline::train {

// A catalogue's model as a LibTorch module, made of the same layers that the catalogue counts.
//
// Batch norm: weights and biases are parameters and travel; running means and variances are
// neither. They stay in each worker, which never reads them: training normalises by the batch, so a
// gradient depends on parameters and samples alone. Whoever measures a model computes them anew
// (recompute_statistics), from the very parameters that are measured.
//
// Convolutions run channels-last, which is the faster layout on a CPU. The flat parameter vector
// does not show it: there every weight is [out, in, height, width].
class CatalogModule final : public torch::nn::Module {
 public:
  explicit CatalogModule(std::span<const Layer> layers);
  // images: float32 [n, channels, height, width]. Returns logits [n, classes].
  torch::Tensor forward(torch::Tensor images);

  // One layer, ready to run.
  struct Step {
    Layer layer;
    std::variant<std::monostate, torch::nn::Conv2d, torch::nn::Linear, torch::nn::BatchNorm2d>
        module;
    std::vector<Step> body;
  };

 private:
  std::vector<Step> make(std::span<const Layer> layers);

  std::vector<Step> steps_;
};

// Parameters as train::initialise gives them from the seed.
Result<std::shared_ptr<CatalogModule>> make_module(std::string_view name, const Shape& image,
                                                   std::int64_t classes, std::uint64_t seed);

// Batch norm's running statistics as the plain mean over batches of these images, passed through
// in training mode. Leaves the module in evaluation mode.
void recompute_statistics(CatalogModule& module, std::span<const torch::Tensor> batches);

// The flat parameter vector of any module: parameters in the order they are registered, each in
// its logical order whatever its memory format. It may come cut into shards anywhere. The module
// must outlive the view; throws as LibTorch does.
class FlatView {
 public:
  explicit FlatView(torch::nn::Module& module);
  std::uint64_t size() const { return size_; }
  // shards: `size` floats in all.
  void set_parameters(std::span<const std::span<const float>> shards);
  void get_parameters(std::span<float> flat) const;
  // A parameter without a gradient has zeros.
  void get_gradient(std::span<const std::span<float>> shards) const;
  void drop_gradient();

 private:
  std::vector<torch::Tensor> parameters_;
  std::uint64_t size_ = 0;
};

// A data set as tensors: batches come out normalised.
class TensorData {
 public:
  explicit TensorData(Dataset data);
  std::uint64_t size() const { return data_.size(); }
  // indices: int64 [n], each < size. Returns float32 [n, channels, height, width].
  torch::Tensor images(const torch::Tensor& indices) const;
  torch::Tensor labels(const torch::Tensor& indices) const;  // int64 [n]

 private:
  Dataset data_;
  torch::Tensor images_;  // views of data_
  torch::Tensor labels_;
  torch::Tensor scale_;
  torch::Tensor shift_;
};

}  // namespace paceline::train
