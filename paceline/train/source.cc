#include "paceline/train/source.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "paceline/base/check.h"
#include "paceline/base/text.h"
#include "paceline/train/builtin.h"

namespace paceline::train {
namespace {

using torch::Tensor;

// Measured on the whole test set in pieces of this many images.
constexpr std::int64_t kEvaluationBatch = 256;
// Training images that batch norm's statistics are recomputed from, evenly spaced over the set.
constexpr std::int64_t kStatisticsBatches = 16;

void set_up_torch() {
  static std::once_flag once;
  std::call_once(once, [] {
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
    // Debugging aid of the deterministic mode: fills what is written right after.
    at::globalContext().setDeterministicFillUninitializedMemory(false);
  });
  // OpenMP keeps the number by thread: a new one would begin with all processors.
  thread_local const bool alone = (torch::set_num_threads(1), true);
  static_cast<void>(alone);
}

std::string first_line(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

tl::unexpected<Error> torch_error(const std::string& doing, const std::string& text) {
  if (text.find("can't allocate memory") != std::string::npos) {
    return fail(Code::Refused, cat(doing, ": ", first_line(text)),
                "take a smaller batch or model, or a machine with more memory");
  }
  return fail(Code::InvalidArgument, cat(doing, ": ", first_line(text)),
              "see that model, loss and data fit together");
}

// Runs `call`; LibTorch's exceptions become errors.
template <typename Call>
auto at_border(const std::string& doing, Call call)
    -> Result<std::remove_cvref_t<std::invoke_result_t<Call>>> {
  try {
    return call();
  } catch (const c10::Error& error) {
    return torch_error(doing, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return fail(Code::Refused, cat(doing, ": out of memory"), "take a smaller batch or model");
  } catch (const std::exception& error) {
    return torch_error(doing, error.what());
  }
}

Status check_task(const Task& task) {
  if (!task.module)
    return fail(Code::InvalidArgument, "the task has no module", "set Task::module");
  return {};
}

float gradient_of(const Task& task, FlatView& view, const roles::GradientTask& what) {
  view.set_parameters(what.parameters);
  task.module->train();  // an evaluation may share the module
  std::vector<std::int64_t> indices(what.samples.begin(), what.samples.end());
  view.drop_gradient();
  const Tensor loss = task.loss(torch::tensor(indices, torch::kInt64));
  TORCH_CHECK(loss.defined() && loss.numel() == 1, "the loss must be one number, the mean");
  loss.backward();
  view.get_gradient(what.gradient);
  return loss.item<float>();
}

// --- The catalogue's models

struct Parts {
  std::shared_ptr<CatalogModule> module;
  const DataSource* source = nullptr;
  bool batch_norm = false;
};

Result<Parts> parts_of(const Builtin& builtin) {
  set_up_torch();
  const auto model = find_model(builtin.model);
  if (!model) return fail(model.error());
  const auto source = find_data(builtin.data);
  if (!source) return fail(source.error());
  const auto made = at_border(cat("making the model ", builtin.model), [&] {
    return make_module(builtin.model, (*source)->shape, (*source)->classes, builtin.seed);
  });
  if (!made) return fail(made.error());
  if (!*made) return fail(made->error());
  return Parts{**made, *source, (*model)->batch_norm};
}

Result<std::shared_ptr<const TensorData>> load_tensors(const DataSource& source,
                                                       const std::string& path, Split split) {
  auto data = load(source, path, split);
  if (!data) return fail(data.error());
  return std::make_shared<const TensorData>(std::move(*data));
}

std::vector<Tensor> statistics_batches(const TensorData& train) {
  const auto size = static_cast<std::int64_t>(train.size());
  const auto count = std::min(size, kStatisticsBatches * kEvaluationBatch);
  const Tensor indices = torch::arange(count, torch::kInt64).mul(size / count);
  std::vector<Tensor> batches;
  for (const Tensor& some : indices.split(kEvaluationBatch)) batches.push_back(train.images(some));
  return batches;
}

roles::EvaluationResult measure(CatalogModule& module, const TensorData& test) {
  module.eval();
  double loss = 0;
  std::int64_t right = 0;
  const auto size = static_cast<std::int64_t>(test.size());
  for (const Tensor& indices : torch::arange(size, torch::kInt64).split(kEvaluationBatch)) {
    const Tensor labels = test.labels(indices);
    const Tensor logits = module.forward(test.images(indices));
    loss += torch::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum).item<double>();
    right += logits.argmax(1).eq(labels).sum().item<std::int64_t>();
  }
  return {.accuracy = static_cast<double>(right) / static_cast<double>(size),
          .loss = loss / static_cast<double>(size)};
}

Result<std::unique_ptr<TorchSource>> source_on(const Parts& parts,
                                               std::shared_ptr<const TensorData> train) {
  const std::uint64_t size = train->size();
  return TorchSource::create(make_task(
      parts.module, size, [data = std::move(train)](CatalogModule& module, const Tensor& indices) {
        return torch::cross_entropy_loss(module.forward(data->images(indices)),
                                         data->labels(indices));
      }));
}

// batches: what batch norm's statistics are recomputed from; none without batch norm.
Result<std::unique_ptr<TorchEvaluation>> evaluation_on(const Parts& parts,
                                                       std::shared_ptr<const TensorData> test,
                                                       std::vector<Tensor> batches) {
  return TorchEvaluation::create(
      {.module = parts.module,
       .evaluate = [module = parts.module, test = std::move(test), batches = std::move(batches)] {
         if (!batches.empty()) recompute_statistics(*module, batches);
         return measure(*module, *test);
       }});
}

}  // namespace

TorchSource::TorchSource(Task task) : task_(std::move(task)), view_(*task_.module) {
  initial_.resize(view_.size());
  view_.get_parameters(initial_);
}

Result<std::unique_ptr<TorchSource>> TorchSource::create(Task task) {
  set_up_torch();
  if (auto checked = check_task(task); !checked) return fail(checked.error());
  if (!task.loss || task.samples == 0) {
    return fail(Code::InvalidArgument, "the task has no loss or no samples", "see make_task");
  }
  return at_border("taking the model over",
                   [&] { return std::unique_ptr<TorchSource>(new TorchSource(std::move(task))); });
}

void TorchSource::initial_parameters(std::span<float> parameters) {
  PACELINE_CHECK(parameters.size() == initial_.size(), "one float for each parameter");
  std::ranges::copy(initial_, parameters.begin());
}

Status TorchSource::check(const roles::GradientTask& task) const {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  for (const auto& shard : task.parameters) in += shard.size();
  for (const auto& shard : task.gradient) out += shard.size();
  if (in != view_.size() || out != view_.size()) {
    return fail(Code::InvalidArgument,
                cat("the model has ", view_.size(), " parameters; ", in,
                    " came and there is room "
                    "for a gradient of ",
                    out),
                "use the same model in every process of the run");
  }
  if (task.samples.empty()) return fail(Code::InvalidArgument, "a gradient of no samples");
  const std::uint64_t last = std::ranges::max(task.samples);
  if (last < task_.samples) return {};
  return fail(Code::InvalidArgument,
              cat("sample ", last, " is asked for but the training set has ", task_.samples),
              "use the same data in every process of the run");
}

Result<roles::GradientResult> TorchSource::gradient(const roles::GradientTask& task) {
  if (auto checked = check(task); !checked) return fail(checked.error());
  set_up_torch();
  return at_border("computing a gradient",
                   [&] { return roles::GradientResult{.loss = gradient_of(task_, view_, task)}; });
}

TorchEvaluation::TorchEvaluation(Task task) : task_(std::move(task)), view_(*task_.module) {}

Result<std::unique_ptr<TorchEvaluation>> TorchEvaluation::create(Task task) {
  set_up_torch();
  if (auto checked = check_task(task); !checked) return fail(checked.error());
  if (!task.evaluate) {
    return fail(Code::InvalidArgument, "the task cannot be evaluated", "set Task::evaluate");
  }
  return at_border("taking the model over", [&] {
    return std::unique_ptr<TorchEvaluation>(new TorchEvaluation(std::move(task)));
  });
}

Result<roles::EvaluationResult> TorchEvaluation::evaluate(std::span<const float> parameters) {
  if (parameters.size() != view_.size()) {
    return fail(Code::InvalidArgument,
                cat("the model has ", view_.size(), " parameters; ", parameters.size(), " came"),
                "use the same model in every process of the run");
  }
  set_up_torch();
  return at_border("evaluating", [&] {
    const torch::NoGradGuard no_grad;
    view_.set_parameters({&parameters, 1});
    return task_.evaluate();
  });
}

Result<std::unique_ptr<roles::GradientSource>> make_source(const Builtin& builtin) {
  const auto parts = parts_of(builtin);
  if (!parts) return fail(parts.error());
  const auto train = load_tensors(*parts->source, builtin.path, Split::Train);
  if (!train) return fail(train.error());
  return source_on(*parts, *train);
}

Result<std::unique_ptr<roles::Evaluation>> make_evaluation(const Builtin& builtin) {
  const auto parts = parts_of(builtin);
  if (!parts) return fail(parts.error());
  const auto test = load_tensors(*parts->source, builtin.path, Split::Test);
  if (!test) return fail(test.error());
  std::vector<Tensor> batches;
  if (parts->batch_norm) {
    const auto train = load_tensors(*parts->source, builtin.path, Split::Train);
    if (!train) return fail(train.error());
    batches = statistics_batches(**train);
  }
  return evaluation_on(*parts, *test, std::move(batches));
}

Result<SourcesFactory> torch_sources(const std::string& model, const std::string& data,
                                     const std::string& path) {
  const Builtin first{.model = model, .data = data, .path = path};
  const auto known = parts_of(first);
  if (!known) return fail(known.error());
  const auto train = load_tensors(*known->source, path, Split::Train);
  if (!train) return fail(train.error());
  const auto test = load_tensors(*known->source, path, Split::Test);
  if (!test) return fail(test.error());
  std::vector<Tensor> batches;
  if (known->batch_norm) batches = statistics_batches(**train);
  return [builtin = first, train = *train, test = *test,
          batches = std::move(batches)](std::uint64_t seed) -> Result<Sources> {
    Builtin seeded = builtin;
    seeded.seed = seed;
    // A module each: they are set to different parameters and modes.
    const auto training = parts_of(seeded);
    if (!training) return fail(training.error());
    const auto measuring = parts_of(seeded);
    if (!measuring) return fail(measuring.error());
    auto gradients = source_on(*training, train);
    if (!gradients) return fail(gradients.error());
    auto evaluation = evaluation_on(*measuring, test, batches);
    if (!evaluation) return fail(evaluation.error());
    return Sources{std::move(*gradients), std::move(*evaluation)};
  };
}

}  // namespace paceline::train
