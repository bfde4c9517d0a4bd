// A gradient and an evaluation as the laboratory asks for them, against LibTorch on one thread:
// both in turn in one loop, so that what disturbs the machine disturbs both. x_torch is the ratio
// of their times.

#include <chrono>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "paceline/train/builtin.h"
#include "paceline/train/process.h"

namespace paceline::train {
namespace {

using Clock = std::chrono::steady_clock;

struct Both {
  Sources native;
  Sources torch;
};

Result<Both> make_both(const std::string& model, const std::string& data) {
  const auto native = native_sources(model, data, "");
  if (!native) return fail(native.error());
  const auto torch = torch_sources(model, data, "");
  if (!torch) return fail(torch.error());
  auto one = (*native)(1);
  if (!one) return fail(one.error());
  auto two = (*torch)(1);
  if (!two) return fail(two.error());
  return Both{std::move(*one), std::move(*two)};
}

// Runs both until the benchmark has enough of it.
template <typename Call>
void race(benchmark::State& state, const Both& both, Call call) {
  double native_seconds = 0;
  double torch_seconds = 0;
  for (auto _ : state) {
    const auto start = Clock::now();
    call(both.torch);
    const auto between = Clock::now();
    call(both.native);
    const auto end = Clock::now();
    torch_seconds += std::chrono::duration<double>(between - start).count();
    const double took = std::chrono::duration<double>(end - between).count();
    native_seconds += took;
    state.SetIterationTime(took);
  }
  state.counters["x_torch"] = native_seconds / torch_seconds;
}

void BM_NativeGradient(benchmark::State& state, const std::string& model, const std::string& data) {
  const auto both = make_both(model, data);
  if (!both) return state.SkipWithError(to_string(both.error()).c_str());
  std::vector<float> parameters(both->native.gradients->parameter_count());
  std::vector<float> gradient(parameters.size());
  both->native.gradients->initial_parameters(parameters);
  std::vector<std::uint64_t> samples(static_cast<std::size_t>(state.range(0)));
  std::iota(samples.begin(), samples.end(), 0);
  const roles::GradientTask task{samples, {parameters}, {gradient}};
  race(state, *both, [&](const Sources& sources) {
    benchmark::DoNotOptimize(sources.gradients->gradient(task));
  });
}
BENCHMARK_CAPTURE(BM_NativeGradient, softmax_synthetic, "softmax", "synthetic")
    ->Arg(32)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_NativeGradient, mlp_small_synthetic, "mlp_small", "synthetic")
    ->Arg(1)
    ->Arg(32)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_NativeGradient, mlp_fashion_mnist, "mlp", "fashion_mnist")
    ->Arg(1)
    ->Arg(32)
    ->Arg(128)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

void BM_NativeEvaluation(benchmark::State& state, const std::string& model,
                         const std::string& data) {
  const auto both = make_both(model, data);
  if (!both) return state.SkipWithError(to_string(both.error()).c_str());
  std::vector<float> parameters(both->native.gradients->parameter_count());
  both->native.gradients->initial_parameters(parameters);
  race(state, *both, [&](const Sources& sources) {
    benchmark::DoNotOptimize(sources.evaluation->evaluate(parameters));
  });
}
BENCHMARK_CAPTURE(BM_NativeEvaluation, mlp_small_synthetic, "mlp_small", "synthetic")
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_NativeEvaluation, mlp_fashion_mnist, "mlp", "fashion_mnist")
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace paceline::train
