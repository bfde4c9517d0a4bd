#include "paceline/train/catalog.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "paceline/base/check.h"
#include "paceline/base/random.h"
#include "paceline/base/text.h"

namespace paceline::train {
namespace {

void softmax(Network& net, std::int64_t classes) { net.flatten().dense("dense", classes); }

void mlp_small(Network& net, std::int64_t classes) {
  net.flatten().dense("dense1", 32).relu().dense("dense2", classes);
}

void mlp(Network& net, std::int64_t classes) {
  net.flatten().dense("dense1", 128).relu().dense("dense2", 64).relu().dense("dense3", classes);
}

void lenet(Network& net, std::int64_t classes) {
  net.conv("conv1", 6, 5, 1, 2, true).relu().max_pool(2, 2, 0);
  net.conv("conv2", 16, 5, 1, 0, true).relu().max_pool(2, 2, 0);
  net.flatten().dense("dense1", 120).relu().dense("dense2", 84).relu().dense("dense3", classes);
}

void cnn(Network& net, std::int64_t classes) {
  net.conv("conv1", 16, 3, 1, 1, true).relu().max_pool(2, 2, 0);
  net.conv("conv2", 32, 3, 1, 1, true).relu().max_pool(2, 2, 0);
  net.flatten().dense("dense1", 64).relu().dense("dense2", classes);
}

void alexnet_small(Network& net, std::int64_t classes) {
  net.conv("conv1", 32, 5, 1, 2, true).relu().max_pool(3, 2, 1);
  net.conv("conv2", 32, 5, 1, 2, true).relu().max_pool(3, 2, 1);
  net.conv("conv3", 64, 5, 1, 2, true).relu().max_pool(3, 2, 1);
  net.flatten().dense("dense1", 64).relu().dense("dense2", classes);
}

// He et al. 2016, section 4.2: 6n + 2 layers, three stages of n blocks, 16, 32 and 64 channels.
void resnet(Network& net, std::int64_t classes, int blocks) {
  net.conv("conv1", 16, 3, 1, 1, false).batch_norm("norm1").relu();
  for (int stage = 0; stage < 3; ++stage) {
    const std::int64_t channels = std::int64_t{16} << stage;
    for (int block = 0; block < blocks; ++block) {
      const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      const std::string at = cat("stage", stage + 1, ".", block, ".");
      Network body(net.shape());
      body.conv(at + "conv1", channels, 3, stride, 1, false).batch_norm(at + "norm1").relu();
      body.conv(at + "conv2", channels, 3, 1, 1, false).batch_norm(at + "norm2");
      net.residual(std::move(body), stride).relu();
    }
  }
  net.mean_pool().flatten().dense("dense", classes);
}
void resnet20(Network& net, std::int64_t classes) { resnet(net, classes, 3); }
void resnet50(Network& net, std::int64_t classes) { resnet(net, classes, 8); }
void resnet110(Network& net, std::int64_t classes) { resnet(net, classes, 18); }

// Simonyan and Zisserman 2015, configuration D; dense layers of 512 as the images are small.
void vgg16(Network& net, std::int64_t classes) {
  constexpr std::array<std::pair<int, int>, 5> kStages{
      {{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}};
  int number = 0;
  for (const auto& [channels, layers] : kStages) {
    for (int i = 0; i < layers; ++i) {
      ++number;
      net.conv(cat("conv", number), channels, 3, 1, 1, false)
          .batch_norm(cat("norm", number))
          .relu();
    }
    net.max_pool(2, 2, 0);
  }
  net.flatten().dense("dense1", 512).relu().dense("dense2", 512).relu().dense("dense3", classes);
}

const std::vector<Model>& table() {
  static const std::vector<Model> models{
      {"softmax", "one dense layer: logistic regression of several classes", "Cox 1966",
       "synthetic", false, softmax},
      {"mlp_small", "dense 32, dense; ReLU between", "Rumelhart, Hinton and Williams 1986",
       "synthetic", false, mlp_small},
      {"mlp", "dense 128, dense 64, dense; ReLU between", "Rumelhart, Hinton and Williams 1986",
       "mnist", false, mlp},
      {"lenet",
       "conv 6 and conv 16 (5x5, max pooling), dense 120, dense 84, dense; LeNet-5 with ReLU and "
       "max pooling in place of tanh and trained pooling",
       "LeCun et al. 1998, section II.B", "mnist", false, lenet},
      {"cnn", "conv 16 and conv 32 (3x3, max pooling), dense 64, dense: the demo's", "Paceline",
       "fashion_mnist", false, cnn},
      {"alexnet_small",
       "the downsized AlexNet of the DSSP and ElasticBSP papers, three convolutions and two dense "
       "layers: conv 32, conv 32, conv 64 (5x5, max pooling 3x3 by 2), dense 64, dense; the papers "
       "give no widths, these are cuda-convnet's for CIFAR-10",
       "Krizhevsky, Sutskever and Hinton 2012; Zhao et al. 2019", "cifar10", false, alexnet_small},
      {"resnet20", "CIFAR ResNet of 6n+2 layers, n = 3, shortcuts without parameters",
       "He et al. 2016, section 4.2", "cifar10", true, resnet20},
      {"resnet50",
       "CIFAR ResNet of 6n+2 layers, n = 8: not the ImageNet network of bottlenecks that bears the "
       "same number",
       "He et al. 2016, section 4.2", "cifar100", true, resnet50},
      {"resnet110", "CIFAR ResNet of 6n+2 layers, n = 18, shortcuts without parameters",
       "He et al. 2016, section 4.2", "cifar100", true, resnet110},
      {"vgg16",
       "13 convolutions (3x3) with batch norm, three dense layers (512, 512, classes); no dropout",
       "Simonyan and Zisserman 2015, configuration D; Ioffe and Szegedy 2015", "cifar10", true,
       vgg16},
  };
  return models;
}

std::int64_t product(std::span<const std::int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

void collect(std::span<const Layer> layers, std::vector<Parameter>& out) {
  for (const Layer& layer : layers) {
    const std::int64_t n = layer.out.channels;
    switch (layer.op) {
      case Op::Conv:
        out.push_back({layer.name + ".weight",
                       {n, layer.in.channels, layer.kernel, layer.kernel},
                       Init::GlorotUniform});
        break;
      case Op::Dense:
        out.push_back({layer.name + ".weight", {n, layer.in.channels}, Init::GlorotUniform});
        break;
      case Op::BatchNorm:
        out.push_back({layer.name + ".weight", {n}, Init::One});
        break;
      case Op::Residual:
        collect(layer.body, out);
        break;
      case Op::Relu:
      case Op::MaxPool:
      case Op::MeanPool:
      case Op::Flatten:
        break;
    }
    if (layer.bias) out.push_back({layer.name + ".bias", {n}, Init::Zero});
  }
}

}  // namespace

std::string to_string(const Shape& shape) {
  return cat(shape.channels, " x ", shape.height, " x ", shape.width);
}

std::int64_t Parameter::size() const { return product(shape); }

Network& Network::add(Layer layer, const Shape& out) {
  layer.in = shape_;
  layer.out = shape_ = out;
  layers_.push_back(std::move(layer));
  return *this;
}

void Network::slide(Layer layer, std::int64_t channels) {
  const auto along = [&](std::int64_t size) {
    const std::int64_t room = size + 2 * layer.padding - layer.kernel;
    return room < 0 ? std::int64_t{0} : room / layer.stride + 1;
  };
  const Shape out{channels, along(shape_.height), along(shape_.width)};
  if (out.size() == 0 && error_.empty()) {
    error_ = cat(layer.name.empty() ? "a pooling layer" : layer.name, " gets ", to_string(shape_));
  }
  add(std::move(layer), out);
}

Network& Network::conv(std::string name, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                       std::int64_t padding, bool bias) {
  slide({.op = Op::Conv,
         .name = std::move(name),
         .kernel = kernel,
         .stride = stride,
         .padding = padding,
         .bias = bias},
        out);
  return *this;
}

Network& Network::max_pool(std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  slide({.op = Op::MaxPool, .kernel = kernel, .stride = stride, .padding = padding},
        shape_.channels);
  return *this;
}

Network& Network::dense(std::string name, std::int64_t out) {
  PACELINE_CHECK(shape_.height <= 1 && shape_.width <= 1, "dense layers come after flatten");
  return add({.op = Op::Dense, .name = std::move(name), .bias = true}, {out, 1, 1});
}

Network& Network::batch_norm(std::string name) {
  return add({.op = Op::BatchNorm, .name = std::move(name), .bias = true}, shape_);
}

Network& Network::relu() { return add({.op = Op::Relu}, shape_); }
Network& Network::mean_pool() { return add({.op = Op::MeanPool}, {shape_.channels, 1, 1}); }
Network& Network::flatten() { return add({.op = Op::Flatten}, {shape_.size(), 1, 1}); }

Network& Network::residual(Network body, std::int64_t stride) {
  if (error_.empty()) error_ = body.error_;
  return add({.op = Op::Residual, .stride = stride, .body = std::move(body.layers_)}, body.shape_);
}

Result<std::vector<Layer>> Network::finish() && {
  if (!error_.empty()) {
    return fail(Code::InvalidArgument, "the images are too small for the model: " + error_,
                "take a smaller model or larger images");
  }
  return std::move(layers_);
}

Result<std::vector<Layer>> Model::layers(const Shape& image, std::int64_t classes) const {
  constexpr std::int64_t kMost = 1 << 14;  // far beyond sense, far below overflow
  const auto sane = [](std::int64_t n) { return n >= 1 && n <= kMost; };
  if (!sane(image.channels) || !sane(image.height) || !sane(image.width) || !sane(classes)) {
    return fail(Code::InvalidArgument,
                cat("images of ", to_string(image), " in ", classes, " classes make no sense"),
                cat("each number is from 1 to ", kMost));
  }
  Network network(image);
  build(network, classes);
  auto layers = std::move(network).finish();
  if (!layers) {
    return fail(Code::InvalidArgument,
                cat(name, " on images of ", to_string(image), ": ", layers.error().what),
                layers.error().fix);
  }
  return layers;
}

std::span<const Model> models() { return table(); }

Result<const Model*> find_model(std::string_view name) {
  std::vector<std::string> names;
  for (const Model& model : models()) {
    if (model.name == name) return &model;
    names.push_back(model.name);
  }
  const std::string near = nearest(name, names);
  return fail(Code::InvalidArgument, cat("no model is called \"", name, "\""),
              near.empty() ? cat("there are ", join(names)) : cat("did you mean ", near, "?"));
}

std::vector<Parameter> parameters(std::span<const Layer> layers) {
  std::vector<Parameter> out;
  collect(layers, out);
  return out;
}

Result<std::vector<Parameter>> parameters(std::string_view model, const Shape& image,
                                          std::int64_t classes) {
  const auto found = find_model(model);
  if (!found) return fail(found.error());
  return (*found)->layers(image, classes).map([](const std::vector<Layer>& layers) {
    return parameters(layers);
  });
}

std::uint64_t parameter_count(std::span<const Parameter> parameters) {
  std::uint64_t count = 0;
  for (const Parameter& parameter : parameters) {
    count += static_cast<std::uint64_t>(parameter.size());
  }
  return count;
}

Result<std::uint64_t> parameter_count(std::string_view model, const Shape& image,
                                      std::int64_t classes) {
  return parameters(model, image, classes).map([](const std::vector<Parameter>& list) {
    return parameter_count(list);
  });
}

void initialise(std::span<const Parameter> parameters, std::uint64_t seed, std::span<float> flat) {
  PACELINE_CHECK(flat.size() == parameter_count(parameters), "one float for each parameter");
  const Rng root(seed);
  for (const Parameter& parameter : parameters) {
    const auto size = static_cast<std::size_t>(parameter.size());
    const std::span<float> values = flat.first(size);
    flat = flat.subspan(size);
    if (parameter.init != Init::GlorotUniform) {
      std::ranges::fill(values, parameter.init == Init::One ? 1.0F : 0.0F);
      continue;
    }
    const auto window = product(std::span(parameter.shape).subspan(2));
    const auto fans = (parameter.shape[0] + parameter.shape[1]) * window;
    const double bound = std::sqrt(6.0 / static_cast<double>(fans));
    Rng rng = root.stream("initial " + parameter.name);
    for (float& value : values) value = static_cast<float>(bound * (2.0 * rng.unit() - 1.0));
  }
}

}  // namespace paceline::train
