#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/base/result.h"

// The built-in models, described in layers and without LibTorch: the coordinator, the servers and
// `paceline models` know names, shapes and counts; model.cc builds its module from the same layers,
// so the two cannot disagree.
namespace paceline::train {

// One image, or what a layer makes of it.
struct Shape {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t size() const { return channels * height * width; }
  bool operator==(const Shape&) const = default;
};
std::string to_string(const Shape& shape);  // "3 x 32 x 32"

enum class Op : std::uint8_t { Conv, Dense, BatchNorm, Relu, MaxPool, MeanPool, Flatten, Residual };

struct Layer {
  Op op = Op::Relu;
  std::string name = {};  // of layers with parameters: "stage1.0.conv1"
  Shape in = {};
  Shape out = {};
  // Conv and MaxPool; a Residual's stride is that of its whole body.
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  bool bias = false;  // Conv, Dense
  // Residual: out = body(in) + shortcut(in). The shortcut has no parameters ("option A" of He et
  // al. 2016): every stride-th row and column, new channels zero, half of them on either side.
  std::vector<Layer> body = {};
};

enum class Init : std::uint8_t { GlorotUniform, One, Zero };

struct Parameter {
  std::string name;                 // "conv1.weight"
  std::vector<std::int64_t> shape;  // Conv: [out, in, kernel, kernel]; Dense: [out, in]; else [n]
  Init init = Init::Zero;
  std::int64_t size() const;
};

struct Model {
  std::string name;
  std::string doc;
  std::string source;
  std::string data;  // the data set that it is made for
  bool batch_norm = false;
  // The layers for images of that shape. Code::InvalidArgument if they are too small.
  Result<std::vector<Layer>> layers(const Shape& image, std::int64_t classes) const;
  // What `layers` calls; fills a network in.
  void (*build)(class Network& network, std::int64_t classes);
};

// Collects layers, following the shape through them. The first layer that the image is too small
// for is remembered as the error.
class Network {
 public:
  explicit Network(const Shape& image) : shape_(image) {}

  Network& conv(std::string name, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                std::int64_t padding, bool bias);
  Network& dense(std::string name, std::int64_t out);
  Network& batch_norm(std::string name);
  Network& relu();
  Network& max_pool(std::int64_t kernel, std::int64_t stride, std::int64_t padding);
  Network& mean_pool();  // over the whole image
  Network& flatten();
  Network& residual(Network body, std::int64_t stride);

  const Shape& shape() const { return shape_; }
  Result<std::vector<Layer>> finish() &&;

 private:
  Network& add(Layer layer, const Shape& out);
  void slide(Layer layer, std::int64_t channels);

  Shape shape_;
  std::vector<Layer> layers_;
  std::string error_;
};

std::span<const Model> models();
// Code::InvalidArgument with the nearest name.
Result<const Model*> find_model(std::string_view name);

// In the order in which the module registers them: the order of the flat parameter vector.
std::vector<Parameter> parameters(std::span<const Layer> layers);
Result<std::vector<Parameter>> parameters(std::string_view model, const Shape& image,
                                          std::int64_t classes);
std::uint64_t parameter_count(std::span<const Parameter> parameters);
Result<std::uint64_t> parameter_count(std::string_view model, const Shape& image,
                                      std::int64_t classes);

// What training begins with, the same on every machine: weights uniform in [-a, a],
// a = sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010), batch norm's weights 1, all biases 0.
// Each parameter has its own stream, named after it. flat: parameter_count floats.
void initialise(std::span<const Parameter> parameters, std::uint64_t seed, std::span<float> flat);

}  // namespace paceline::train
