#include "paceline/train/model.h"

#include <algorithm>
#include <utility>

#include "paceline/base/check.h"
#include "paceline/base/text.h"

namespace paceline::train {
namespace {

namespace nn = torch::nn;
using torch::Tensor;

// LibTorch forbids dots in a module's name: "stage1.0.conv1" is conv1 in 0 in stage1.
nn::Module& parent_of(nn::Module& root, const std::vector<std::string_view>& path) {
  nn::Module* at = &root;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    const std::string name(path[i]);
    const auto children = at->named_children();
    at = children.contains(name) ? children[name].get()
                                 : at->register_module(name, std::make_shared<nn::Module>()).get();
  }
  return *at;
}

template <typename Holder>
Holder registered(nn::Module& root, const std::string& name, Holder holder) {
  const auto path = split(name, '.');
  parent_of(root, path).register_module(std::string(path.back()), holder);
  return holder;
}

Tensor shortcut(const Tensor& in, const Layer& layer) {
  Tensor out = in;
  if (layer.stride != 1) {
    out = out.slice(2, 0, in.size(2), layer.stride).slice(3, 0, in.size(3), layer.stride);
  }
  const std::int64_t more = layer.out.channels - layer.in.channels;
  if (more != 0) out = torch::constant_pad_nd(out, {0, 0, 0, 0, more / 2, more - more / 2});
  return out;
}

Tensor run(std::vector<CatalogModule::Step>& steps, Tensor x) {
  for (auto& step : steps) {
    const Layer& layer = step.layer;
    switch (layer.op) {
      case Op::Conv:
        x = std::get<nn::Conv2d>(step.module)->forward(x);
        break;
      case Op::Dense:
        x = std::get<nn::Linear>(step.module)->forward(x);
        break;
      case Op::BatchNorm:
        x = std::get<nn::BatchNorm2d>(step.module)->forward(x);
        break;
      case Op::Relu:
        x = x.relu_();  // no layer before a ReLU needs what it gave
        break;
      case Op::MaxPool:
        x = torch::max_pool2d(x, layer.kernel, layer.stride, layer.padding);
        break;
      case Op::MeanPool:
        x = x.mean({2, 3}, /*keepdim=*/true);
        break;
      case Op::Flatten:
        x = x.flatten(1);
        break;
      case Op::Residual:
        x = run(step.body, x) + shortcut(x, layer);
        break;
    }
  }
  return x;
}

// Calls visit(values, from, count) for each piece of each parameter that lies within one shard.
template <typename Shards, typename Visit>
void for_each_piece(const std::vector<Tensor>& parameters, const Shards& shards, Visit visit) {
  std::size_t shard = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto size = static_cast<std::size_t>(parameters[i].numel());
    for (std::size_t done = 0; done < size;) {
      while (at == shards[shard].size()) {
        ++shard;
        at = 0;
      }
      const std::size_t count = std::min(size - done, shards[shard].size() - at);
      visit(i, done, shards[shard].subspan(at, count));
      done += count;
      at += count;
    }
  }
}

// LibTorch has no tensors of constant values: it is up to the caller not to write.
Tensor view_of(std::span<const float> values) {
  return torch::from_blob(const_cast<float*>(values.data()),
                          {static_cast<std::int64_t>(values.size())}, torch::kFloat32);
}

Tensor piece_of(const Tensor& flat, std::size_t from, std::size_t count) {
  const auto begin = static_cast<std::int64_t>(from);
  return flat.slice(0, begin, begin + static_cast<std::int64_t>(count));
}

std::uint64_t total(const auto& shards) {
  std::uint64_t size = 0;
  for (const auto& shard : shards) size += shard.size();
  return size;
}

}  // namespace

CatalogModule::CatalogModule(std::span<const Layer> layers) : steps_(make(layers)) {
  for (Tensor& parameter : parameters()) {
    if (parameter.dim() == 4) {
      parameter.set_data(parameter.contiguous(torch::MemoryFormat::ChannelsLast));
    }
  }
}

std::vector<CatalogModule::Step> CatalogModule::make(std::span<const Layer> layers) {
  std::vector<Step> steps;
  for (const Layer& layer : layers) {
    Step step{.layer = layer, .module = {}, .body = {}};
    const std::int64_t in = layer.in.channels;
    const std::int64_t out = layer.out.channels;
    if (layer.op == Op::Conv) {
      step.module = registered(*this, layer.name,
                               nn::Conv2d(nn::Conv2dOptions(in, out, layer.kernel)
                                              .stride(layer.stride)
                                              .padding(layer.padding)
                                              .bias(layer.bias)));
    } else if (layer.op == Op::Dense) {
      step.module =
          registered(*this, layer.name, nn::Linear(nn::LinearOptions(in, out).bias(layer.bias)));
    } else if (layer.op == Op::BatchNorm) {
      step.module = registered(*this, layer.name, nn::BatchNorm2d(out));
    } else if (layer.op == Op::Residual) {
      step.body = make(layer.body);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

Tensor CatalogModule::forward(Tensor images) {
  return run(steps_, images.contiguous(torch::MemoryFormat::ChannelsLast));
}

Result<std::shared_ptr<CatalogModule>> make_module(std::string_view name, const Shape& image,
                                                   std::int64_t classes, std::uint64_t seed) {
  const auto model = find_model(name);
  if (!model) return fail(model.error());
  const auto layers = (*model)->layers(image, classes);
  if (!layers) return fail(layers.error());
  auto module = std::make_shared<CatalogModule>(*layers);
  const auto list = parameters(*layers);
  std::vector<float> initial(parameter_count(list));
  initialise(list, seed, initial);
  const std::span<const float> flat(initial);
  FlatView(*module).set_parameters({&flat, 1});
  return module;
}

void recompute_statistics(CatalogModule& module, std::span<const Tensor> batches) {
  const torch::NoGradGuard no_grad;
  for (const auto& child : module.modules(/*include_self=*/false)) {
    auto* norm = child->as<nn::BatchNorm2d>();
    if (norm == nullptr) continue;
    norm->reset_running_stats();
    norm->options.momentum(std::nullopt);  // the plain mean over batches
  }
  module.train();
  for (const Tensor& batch : batches) module.forward(batch);
  module.eval();
}

FlatView::FlatView(nn::Module& module) : parameters_(module.parameters()) {
  for (const Tensor& parameter : parameters_) {
    TORCH_CHECK(parameter.is_floating_point(), "parameters must be floating-point numbers");
    size_ += static_cast<std::uint64_t>(parameter.numel());
  }
}

void FlatView::set_parameters(std::span<const std::span<const float>> shards) {
  PACELINE_CHECK(total(shards) == size_, "one float for each parameter");
  const torch::NoGradGuard no_grad;
  Tensor scratch;  // a parameter that is cut, or not contiguous
  for_each_piece(parameters_, shards,
                 [&](std::size_t i, std::size_t from, std::span<const float> values) {
                   Tensor& parameter = parameters_[i];
                   const auto size = static_cast<std::size_t>(parameter.numel());
                   if (values.size() == size) {
                     parameter.copy_(view_of(values).view(parameter.sizes()));
                     return;
                   }
                   if (from == 0) scratch = torch::empty({parameter.numel()}, torch::kFloat32);
                   piece_of(scratch, from, values.size()).copy_(view_of(values));
                   if (from + values.size() == size) {
                     parameter.copy_(scratch.view(parameter.sizes()));
                   }
                 });
}

void FlatView::get_parameters(std::span<float> flat) const {
  PACELINE_CHECK(flat.size() == size_, "one float for each parameter");
  const torch::NoGradGuard no_grad;
  const std::span<const std::span<float>> shards(&flat, 1);
  for_each_piece(parameters_, shards, [&](std::size_t i, std::size_t, std::span<float> values) {
    view_of(values).view(parameters_[i].sizes()).copy_(parameters_[i]);
  });
}

void FlatView::get_gradient(std::span<const std::span<float>> shards) const {
  PACELINE_CHECK(total(shards) == size_, "one float for each parameter");
  const torch::NoGradGuard no_grad;
  for_each_piece(
      parameters_, shards, [&](std::size_t i, std::size_t from, std::span<float> values) {
        const Tensor& gradient = parameters_[i].grad();
        if (!gradient.defined()) {
          std::ranges::fill(values, 0.0F);
        } else if (static_cast<std::int64_t>(values.size()) == gradient.numel()) {
          view_of(values).view(gradient.sizes()).copy_(gradient);
        } else {
          view_of(values).copy_(piece_of(gradient.contiguous().view({-1}), from, values.size()));
        }
      });
}

void FlatView::drop_gradient() {
  for (Tensor& parameter : parameters_) parameter.mutable_grad() = Tensor();
}

TensorData::TensorData(Dataset data) : data_(std::move(data)) {
  const auto n = static_cast<std::int64_t>(data_.size());
  const Shape& shape = data_.shape;
  images_ = torch::from_blob(data_.images.data(), {n, shape.channels, shape.height, shape.width},
                             torch::kUInt8);
  labels_ = torch::from_blob(data_.labels.data(), {n}, torch::kUInt8);
  const std::vector<std::int64_t> by_channel{1, shape.channels, 1, 1};
  const Tensor mean = torch::tensor(data_.mean).view(by_channel);
  const Tensor deviation = torch::tensor(data_.deviation).view(by_channel);
  scale_ = 1 / (deviation * 255);
  shift_ = -mean / deviation;
}

Tensor TensorData::images(const Tensor& indices) const {
  return images_.index_select(0, indices).to(torch::kFloat32).mul_(scale_).add_(shift_);
}

Tensor TensorData::labels(const Tensor& indices) const {
  return labels_.index_select(0, indices).to(torch::kInt64);
}

}  // namespace paceline::train
