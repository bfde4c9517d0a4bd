// Forward and backward of one batch on one thread, as a worker does it: parameters in, gradient
// out. images/s is the figure; there is no second implementation in the process to compare with.

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "paceline/train/builtin.h"
#include "paceline/train/process.h"

namespace paceline::train {
namespace {

void BM_Gradient(benchmark::State& state, const std::string& model) {
  const auto source = make_source({.model = model});
  if (!source) return state.SkipWithError(to_string(source.error()).c_str());
  std::vector<float> parameters((*source)->parameter_count());
  std::vector<float> gradient(parameters.size());
  (*source)->initial_parameters(parameters);
  std::vector<std::uint64_t> samples(static_cast<std::size_t>(state.range(0)));
  std::iota(samples.begin(), samples.end(), 0);
  for (auto _ : state) {
    const auto result = (*source)->gradient(
        {.samples = samples, .parameters = {parameters}, .gradient = {gradient}});
    if (!result) return state.SkipWithError(to_string(result.error()).c_str());
  }
  state.counters["images/s"] = benchmark::Counter(static_cast<double>(state.range(0)),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK_CAPTURE(BM_Gradient, mlp, "mlp")->Arg(32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Gradient, lenet, "lenet")->Arg(32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Gradient, cnn, "cnn")->Arg(32)->Arg(128)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Gradient, resnet20, "resnet20")->Arg(32)->Unit(benchmark::kMillisecond);

// Before main, so before LibTorch takes memory.
const bool kPrepared = (prepare_process(), true);

}  // namespace
}  // namespace paceline::train
