#include "paceline/train/native_source.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include <Eigen/Core>

#include "paceline/base/check.h"
#include "paceline/base/text.h"

// The same bits on every call, in every process and on every machine that runs the same build:
// Eigen is told the sizes of the caches, by which it cuts sums into blocks, instead of asking the
// processor; exp and log are Eigen's polynomials, not the C library's, which has one for each kind
// of processor; buffers are aligned, so that no loop begins elsewhere. Builds for instruction sets
// with wider vectors or fused multiply-add (-march=native, ARM) add in another order: there the
// last bits differ.
namespace paceline::train {
namespace {

using Eigen::Index;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixMap = Eigen::Map<Matrix, Eigen::AlignedMax>;
using View = Eigen::Map<Matrix>;
using ConstView = Eigen::Map<const Matrix>;
using Buffer = Eigen::ArrayXf;  // aligned

// Samples that are computed at once; a larger batch goes in pieces, so that it needs no memory.
constexpr Index kRows = 256;
constexpr Index kPacket = 16;  // floats; a multiple of every instruction set's vector

Index padded(Index size) { return (size + kPacket - 1) / kPacket * kPacket; }

struct DenseLayer {
  Index in = 0;
  Index out = 0;
  Index weight = 0;  // places in the flat vector
  Index bias = 0;
  bool relu = false;  // follows
};

// None for a model with other layers.
std::vector<DenseLayer> dense_layers(std::span<const Layer> layers) {
  std::vector<DenseLayer> out;
  Index at = 0;
  for (const Layer& layer : layers) {
    if (layer.op == Op::Flatten) continue;
    if (layer.op == Op::Relu && !out.empty()) {
      out.back().relu = true;
      continue;
    }
    if (layer.op != Op::Dense || !layer.bias) return {};
    const Index weights = layer.in.channels * layer.out.channels;
    out.push_back(
        {.in = layer.in.channels, .out = layer.out.channels, .weight = at, .bias = at + weights});
    at += weights + layer.out.channels;
  }
  return out;
}

Result<std::vector<DenseLayer>> native_layers(std::string_view model, const Shape& image,
                                              std::int64_t classes) {
  const auto found = find_model(model);
  if (!found) return fail(found.error());
  const auto layers = (*found)->layers(image, classes);
  if (!layers) return fail(layers.error());
  auto dense = dense_layers(*layers);
  if (!dense.empty()) return dense;
  return fail(Code::InvalidArgument, cat("the model ", model, " is not of dense layers alone"),
              "take mlp, or train with LibTorch");
}

Status check_data(const Dataset* data) {
  if (data == nullptr || data->size() == 0) {
    return fail(Code::InvalidArgument, "there are no samples", "see load() of train/data.h");
  }
  const auto channels = static_cast<std::size_t>(data->shape.channels);
  const bool whole =
      data->images.size() == data->size() * static_cast<std::uint64_t>(data->shape.size());
  if (!whole || data->mean.size() != channels || data->deviation.size() != channels) {
    return fail(Code::InvalidArgument,
                cat("the data set does not hold what its shape ", to_string(data->shape), " says"),
                "an image for each label, a mean and a deviation for each channel");
  }
  const std::uint8_t last = std::ranges::max(data->labels);
  if (last < data->classes) return {};
  return fail(Code::InvalidArgument,
              cat("a label is ", int{last}, " but there are ", data->classes, " classes"));
}

std::uint64_t total(const auto& shards) {
  std::uint64_t size = 0;
  for (const auto& shard : shards) size += shard.size();
  return size;
}

void fix_block_sizes() {
  static std::once_flag once;
  std::call_once(once, [] { Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 4 << 20); });
}

}  // namespace

// The layers, a data set and the room to compute in.
class DenseNetwork {
 public:
  static Result<std::unique_ptr<DenseNetwork>> create(std::string_view model,
                                                      std::shared_ptr<const Dataset> data) {
    if (auto checked = check_data(data.get()); !checked) return fail(checked.error());
    auto layers = native_layers(model, data->shape, data->classes);
    if (!layers) return fail(layers.error());
    return std::make_unique<DenseNetwork>(std::move(*layers), std::move(data));
  }

  DenseNetwork(std::vector<DenseLayer> layers, std::shared_ptr<const Dataset> data)
      : layers_(std::move(layers)),
        data_(std::move(data)),
        size_(layers_.back().bias + layers_.back().out),
        parameters_(Buffer::Zero(size_)),
        gradient_(Buffer::Zero(size_)),
        images_(Buffer::Zero(kRows * layers_.front().in)),
        sums_(Buffer::Ones(kRows)) {
    fix_block_sizes();
    Index widest = 0;
    for (const DenseLayer& layer : layers_) {
      outputs_.push_back(Buffer::Zero(padded(kRows * layer.out)));
      widest = std::max(widest, layer.out);
    }
    for (Buffer& delta : deltas_) delta = Buffer::Zero(kRows * widest);
    fill_levels();
  }

  const Dataset& data() const { return *data_; }
  std::uint64_t size() const { return static_cast<std::uint64_t>(size_); }

  void set_parameters(std::span<const std::span<const float>> shards) {
    float* to = parameters_.data();
    for (const auto& shard : shards) to = std::ranges::copy(shard, to).out;
  }

  void get_gradient(std::span<const std::span<float>> shards) const {
    const float* from = gradient_.data();
    for (const auto& shard : shards) {
      std::copy_n(from, shard.size(), shard.begin());
      from += shard.size();
    }
  }

  // The mean loss over the samples; leaves its gradient.
  float differentiate(std::span<const std::uint64_t> samples) {
    gradient_.setZero();
    double loss = 0;
    const float share = 1.0F / static_cast<float>(samples.size());
    while (!samples.empty()) {
      const auto some = samples.first(std::min<std::size_t>(samples.size(), kRows));
      samples = samples.subspan(some.size());
      for (std::size_t i = 0; i < some.size(); ++i) take(some[i], static_cast<Index>(i));
      loss += forward(static_cast<Index>(some.size()));
      backward(static_cast<Index>(some.size()), share);
    }
    return static_cast<float>(loss * static_cast<double>(share));
  }

  roles::EvaluationResult measure() {
    const std::uint64_t samples = data_->size();
    double loss = 0;
    std::uint64_t right = 0;
    for (std::uint64_t from = 0; from < samples; from += kRows) {
      const auto count = static_cast<Index>(std::min<std::uint64_t>(samples - from, kRows));
      for (Index row = 0; row < count; ++row) take(from + static_cast<std::uint64_t>(row), row);
      loss += forward(count);
      right += count_right(count);
    }
    return {.accuracy = static_cast<double>(right) / static_cast<double>(samples),
            .loss = loss / static_cast<double>(samples)};
  }

 private:
  // What a pixel of each channel means to the model, as TensorData has it.
  void fill_levels() {
    for (std::size_t channel = 0; channel < data_->mean.size(); ++channel) {
      const float scale = 1 / (data_->deviation[channel] * 255);
      const float shift = -data_->mean[channel] / data_->deviation[channel];
      auto& table = levels_.emplace_back();
      for (std::size_t pixel = 0; pixel < table.size(); ++pixel) {
        table[pixel] = static_cast<float>(pixel) * scale + shift;
      }
    }
  }

  void take(std::uint64_t sample, Index row) {
    const auto pixels = static_cast<std::size_t>(data_->shape.height * data_->shape.width);
    const std::uint8_t* from = data_->images.data() + sample * pixels * levels_.size();
    float* to = images_.data() + row * layers_.front().in;
    for (const auto& level : levels_) {
      to = std::transform(from, from + pixels, to, [&](std::uint8_t x) { return level[x]; });
      from += pixels;
    }
    chosen_[static_cast<std::size_t>(row)] = data_->labels[sample];
  }

  ConstView weight(const DenseLayer& layer) const {
    return {parameters_.data() + layer.weight, layer.out, layer.in};
  }
  ConstView input(std::size_t i, Index rows) const {
    const Buffer& buffer = i == 0 ? images_ : outputs_[i - 1];
    return {buffer.data(), rows, layers_[i].in};
  }

  // Leaves exp(logit - largest) in the last output and its sum over each row in sums_. Returns the
  // sum of the losses.
  double forward(Index rows) {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const DenseLayer& layer = layers_[i];
      View out(outputs_[i].data(), rows, layer.out);
      out.noalias() = input(i, rows) * weight(layer).transpose();
      const float* bias = parameters_.data() + layer.bias;
      for (Index row = 0; row < rows; ++row) finish(&out(row, 0), bias, layer);
    }
    return softmax(rows);
  }

  static void finish(float* values, const float* bias, const DenseLayer& layer) {
    if (!layer.relu) {
      for (Index i = 0; i < layer.out; ++i) values[i] += bias[i];
      return;
    }
    for (Index i = 0; i < layer.out; ++i) {
      const float value = values[i] + bias[i];
      values[i] = value < 0 ? 0 : value;  // NaN stays
    }
  }

  double softmax(Index rows) {
    const Index classes = layers_.back().out;
    float* values = outputs_.back().data();
    double loss = 0;
    for (Index row = 0; row < rows; ++row) {
      const std::span<float> logits(values + row * classes, static_cast<std::size_t>(classes));
      const auto largest = static_cast<std::size_t>(arg_max(logits));
      best_[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(largest);
      const float most = logits[largest];
      for (float& logit : logits) logit -= most;
      loss -= static_cast<double>(logits[chosen_[static_cast<std::size_t>(row)]]);
    }
    auto all = Eigen::Map<Buffer, Eigen::AlignedMax>(values, padded(rows * classes));
    all = all.exp();
    for (Index row = 0; row < rows; ++row) {
      float sum = 0;
      for (Index i = 0; i < classes; ++i) sum += values[row * classes + i];
      sums_[row] = sum;
    }
    logs_ = sums_.log();
    for (Index row = 0; row < rows; ++row) loss += static_cast<double>(logs_[row]);
    return loss;
  }

  // The first of the largest; NaN is larger than all.
  static std::ptrdiff_t arg_max(std::span<const float> values) {
    const auto less = [](float a, float b) { return a < b || (a == a && b != b); };
    return std::ranges::max_element(values, less) - values.begin();
  }

  // share: 1 / samples of the whole batch.
  void backward(Index rows, float share) {
    const Index classes = layers_.back().out;
    const float* exps = outputs_.back().data();
    float* delta = deltas_[0].data();
    for (Index row = 0; row < rows; ++row) {
      const float factor = share / sums_[row];
      for (Index i = 0; i < classes; ++i)
        delta[row * classes + i] = exps[row * classes + i] * factor;
      delta[row * classes + chosen_[static_cast<std::size_t>(row)]] -= share;
    }
    std::size_t at = 0;
    for (std::size_t i = layers_.size(); i-- > 0; at = 1 - at) {
      add_gradient(i, rows, deltas_[at]);
      if (i > 0) pass_down(i, rows, deltas_[at], deltas_[1 - at]);
    }
  }

  void add_gradient(std::size_t i, Index rows, const Buffer& delta) {
    const DenseLayer& layer = layers_[i];
    const ConstView out(delta.data(), rows, layer.out);
    View(gradient_.data() + layer.weight, layer.out, layer.in).noalias() +=
        out.transpose() * input(i, rows);
    float* bias = gradient_.data() + layer.bias;
    for (Index row = 0; row < rows; ++row) {
      for (Index k = 0; k < layer.out; ++k) bias[k] += delta[row * layer.out + k];
    }
  }

  void pass_down(std::size_t i, Index rows, const Buffer& delta, Buffer& below) {
    const DenseLayer& layer = layers_[i];
    View(below.data(), rows, layer.in).noalias() =
        ConstView(delta.data(), rows, layer.out) * weight(layer);
    if (!layers_[i - 1].relu) return;
    const float* out = outputs_[i - 1].data();
    float* values = below.data();
    for (Index k = 0; k < rows * layer.in; ++k) values[k] = out[k] <= 0 ? 0 : values[k];
  }

  std::uint64_t count_right(Index rows) const {
    std::uint64_t right = 0;
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
      right += best_[row] == chosen_[row] ? 1U : 0U;
    }
    return right;
  }

  std::vector<DenseLayer> layers_;
  std::shared_ptr<const Dataset> data_;
  Index size_;
  std::vector<std::array<float, 256>> levels_;  // [channels]
  Buffer parameters_;
  Buffer gradient_;
  Buffer images_;                // [kRows, pixels]
  std::vector<Buffer> outputs_;  // a layer: [kRows, out], after its ReLU
  Buffer sums_;
  Buffer logs_;
  std::array<Buffer, 2> deltas_;              // of a layer's output and of the one below
  std::array<std::uint8_t, kRows> chosen_{};  // labels
  std::array<std::int64_t, kRows> best_{};    // predicted
};

bool is_native(std::string_view model, const Shape& image, std::int64_t classes) {
  return native_layers(model, image, classes).has_value();
}

NativeSource::NativeSource(std::unique_ptr<DenseNetwork> network, std::vector<Parameter> parameters,
                           std::uint64_t seed)
    : network_(std::move(network)), parameters_(std::move(parameters)), seed_(seed) {}
NativeSource::~NativeSource() = default;

Result<std::unique_ptr<NativeSource>> NativeSource::create(std::string_view model,
                                                           std::shared_ptr<const Dataset> train,
                                                           std::uint64_t seed) {
  auto network = DenseNetwork::create(model, std::move(train));
  if (!network) return fail(network.error());
  auto list = parameters(model, (*network)->data().shape, (*network)->data().classes);
  if (!list) return fail(list.error());
  return std::unique_ptr<NativeSource>(
      new NativeSource(std::move(*network), std::move(*list), seed));
}

std::uint64_t NativeSource::parameter_count() const { return network_->size(); }

void NativeSource::initial_parameters(std::span<float> parameters) {
  initialise(parameters_, seed_, parameters);
}

Result<roles::GradientResult> NativeSource::gradient(const roles::GradientTask& task) {
  const std::uint64_t in = total(task.parameters);
  const std::uint64_t out = total(task.gradient);
  if (in != network_->size() || out != network_->size()) {
    return fail(Code::InvalidArgument,
                cat("the model has ", network_->size(), " parameters; ", in,
                    " came and there is room for a gradient of ", out),
                "use the same model in every process of the run");
  }
  if (task.samples.empty()) return fail(Code::InvalidArgument, "a gradient of no samples");
  const std::uint64_t last = std::ranges::max(task.samples);
  if (last >= network_->data().size()) {
    return fail(
        Code::InvalidArgument,
        cat("sample ", last, " is asked for but the training set has ", network_->data().size()),
        "use the same data in every process of the run");
  }
  network_->set_parameters(task.parameters);
  const float loss = network_->differentiate(task.samples);
  network_->get_gradient(task.gradient);
  return roles::GradientResult{.loss = loss};
}

NativeEvaluation::NativeEvaluation(std::unique_ptr<DenseNetwork> network)
    : network_(std::move(network)) {}
NativeEvaluation::~NativeEvaluation() = default;

Result<std::unique_ptr<NativeEvaluation>> NativeEvaluation::create(
    std::string_view model, std::shared_ptr<const Dataset> test) {
  auto network = DenseNetwork::create(model, std::move(test));
  if (!network) return fail(network.error());
  return std::unique_ptr<NativeEvaluation>(new NativeEvaluation(std::move(*network)));
}

std::uint64_t NativeEvaluation::parameter_count() const { return network_->size(); }

Result<roles::EvaluationResult> NativeEvaluation::evaluate(std::span<const float> parameters) {
  if (parameters.size() != network_->size()) {
    return fail(
        Code::InvalidArgument,
        cat("the model has ", network_->size(), " parameters; ", parameters.size(), " came"),
        "use the same model in every process of the run");
  }
  network_->set_parameters({&parameters, 1});
  return network_->measure();
}

Result<SourcesFactory> native_sources(std::string_view model, std::string_view data,
                                      const std::string& path) {
  const auto source = find_data(data);
  if (!source) return fail(source.error());
  const auto layers = native_layers(model, (*source)->shape, (*source)->classes);
  if (!layers) return fail(layers.error());
  auto train = load(**source, path, Split::Train);
  if (!train) return fail(train.error());
  auto test = load(**source, path, Split::Test);
  if (!test) return fail(test.error());
  auto factory = [name = std::string(model),
                  train_data = std::make_shared<const Dataset>(std::move(*train)),
                  test_data = std::make_shared<const Dataset>(std::move(*test))](
                     std::uint64_t seed) -> Result<Sources> {
    auto gradients = NativeSource::create(name, train_data, seed);
    if (!gradients) return fail(gradients.error());
    auto evaluation = NativeEvaluation::create(name, test_data);
    if (!evaluation) return fail(evaluation.error());
    return Sources{std::move(*gradients), std::move(*evaluation)};
  };
  return factory;
}

}  // namespace paceline::train
