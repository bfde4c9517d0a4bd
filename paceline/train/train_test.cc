#include "paceline/train/train.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paceline/base/random.h"
#include "paceline/base/text.h"
#include "paceline/roles/sample_stream.h"
#include "paceline/train/builtin.h"

namespace paceline::train {
namespace {

using ::testing::HasSubstr;
using torch::Tensor;

Dataset noise_data(const Shape& shape, std::int64_t classes, std::size_t samples) {
  Rng rng(5);
  Dataset data{.shape = shape, .classes = classes};
  data.mean.assign(static_cast<std::size_t>(shape.channels), 0.5F);
  data.deviation.assign(data.mean.size(), 0.25F);
  data.images.resize(samples * static_cast<std::size_t>(shape.size()));
  for (auto& pixel : data.images) pixel = static_cast<std::uint8_t>(rng.below(256));
  for (std::size_t i = 0; i < samples; ++i) {
    data.labels.push_back(static_cast<std::uint8_t>(i % static_cast<std::size_t>(classes)));
  }
  return data;
}

// Of every kind of layer one, small enough for finite differences.
std::vector<Layer> tiny_layers() {
  Network net({2, 6, 6});
  net.conv("conv1", 2, 3, 1, 1, true).batch_norm("norm1").relu().max_pool(2, 1, 1);
  Network body(net.shape());
  body.conv("block.0.conv", 4, 3, 2, 1, false).batch_norm("block.0.norm");
  net.residual(std::move(body), 2).relu().mean_pool().flatten().dense("dense", 3);
  return std::move(net).finish().value();
}

struct Tiny {
  Tiny() : module(std::make_shared<CatalogModule>(tiny_layers())) {
    const auto list = parameters(tiny_layers());
    flat.resize(parameter_count(list));
    initialise(list, 1, flat);
    const std::span<const float> view(flat);
    FlatView(*module).set_parameters({&view, 1});
  }
  Task task() {
    return make_task(module, data.size(), [this](CatalogModule& net, const Tensor& indices) {
      const Tensor images = data.images(indices).to(net.parameters().front().dtype());
      const Tensor value = torch::cross_entropy_loss(net.forward(images), data.labels(indices));
      loss = value.item<double>();
      return value;
    });
  }

  TensorData data{noise_data({2, 6, 6}, 3, 12)};
  std::shared_ptr<CatalogModule> module;
  std::vector<float> flat;
  double loss = 0;  // the last, in full precision
};

std::vector<float> gradient_of(TorchSource& source, std::vector<float> parameters,
                               std::vector<std::uint64_t> samples) {
  std::vector<float> gradient(parameters.size());
  const auto result = source.gradient(
      {.samples = std::move(samples), .parameters = {parameters}, .gradient = {gradient}});
  EXPECT_TRUE(result) << to_string(result.error());
  return gradient;
}

// Promises of the catalogue about LibTorch: names, shapes and order of the flat vector.
TEST(Module, HasTheCataloguesParametersInItsOrder) {
  for (const Model& model : models()) {
    const auto list = parameters(model.name, {3, 32, 32}, 10).value();
    const auto module = make_module(model.name, {3, 32, 32}, 10, 1).value();
    const auto named = module->named_parameters();
    ASSERT_EQ(named.size(), list.size()) << model.name;
    for (std::size_t i = 0; i < list.size(); ++i) {
      EXPECT_EQ(named[i].key(), list[i].name);
      EXPECT_EQ(named[i].value().sizes().vec(), list[i].shape) << model.name << list[i].name;
    }
    EXPECT_EQ(FlatView(*module).size(), parameter_count(list));
  }
}

TEST(Module, BeginsWithTheSeedsParameters) {
  const auto list = parameters("cnn", {1, 28, 28}, 10).value();
  std::vector<float> want(parameter_count(list));
  std::vector<float> have(want.size());
  initialise(list, 4, want);
  FlatView(*make_module("cnn", {1, 28, 28}, 10, 4).value()).get_parameters(have);
  EXPECT_EQ(have, want);
  EXPECT_EQ(make_module("cnnn", {1, 28, 28}, 10, 4).error().code, Code::InvalidArgument);
  EXPECT_EQ(make_module("vgg16", {1, 28, 28}, 10, 4).error().code, Code::InvalidArgument);
}

TEST(Module, GivesLogitsForEveryModel) {
  const torch::NoGradGuard no_grad;
  for (const Model& model : models()) {
    const auto module = make_module(model.name, {3, 32, 32}, 7, 1).value();
    const Tensor logits = module->forward(torch::rand({2, 3, 32, 32}));
    EXPECT_EQ(logits.sizes().vec(), (std::vector<std::int64_t>{2, 7})) << model.name;
    EXPECT_TRUE(logits.isfinite().all().item<bool>()) << model.name;
  }
}

TEST(Source, GradientEqualsFiniteDifferences) {
  Tiny tiny;
  tiny.module->to(torch::kFloat64);  // the flat vector stays float32
  const auto source = TorchSource::create(tiny.task()).value();
  const std::vector<std::uint64_t> samples{0, 1, 2, 3, 5, 11};
  const std::vector<float> gradient = gradient_of(*source, tiny.flat, samples);
  constexpr float kStep = 1.0F / (1 << 20);  // small: every ReLU and maximum is a kink
  for (std::size_t i = 0; i < tiny.flat.size(); ++i) {
    std::vector<float> moved = tiny.flat;
    moved[i] = tiny.flat[i] + kStep;
    const double high = moved[i];
    gradient_of(*source, moved, samples);
    const double loss_high = tiny.loss;
    moved[i] = tiny.flat[i] - kStep;
    gradient_of(*source, moved, samples);
    const double slope = (loss_high - tiny.loss) / (high - static_cast<double>(moved[i]));
    EXPECT_NEAR(gradient[i], slope, 1e-5 + 2e-3 * std::abs(slope)) << i;
  }
}

// Servers cut the vector where they like.
TEST(Source, ShardsMayBeCutAnywhere) {
  Tiny tiny;
  const auto source = TorchSource::create(tiny.task()).value();
  const std::vector<float> whole = gradient_of(*source, tiny.flat, {1, 4, 7});
  std::vector<float> cut(whole.size());
  roles::GradientTask task{.samples = {1, 4, 7}, .parameters = {}, .gradient = {}};
  std::span<const float> parameters(tiny.flat);
  std::span<float> gradient(cut);
  for (const std::size_t size : {1U, 0U, 10U, 30U, 7U}) {
    task.parameters.push_back(parameters.first(size));
    task.gradient.push_back(gradient.first(size));
    parameters = parameters.subspan(size);
    gradient = gradient.subspan(size);
  }
  task.parameters.push_back(parameters);
  task.gradient.push_back(gradient);
  ASSERT_TRUE(source->gradient(task));
  EXPECT_EQ(cut, whole);
}

// A gradient depends on parameters and samples alone, not on what was computed before: else two
// BSP runs would differ. Batch norm's running statistics are what could leak.
TEST(Source, AGradientDependsOnNothingButItsTask) {
  Tiny one;
  Tiny two;
  const auto a = TorchSource::create(one.task()).value();
  const auto b = TorchSource::create(two.task()).value();
  std::vector<float> other = one.flat;
  for (float& value : other) value *= 1.5F;
  const std::vector<float> first = gradient_of(*a, one.flat, {1, 2, 3});
  gradient_of(*a, other, {4, 5, 6, 7});
  one.module->eval();  // as an evaluation leaves it
  EXPECT_EQ(gradient_of(*a, one.flat, {1, 2, 3}), first);
  EXPECT_EQ(gradient_of(*b, one.flat, {1, 2, 3}), first);
  gradient_of(*a, other, {4, 5});
  std::vector<float> initial(other.size());
  a->initial_parameters(initial);
  EXPECT_EQ(initial, one.flat);
}

TEST(Source, RefusesWhatDoesNotFit) {
  Tiny tiny;
  const auto source = TorchSource::create(tiny.task()).value();
  std::vector<float> room(tiny.flat.size());
  std::span<const float> in(tiny.flat);
  const auto refused =
      source->gradient({.samples = {1}, .parameters = {in.first(3)}, .gradient = {room}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("; 3 came"));
  const auto late = source->gradient({.samples = {0, 12}, .parameters = {in}, .gradient = {room}});
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().what, HasSubstr("sample 12 is asked for but the training set has 12"));
  EXPECT_FALSE(source->gradient({.samples = {}, .parameters = {in}, .gradient = {room}}));
  EXPECT_FALSE(TorchSource::create({}));
  EXPECT_FALSE(TorchEvaluation::create(tiny.task()));
}

TEST(Source, ExceptionsBecomeErrors) {
  Tiny tiny;
  const auto loss_error = [&](auto loss) {
    const auto source = TorchSource::create(make_task(tiny.module, 12, loss)).value();
    std::vector<float> gradient(tiny.flat.size());
    const auto result =
        source->gradient({.samples = {1}, .parameters = {tiny.flat}, .gradient = {gradient}});
    return result ? std::string("no error") : to_string(result.error());
  };
  EXPECT_THAT(loss_error([](CatalogModule&, const Tensor&) -> Tensor {
                throw std::runtime_error("no such file\nbacktrace");
              }),
              HasSubstr("computing a gradient: no such file; see that"));
  EXPECT_THAT(loss_error([](CatalogModule& net, const Tensor&) {
                return net.forward(torch::rand({1, 5, 6, 6})).sum();
              }),
              HasSubstr("channels"));
  EXPECT_THAT(loss_error([&](CatalogModule& net, const Tensor& indices) {
                return net.forward(tiny.data.images(indices));
              }),
              HasSubstr("the loss must be one number"));
}

TEST(RecomputeStatistics, IsTheMeanOverTheBatches) {
  Tiny tiny;
  const Tensor all = torch::arange(12, torch::kInt64);
  const std::vector<Tensor> batches{tiny.data.images(all.slice(0, 0, 6)),
                                    tiny.data.images(all.slice(0, 6, 12))};
  tiny.module->forward(batches[0].mul(7));  // must leave no trace
  recompute_statistics(*tiny.module, batches);
  const Tensor mean = tiny.module->named_buffers()["norm1.running_mean"];
  const auto named = tiny.module->named_parameters();
  const auto convolved =
      torch::conv2d(tiny.data.images(all), named["conv1.weight"], named["conv1.bias"], 1, 1);
  EXPECT_TRUE(torch::allclose(mean, convolved.mean({0, 2, 3}), 1e-4, 1e-5));
  EXPECT_FALSE(tiny.module->is_training());
}

TEST(TensorData, NormalisesByChannel) {
  Dataset data = noise_data({2, 1, 1}, 2, 2);
  data.images = {255, 0, 51, 102};
  data.mean = {0.5F, 0.1F};
  data.deviation = {0.25F, 0.5F};
  const TensorData tensors(data);
  const Tensor got = tensors.images(torch::tensor({1, 0}, torch::kInt64)).view({-1});
  EXPECT_TRUE(torch::allclose(got, torch::tensor({-1.2F, 0.6F, 2.0F, -0.2F})));
  EXPECT_EQ(tensors.labels(torch::tensor({1}, torch::kInt64)).item<std::int64_t>(), 1);
}

// --- NativeSource computes what LibTorch does.

// Within 1e-5 of the largest.
void expect_near(std::span<const float> have, std::span<const float> want,
                 const std::string& what) {
  float largest = 0;
  for (const float value : want) largest = std::max(largest, std::abs(value));
  ASSERT_EQ(have.size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(have[i], want[i], 1e-5F * largest) << what << " at " << i;
  }
}

std::vector<std::string> native_models() {
  std::vector<std::string> names;
  for (const Model& model : models()) {
    if (is_native(model.name, {1, 28, 28}, 10)) names.push_back(model.name);
  }
  return names;
}

// Losses, gradients, accuracy, from the same beginning and after some training.
void expect_same(const std::string& model, const std::string& data) {
  const auto native = native_sources(model, data, "").value()(3).value();
  const auto torch = torch_sources(model, data, "").value()(3).value();
  std::vector<float> parameters(native.gradients->parameter_count());
  std::vector<float> initial(torch.gradients->parameter_count());
  native.gradients->initial_parameters(parameters);
  torch.gradients->initial_parameters(initial);
  ASSERT_EQ(parameters, initial);
  std::vector<float> have(parameters.size());
  std::vector<float> want(parameters.size());
  for (std::uint64_t step = 0; step < 40; ++step) {
    std::vector<std::uint64_t> samples(step % 5 == 0 ? 1 : 32);
    std::iota(samples.begin(), samples.end(), 32 * step);
    const auto a = native.gradients->gradient({samples, {parameters}, {have}}).value();
    const auto b = torch.gradients->gradient({samples, {parameters}, {want}}).value();
    EXPECT_NEAR(a.loss, b.loss, 1e-5F * std::max(1.0F, b.loss)) << model << " at step " << step;
    expect_near(have, want, cat(model, ", step ", step));
    for (std::size_t i = 0; i < want.size(); ++i) parameters[i] -= 0.05F * want[i];
  }
  const auto a = native.evaluation->evaluate(parameters).value();
  const auto b = torch.evaluation->evaluate(parameters).value();
  EXPECT_NEAR(a.loss, b.loss, 1e-5 * b.loss);
  EXPECT_GT(b.accuracy, 0.2) << model;
  EXPECT_NEAR(a.accuracy, b.accuracy, 1.5 / 2000);  // a tie may be broken otherwise
}

TEST(Native, EqualsLibTorchOnFashionMnist) {
  EXPECT_THAT(native_models(), ::testing::ElementsAre("softmax", "mlp_small", "mlp"));
  for (const std::string& model : native_models()) expect_same(model, "fashion_mnist");
}

TEST(Native, EqualsLibTorchOnTheGeneratedData) {
  for (const std::string& model : native_models()) expect_same(model, "synthetic");
}

// Each thread of the laboratory has a pair; what it gets must not depend on which thread it is.
TEST(Builtin, PairsShareDataAndGiveTheSameBitsOnEveryThread) {
  const auto make = torch_sources("cnn", "synthetic", "").value();
  struct Got {
    std::vector<float> gradient;
    double loss = 0;
    bool operator==(const Got&) const = default;
  };
  const auto work = [&make](std::uint64_t seed, Got& got) {
    const auto pair = make(seed).value();
    std::vector<float> parameters(pair.gradients->parameter_count());
    got.gradient.resize(parameters.size());
    pair.gradients->initial_parameters(parameters);
    for (int step = 0; step < 3; ++step) {
      ASSERT_TRUE(pair.gradients->gradient({{1, 2, 3, 4}, {parameters}, {got.gradient}}));
      for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= 0.1F * got.gradient[i];
    }
    got.loss = pair.evaluation->evaluate(parameters).value().loss;
    EXPECT_EQ(torch::get_num_threads(), 1);
  };
  std::vector<Got> got(4);
  work(1, got[0]);
  {
    std::thread one([&] { work(1, got[1]); });
    std::thread two([&] { work(1, got[2]); });
    std::thread three([&] { work(2, got[3]); });
    one.join();
    two.join();
    three.join();
  }
  EXPECT_EQ(got[1], got[0]);
  EXPECT_EQ(got[2], got[0]);
  EXPECT_NE(got[3].gradient, got[0].gradient);
  EXPECT_EQ(torch_sources("cnn", "fashion_mnist", "/nowhere").error().code, Code::NotFound);
  EXPECT_EQ(torch_sources("cnnn", "synthetic", "").error().code, Code::InvalidArgument);
}

TEST(Serial, LearnsByHeartAndGivesTheSameBitsTwice) {
  std::vector<std::vector<std::uint64_t>> batches{{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}};
  std::vector<std::string> sums;
  for (int run = 0; run < 2; ++run) {
    Tiny tiny;
    const auto source = TorchSource::create(tiny.task()).value();
    auto trainer = SerialTrainer::create(*source, {.momentum = 0.9}).value();
    const float first = trainer.update(batches, 0.05F).value();
    float last = first;
    for (int i = 0; i < 150; ++i) last = trainer.update(batches, 0.05F).value();
    EXPECT_LT(last, 0.2F * first);
    sums.push_back(trainer.parameters_sha256());
  }
  EXPECT_EQ(sums[0], sums[1]);
}

// The mean over micro-batches is the gradient of the whole batch where no layer looks across
// samples.
// On Fashion-MNIST, as the demo trains it: a mean of means is the mean, to rounding.
TEST(Serial, FourBatchesEqualOneOfTheirSize) {
  const auto source = make_source({}).value();
  const auto train = [&](bool in_one) {
    roles::SampleStream stream(1, find_data("fashion_mnist").value()->train_samples, 32, 6400);
    auto trainer = SerialTrainer::create(*source, {}).value();
    std::vector<float> losses;
    for (std::uint64_t next = 0; next < stream.batches();) {
      std::vector<std::vector<std::uint64_t>> batches(in_one ? 1 : 4);
      for (std::size_t i = 0; i < 4; ++i) {
        auto& batch = batches[in_one ? 0 : i];
        const auto samples = stream.samples_of(next++);
        batch.insert(batch.end(), samples.begin(), samples.end());
      }
      losses.push_back(trainer.update(batches, 0.01F).value());
    }
    return losses;
  };
  const auto losses = train(true);
  EXPECT_EQ(losses.size(), 50U);
  EXPECT_THAT(train(false), ::testing::Pointwise(::testing::FloatNear(1e-4F), losses));
}

TEST(Builtin, MeasuresFashionMnistAndNamesWhatIsMissing) {
  EXPECT_EQ(make_source({.model = "cnn", .data = "fashion_mnist", .path = "/nowhere"}).error().code,
            Code::NotFound);
  EXPECT_EQ(make_evaluation({.model = "cnn", .data = "fashion"}).error().code,
            Code::InvalidArgument);
  const DataSource& source = *find_data("fashion_mnist").value();
  ASSERT_TRUE(std::filesystem::is_directory(source.default_path)) << source.fix;
  const auto training = make_source({}).value();
  std::vector<float> parameters(training->parameter_count());
  training->initial_parameters(parameters);
  const auto evaluation = make_evaluation({}).value();
  ASSERT_EQ(evaluation->parameter_count(), parameters.size());
  const auto before = evaluation->evaluate(parameters).value();
  EXPECT_NEAR(before.accuracy, 0.1, 0.1);
  EXPECT_NEAR(before.loss, std::log(10), 1);
  EXPECT_FALSE(evaluation->evaluate(std::span(parameters).first(5)));
  std::ranges::fill(parameters, 0.0F);  // all classes alike
  const auto blank = evaluation->evaluate(parameters).value();
  EXPECT_DOUBLE_EQ(blank.accuracy, 0.1);
  EXPECT_NEAR(blank.loss, std::log(10), 1e-6);
}

}  // namespace
}  // namespace paceline::train
