#include "paceline/train/native_source.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paceline/base/hash.h"
#include "paceline/base/random.h"

namespace paceline::train {
namespace {

using ::testing::HasSubstr;
using Samples = std::vector<std::uint64_t>;

std::shared_ptr<Dataset> noise_data(const Shape& shape, std::int64_t classes, std::size_t samples) {
  Rng rng(5);
  auto data = std::make_shared<Dataset>();
  data->shape = shape;
  data->classes = classes;
  for (std::int64_t i = 0; i < shape.channels; ++i) {
    data->mean.push_back(0.3F + 0.1F * static_cast<float>(i));
    data->deviation.push_back(0.25F + 0.05F * static_cast<float>(i));
  }
  data->images.resize(samples * static_cast<std::size_t>(shape.size()));
  for (auto& pixel : data->images) pixel = static_cast<std::uint8_t>(rng.below(256));
  for (std::size_t i = 0; i < samples; ++i) {
    data->labels.push_back(
        static_cast<std::uint8_t>(rng.below(static_cast<std::uint64_t>(classes))));
  }
  return data;
}

// Biases and weights that are no starting values: zeros would hide a wrong place.
std::vector<float> scattered(const roles::GradientSource& source) {
  Rng rng(11);
  std::vector<float> parameters(source.parameter_count());
  for (float& value : parameters) value = static_cast<float>(0.2 * (2 * rng.unit() - 1));
  return parameters;
}

// --- The textbook's network, a sample and a number at a time, in double.

struct Reference {
  double loss = 0;  // mean
  double accuracy = 0;
  std::vector<double> gradient;
};

using Numbers = std::vector<double>;

Numbers image_of(const Dataset& data, std::uint64_t sample) {
  Numbers x;
  const auto plane = static_cast<std::size_t>(data.shape.height * data.shape.width);
  for (std::size_t i = 0; i < plane * data.mean.size(); ++i) {
    const double pixel = data.images[sample * plane * data.mean.size() + i];
    const double mean = static_cast<double>(data.mean[i / plane]);
    x.push_back((pixel / 255 - mean) / static_cast<double>(data.deviation[i / plane]));
  }
  return x;
}

// list: weight [out, in] and bias of each dense layer, ReLU between.
void add_sample(const std::vector<Parameter>& list, const std::vector<float>& flat,
                const Numbers& image, std::size_t label, Reference& into) {
  std::vector<Numbers> inputs{image};
  std::vector<std::size_t> places;
  std::size_t at = 0;
  for (std::size_t i = 0; i < list.size(); i += 2) {
    const auto rows = static_cast<std::size_t>(list[i].shape[0]);
    const auto cols = static_cast<std::size_t>(list[i].shape[1]);
    places.push_back(at);
    Numbers out;
    for (std::size_t r = 0; r < rows; ++r) {
      double sum = static_cast<double>(flat[at + rows * cols + r]);
      for (std::size_t c = 0; c < cols; ++c) {
        sum += static_cast<double>(flat[at + r * cols + c]) * inputs.back()[c];
      }
      out.push_back(i + 2 == list.size() ? sum : std::max(sum, 0.0));
    }
    inputs.push_back(out);
    at += rows * cols + rows;
  }
  Numbers delta = inputs.back();
  into.accuracy +=
      std::ranges::max_element(delta) - delta.begin() == static_cast<std::ptrdiff_t>(label) ? 1 : 0;
  double all = 0;
  for (const double logit : delta) all += std::exp(logit);
  into.loss += std::log(all) - delta[label];
  for (double& value : delta) value = std::exp(value) / all;
  delta[label] -= 1;
  for (std::size_t layer = places.size(); layer-- > 0;) {
    const Numbers& in = inputs[layer];
    Numbers below(in.size());
    for (std::size_t r = 0; r < delta.size(); ++r) {
      for (std::size_t c = 0; c < in.size(); ++c) {
        const std::size_t place = places[layer] + r * in.size() + c;
        into.gradient[place] += delta[r] * in[c];
        below[c] += delta[r] * static_cast<double>(flat[place]);
      }
      into.gradient[places[layer] + delta.size() * in.size() + r] += delta[r];
    }
    for (std::size_t c = 0; c < in.size(); ++c) below[c] = in[c] > 0 ? below[c] : 0;
    delta = below;
  }
}

Reference reference(std::string_view model, const Dataset& data, const std::vector<float>& flat,
                    const Samples& samples) {
  const auto list = parameters(model, data.shape, data.classes).value();
  Reference result;
  result.gradient.resize(flat.size());
  for (const std::uint64_t sample : samples) {
    add_sample(list, flat, image_of(data, sample), data.labels[sample], result);
  }
  const auto count = static_cast<double>(samples.size());
  result.loss /= count;
  result.accuracy /= count;
  for (double& value : result.gradient) value /= count;
  return result;
}

struct Answer {
  float loss = 0;
  std::vector<float> gradient;
};

Answer ask(roles::GradientSource& source, const std::vector<float>& parameters,
           const Samples& samples) {
  Answer answer;
  answer.gradient.resize(parameters.size(), 7);
  const auto result = source.gradient(
      {.samples = samples, .parameters = {parameters}, .gradient = {answer.gradient}});
  EXPECT_TRUE(result) << to_string(result.error());
  if (result) answer.loss = result->loss;
  return answer;
}

void expect_near(const Answer& have, const Reference& want) {
  EXPECT_NEAR(have.loss, want.loss, 1e-5 * want.loss);
  double largest = 0;
  for (const double value : want.gradient) largest = std::max(largest, std::abs(value));
  ASSERT_EQ(have.gradient.size(), want.gradient.size());
  for (std::size_t i = 0; i < want.gradient.size(); ++i) {
    ASSERT_NEAR(have.gradient[i], want.gradient[i], 1e-5 * largest) << i;
  }
}

Samples range(std::uint64_t count) {
  Samples samples(count);
  std::iota(samples.begin(), samples.end(), 0);
  return samples;
}

// Batches of one, with repeated samples, and of more than are computed at once.
TEST(NativeSource, EqualsTheTextbookInDouble) {
  for (const Shape& shape : {Shape{1, 5, 7}, Shape{3, 4, 4}}) {
    const auto data = noise_data(shape, 10, 700);
    for (const std::string model : {"softmax", "mlp_small", "mlp"}) {
      const auto source = NativeSource::create(model, data, 1).value();
      const std::vector<float> flat = scattered(*source);
      Samples long_batch = range(700);
      std::ranges::reverse(long_batch);
      for (const Samples& samples :
           {Samples{3}, Samples{5, 5, 9, 5}, Samples{699, 0, 17}, range(32), long_batch}) {
        expect_near(ask(*source, flat, samples), reference(model, *data, flat, samples));
      }
    }
  }
}

TEST(NativeEvaluation, EqualsTheTextbookInDouble) {
  const auto data = noise_data({3, 4, 4}, 10, 300);
  const auto source = NativeSource::create("mlp", data, 1).value();
  const auto evaluation = NativeEvaluation::create("mlp", data).value();
  ASSERT_EQ(evaluation->parameter_count(), source->parameter_count());
  const std::vector<float> flat = scattered(*source);
  const auto have = evaluation->evaluate(flat).value();
  const Reference want = reference("mlp", *data, flat, range(300));
  EXPECT_NEAR(have.loss, want.loss, 1e-5 * want.loss);
  EXPECT_DOUBLE_EQ(have.accuracy, want.accuracy);
}

TEST(NativeSource, BeginsWithTheSeedsParameters) {
  const auto source = NativeSource::create("mlp", noise_data({1, 8, 8}, 10, 4), 4).value();
  const auto list = parameters("mlp", {1, 8, 8}, 10).value();
  std::vector<float> want(parameter_count(list));
  initialise(list, 4, want);
  std::vector<float> have(source->parameter_count());
  ASSERT_EQ(have.size(), want.size());
  source->initial_parameters(have);
  EXPECT_EQ(have, want);
}

// Servers cut the vector where they like, and put the pieces where they like.
TEST(NativeSource, ShardsMayBeCutAnywhere) {
  const auto source = NativeSource::create("mlp", noise_data({1, 6, 6}, 10, 40), 1).value();
  const std::vector<float> flat = scattered(*source);
  const Answer whole = ask(*source, flat, range(9));
  std::vector<std::vector<float>> in;
  std::vector<std::vector<float>> out;
  std::size_t from = 0;
  for (const std::size_t size : {std::size_t{1}, std::size_t{0}, std::size_t{4603},
                                 std::size_t{127}, std::size_t{3}, flat.size() - 4734}) {
    const auto begin = flat.begin() + static_cast<std::ptrdiff_t>(from);
    in.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
    out.emplace_back(size + 1);  // one float further, so that no shard is aligned as a buffer is
    from += size;
  }
  roles::GradientTask task{.samples = range(9), .parameters = {}, .gradient = {}};
  for (const auto& shard : in) task.parameters.emplace_back(shard);
  for (auto& shard : out) task.gradient.push_back(std::span(shard).subspan(1));
  ASSERT_TRUE(source->gradient(task));
  std::vector<float> joined;
  for (const auto& shard : out) joined.insert(joined.end(), shard.begin() + 1, shard.end());
  EXPECT_EQ(joined, whole.gradient);
}

// Else a run of the laboratory would depend on which worker was asked before.
TEST(NativeSource, AGradientDependsOnNothingButItsTask) {
  const auto data = noise_data({1, 8, 8}, 10, 300);
  const auto one = NativeSource::create("mlp", data, 1).value();
  const auto two = NativeSource::create("mlp", data, 2).value();
  const std::vector<float> flat = scattered(*one);
  std::vector<float> other = flat;
  for (float& value : other) value *= 1.5F;
  const Answer first = ask(*one, flat, {1, 2, 3});
  const Answer wide = ask(*one, other, range(300));
  const Answer second = ask(*one, flat, {1, 2, 3});
  EXPECT_EQ(second.gradient, first.gradient);
  EXPECT_EQ(second.loss, first.loss);
  EXPECT_EQ(ask(*two, other, range(300)).gradient, wide.gradient);
  EXPECT_EQ(ask(*two, flat, {1, 2, 3}).gradient, first.gradient);
}

#if defined(__SSE2__) && !defined(__AVX__) && !defined(__FMA__)
// Every compiler, every level of optimisation, every x86-64 processor.
TEST(NativeSource, HasTheSameBitsOnEveryMachine) {
  const auto source = NativeSource::create("mlp", noise_data({1, 28, 28}, 10, 64), 1).value();
  std::vector<float> flat(source->parameter_count());
  source->initial_parameters(flat);
  Answer answer;
  for (int step = 0; step < 5; ++step) {
    answer = ask(*source, flat, range(51));
    for (std::size_t i = 0; i < flat.size(); ++i) flat[i] -= 0.1F * answer.gradient[i];
  }
  EXPECT_EQ(answer.loss, 0.55416524F);
  EXPECT_EQ(sha256_hex(std::as_bytes(std::span(answer.gradient))),
            "2751c828aeb3ccaacb9e4463194091e1e17ff08634b83c67dd09c18348ccde50");
}
#endif

TEST(NativeSource, LearnsByHeart) {
  const auto source = NativeSource::create("mlp", noise_data({1, 6, 6}, 10, 40), 1).value();
  std::vector<float> flat(source->parameter_count());
  source->initial_parameters(flat);
  const float first = ask(*source, flat, range(40)).loss;
  float last = first;
  for (int step = 0; step < 200; ++step) {
    const Answer answer = ask(*source, flat, range(40));
    last = answer.loss;
    for (std::size_t i = 0; i < flat.size(); ++i) flat[i] -= 0.2F * answer.gradient[i];
  }
  EXPECT_LT(last, 0.05F * first);
}

// A run that diverges goes on, as a live one does.
TEST(NativeSource, NumbersThatAreNotFiniteGoThrough) {
  const auto data = noise_data({1, 6, 6}, 10, 400);
  const auto source = NativeSource::create("mlp", data, 1).value();
  const auto evaluation = NativeEvaluation::create("mlp", data).value();
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e30F}) {
    const std::vector<float> flat(source->parameter_count(), value);
    EXPECT_TRUE(std::isnan(ask(*source, flat, range(5)).loss)) << value;
    const auto measured = evaluation->evaluate(flat);
    ASSERT_TRUE(measured);
    EXPECT_TRUE(std::isnan(measured->loss));
    EXPECT_LT(measured->accuracy, 0.3);
  }
  std::vector<float> flat = scattered(*source);
  const Answer before = ask(*source, flat, range(5));
  flat.back() = std::numeric_limits<float>::quiet_NaN();  // the last class's bias
  const Answer broken = ask(*source, flat, range(5));
  EXPECT_TRUE(
      std::ranges::all_of(broken.gradient, [](float x) { return std::isnan(x) || x == 0; }));
  flat.back() = scattered(*source).back();
  EXPECT_EQ(ask(*source, flat, range(5)).gradient, before.gradient);
}

TEST(NativeSource, RefusesWhatDoesNotFit) {
  const auto data = noise_data({1, 6, 6}, 10, 12);
  const auto source = NativeSource::create("mlp", data, 1).value();
  std::vector<float> in(source->parameter_count());
  std::vector<float> room(in.size());
  const auto refusal = [&](const roles::GradientTask& task) {
    const auto result = source->gradient(task);
    return result ? std::string("nothing") : result.error().what;
  };
  const std::span<const float> view(in);
  EXPECT_THAT(refusal({.samples = {1}, .parameters = {view.first(3)}, .gradient = {room}}),
              HasSubstr("; 3 came"));
  EXPECT_THAT(refusal({.samples = {1}, .parameters = {view, view}, .gradient = {room}}),
              HasSubstr("came"));
  EXPECT_THAT(refusal({.samples = {1}, .parameters = {view}, .gradient = {}}),
              HasSubstr("room for a gradient of 0"));
  EXPECT_THAT(refusal({.samples = {0, 12}, .parameters = {view}, .gradient = {room}}),
              HasSubstr("sample 12 is asked for but the training set has 12"));
  EXPECT_THAT(refusal({.samples = {~0ULL}, .parameters = {view}, .gradient = {room}}),
              HasSubstr("is asked for"));
  EXPECT_THAT(refusal({.samples = {}, .parameters = {view}, .gradient = {room}}),
              HasSubstr("no samples"));
  const auto evaluation = NativeEvaluation::create("mlp", data).value();
  EXPECT_THAT(evaluation->evaluate(view.first(5)).error().what, HasSubstr("; 5 came"));
}

TEST(NativeSources, ShareTheDataAndNameWhatIsMissing) {
  const auto make = native_sources("mlp_small", "synthetic", "").value();
  const auto one = make(1).value();
  const auto two = make(2).value();
  std::vector<float> flat(one.gradients->parameter_count());
  two.gradients->initial_parameters(flat);
  const auto list = parameters("mlp_small", {1, 8, 8}, 10).value();
  std::vector<float> want(flat.size());
  initialise(list, 2, want);
  EXPECT_EQ(flat, want);
  EXPECT_EQ(ask(*one.gradients, flat, {7999}).loss, ask(*two.gradients, flat, {7999}).loss);
  EXPECT_NEAR(one.evaluation->evaluate(flat)->accuracy, 0.1, 0.1);
  EXPECT_EQ(native_sources("cnn", "synthetic", "").error().code, Code::InvalidArgument);
  EXPECT_EQ(native_sources("mlp", "synthetics", "").error().code, Code::InvalidArgument);
  EXPECT_EQ(native_sources("mlp", "mnist", "/nowhere").error().code, Code::NotFound);
}

// The data set is made so that policies can be told apart: neither trivial nor out of reach.
TEST(NativeSources, TheGeneratedDataNeedsAHiddenLayer) {
  std::vector<double> accuracy;
  for (const std::string model : {"softmax", "mlp_small"}) {
    const auto pair = native_sources(model, "synthetic", "").value()(1).value();
    std::vector<float> flat(pair.gradients->parameter_count());
    pair.gradients->initial_parameters(flat);
    for (std::uint64_t batch = 0; batch < 6 * 250; ++batch) {
      Samples samples(32);
      std::iota(samples.begin(), samples.end(), batch % 250 * 32);
      const Answer answer = ask(*pair.gradients, flat, samples);
      for (std::size_t i = 0; i < flat.size(); ++i) flat[i] -= 0.05F * answer.gradient[i];
    }
    accuracy.push_back(pair.evaluation->evaluate(flat)->accuracy);
  }
  EXPECT_NEAR(accuracy[0], 0.73, 0.02);
  EXPECT_NEAR(accuracy[1], 0.90, 0.02);
}

TEST(NativeSource, RefusesOtherModelsAndBrokenData) {
  EXPECT_TRUE(is_native("mlp", {3, 32, 32}, 10));
  for (const std::string model : {"lenet", "cnn", "resnet20", "mlpp"}) {
    EXPECT_FALSE(is_native(model, {3, 32, 32}, 10)) << model;
  }
  EXPECT_FALSE(is_native("mlp", {3, 32, 32}, 0));
  const auto refusal = [](const std::string& model, std::shared_ptr<const Dataset> data) {
    const auto source = NativeSource::create(model, data, 1);
    const auto evaluation = NativeEvaluation::create(model, data);
    EXPECT_EQ(source.has_value(), evaluation.has_value());
    return source ? std::string("nothing") : source.error().what;
  };
  const auto data = noise_data({1, 28, 28}, 10, 12);
  EXPECT_THAT(refusal("cnn", data), HasSubstr("cnn is not of dense layers alone"));
  EXPECT_THAT(refusal("mlpp", data), HasSubstr("no model is called"));
  EXPECT_THAT(refusal("mlp", nullptr), HasSubstr("no samples"));
  EXPECT_THAT(refusal("mlp", std::make_shared<Dataset>()), HasSubstr("no samples"));
  auto label = std::make_shared<Dataset>(*data);
  label->labels[3] = 10;
  EXPECT_THAT(refusal("mlp", label), HasSubstr("a label is 10"));
  auto image = std::make_shared<Dataset>(*data);
  image->images.pop_back();
  EXPECT_THAT(refusal("mlp", image), HasSubstr("1 x 28 x 28"));
  auto mean = std::make_shared<Dataset>(*data);
  mean->mean.clear();
  EXPECT_THAT(refusal("mlp", mean), HasSubstr("1 x 28 x 28"));
}

}  // namespace
}  // namespace paceline::train
