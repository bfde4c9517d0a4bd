#include "paceline/train/catalog.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paceline/train/data.h"

namespace paceline::train {
namespace {

using ::testing::HasSubstr;

std::uint64_t count(std::string_view model, const Shape& image, std::int64_t classes) {
  return parameter_count(model, image, classes).value();
}

// The counts by hand or from the papers' own tables, so that a changed layer does not go unseen.
TEST(Catalog, CountsTheParameters) {
  EXPECT_EQ(count("softmax", {1, 8, 8}, 10), 64U * 10 + 10);
  EXPECT_EQ(count("mlp_small", {1, 8, 8}, 10), 64U * 32 + 32 + 32 * 10 + 10);
  EXPECT_EQ(count("mlp", {1, 28, 28}, 10), 784U * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10);
  EXPECT_EQ(count("lenet", {1, 28, 28}, 10), 61706U);
  EXPECT_EQ(count("cnn", {1, 28, 28}, 10),
            16U * 9 + 16 + 32 * 16 * 9 + 32 + 7 * 7 * 32 * 64 + 64 + 64 * 10 + 10);
  EXPECT_EQ(count("alexnet_small", {3, 32, 32}, 10), 145578U);
  // He et al. 2016, table 6: 0.27 M and 1.7 M.
  EXPECT_EQ(count("resnet20", {3, 32, 32}, 10), 269722U);
  EXPECT_EQ(count("resnet110", {3, 32, 32}, 10), 1727962U);
  EXPECT_EQ(count("resnet50", {3, 32, 32}, 100), 755802U + 90 * 64 + 90);
  // 13 convolutions of configuration D, two numbers a channel for batch norm, dense layers.
  EXPECT_EQ(count("vgg16", {3, 32, 32}, 10), 14710464U + 2 * 4224 + 2 * (512 * 513) + 5130);
}

TEST(Catalog, EveryModelFitsItsDataSet) {
  for (const Model& model : models()) {
    const auto data = find_data(model.data);
    ASSERT_TRUE(data) << model.name;
    const auto layers = model.layers((*data)->shape, (*data)->classes);
    ASSERT_TRUE(layers) << to_string(layers.error());
    EXPECT_EQ(layers->front().in, (*data)->shape);
    EXPECT_EQ(layers->back().out, (Shape{(*data)->classes, 1, 1}));
    const auto norms = std::ranges::count(*layers, Op::BatchNorm, &Layer::op);
    EXPECT_EQ(model.batch_norm, norms > 0) << model.name;
    EXPECT_FALSE(model.doc.empty());
    EXPECT_FALSE(model.source.empty());
  }
}

// He et al. 2016: maps of 32, 16 and 8, each stage halves once.
TEST(Catalog, ResNetsHalveTheImageTwice) {
  const auto layers = find_model("resnet20").value()->layers({3, 32, 32}, 10).value();
  const auto pool = std::ranges::find(layers, Op::MeanPool, &Layer::op);
  ASSERT_NE(pool, layers.end());
  EXPECT_EQ(pool->in, (Shape{64, 8, 8}));
}

TEST(Catalog, NamesEachParameterOnce) {
  for (const Model& model : models()) {
    std::set<std::string> names;
    const auto list = parameters(model.name, {3, 32, 32}, 10).value();
    for (const Parameter& parameter : list) names.insert(parameter.name);
    EXPECT_EQ(names.size(), list.size()) << model.name;
  }
  const auto list = parameters("resnet20", {3, 32, 32}, 10).value();
  EXPECT_EQ(list.front().name, "conv1.weight");
  EXPECT_EQ(list.front().shape, (std::vector<std::int64_t>{16, 3, 3, 3}));
  EXPECT_EQ(list.at(3).name, "stage1.0.conv1.weight");
  EXPECT_EQ(list.back().name, "dense.bias");
}

TEST(Catalog, TellsTheNearestName) {
  const auto model = find_model("resnet21");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Code::InvalidArgument);
  EXPECT_THAT(model.error().fix, HasSubstr("did you mean resnet20"));
  EXPECT_THAT(find_model("transformer").error().fix, HasSubstr("mlp, lenet, cnn"));
  EXPECT_THAT(find_data("fashion-mnist").error().fix, HasSubstr("fashion_mnist"));
}

TEST(Catalog, RefusesImagesThatAreTooSmallAndNonsense) {
  const auto vgg = parameters("vgg16", {1, 28, 28}, 10);  // five poolings halve 28 to nothing
  ASSERT_FALSE(vgg);
  EXPECT_EQ(vgg.error().code, Code::InvalidArgument);
  EXPECT_THAT(vgg.error().what, HasSubstr("vgg16 on images of 1 x 28 x 28"));
  for (const Shape& shape : {Shape{0, 28, 28}, Shape{1, -1, 28}, Shape{1, 28, 1LL << 40}}) {
    EXPECT_FALSE(parameters("mlp", shape, 10)) << to_string(shape);
  }
  EXPECT_FALSE(parameters("mlp", {1, 28, 28}, 0));
  Network net({1, 3, 3});
  Network body(net.shape());
  body.conv("conv", 1, 5, 1, 0, false);
  net.residual(std::move(body), 1);
  EXPECT_THAT(std::move(net).finish().error().what, HasSubstr("conv gets 1 x 3 x 3"));
}

// Other machines' runs begin with the same numbers: they are part of the contract.
TEST(Initialise, DependsOnTheSeedAndTheName) {
  const auto list = parameters("lenet", {1, 28, 28}, 10).value();
  std::vector<float> a(parameter_count(list));
  std::vector<float> b(a.size());
  initialise(list, 1, a);
  initialise(list, 1, b);
  EXPECT_EQ(a, b);
  EXPECT_FLOAT_EQ(a[0], 0.11643046F);
  initialise(list, 2, b);
  EXPECT_NE(a, b);
  const std::vector<Parameter> second(list.begin() + 2, list.end());
  std::vector<float> rest(parameter_count(second));
  initialise(second, 1, rest);
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), a.begin() + 156));  // conv1's own come before
}

TEST(Initialise, IsGlorotUniform) {
  const auto list = parameters("resnet20", {3, 32, 32}, 10).value();
  std::vector<float> flat(parameter_count(list));
  initialise(list, 3, flat);
  std::size_t at = 0;
  for (const Parameter& parameter : list) {
    const auto size = static_cast<std::size_t>(parameter.size());
    const std::span<const float> values = std::span(flat).subspan(at, size);
    at += size;
    double largest = 0;
    double square = 0;
    for (const float value : values) {
      largest = std::max(largest, std::abs(static_cast<double>(value)));
      square += static_cast<double>(value) * static_cast<double>(value);
    }
    if (parameter.init == Init::GlorotUniform) {
      const auto window = parameter.shape.size() == 4 ? 9 : 1;
      const auto fans = static_cast<double>((parameter.shape[0] + parameter.shape[1]) * window);
      EXPECT_LE(largest, std::sqrt(6 / fans)) << parameter.name;
      const double variance = square / static_cast<double>(size);
      EXPECT_NEAR(variance * fans / 2, 1, 0.2) << parameter.name;
    } else {
      const float want =
          parameter.name.ends_with("norm1.weight") || parameter.name.ends_with("norm2.weight")
              ? 1.0F
              : 0.0F;
      for (const float value : values) ASSERT_EQ(value, want) << parameter.name;
    }
  }
}

}  // namespace
}  // namespace paceline::train
