// Each update rule, and the mean, beside a memcpy that moves as many bytes (read plus written).
// x_memcpy = 1: the rule costs what its memory traffic costs.

#include <chrono>
#include <cstring>

#include <benchmark/benchmark.h>

#include "paceline/optim/mean.h"
#include "paceline/optim/optimizer.h"

namespace paceline::optim {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const auto& work) {
  const auto begin = Clock::now();
  work();
  benchmark::ClobberMemory();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// work reads and writes `streams` arrays of `size` floats in all. In turns with the copy, so that
// both see the same machine.
void beside_memcpy(benchmark::State& state, std::size_t size, std::size_t streams,
                   const auto& work) {
  const std::size_t bytes = streams * size * sizeof(float);
  std::vector<char> from(bytes / 2, 1);
  std::vector<char> to(bytes / 2, 2);
  work();
  double work_seconds = 0;
  double copy_seconds = 0;
  for (auto _ : state) {
    const double seconds = seconds_of(work);
    state.SetIterationTime(seconds);
    work_seconds += seconds;
    copy_seconds += seconds_of([&] { std::memcpy(to.data(), from.data(), bytes / 2); });
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
  state.counters["x_memcpy"] = work_seconds / copy_seconds;
}

void step(benchmark::State& state, const OptimizerConfig& config, std::size_t streams) {
  const auto size = static_cast<std::size_t>(state.range(0));
  std::vector<float> w(size, 0.5F);
  const std::vector<float> gradient(size, 1e-3F);
  const auto rule = make_optimizer(config, size).value();
  beside_memcpy(state, size, streams, [&] { rule->step(w, gradient, 1e-3F); });
}

void mean(benchmark::State& state, std::size_t count) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const std::vector gradients(count, std::vector<float>(size, 1e-3F));
  const std::vector<std::span<const float>> spans(gradients.begin(), gradients.end());
  std::vector<float> out(size);
  beside_memcpy(state, size, count + 1, [&] { mean_into(out, spans); });
}

// Parameters: LeNet's, a million, ten million (beyond the caches).
#define PACELINE_SIZES ->Arg(61'706)->Arg(1 << 20)->Arg(10 << 20)->UseManualTime()

BENCHMARK_CAPTURE(step, sgd, OptimizerConfig{.weight_decay = 1e-4}, 3) PACELINE_SIZES;
BENCHMARK_CAPTURE(step, momentum, OptimizerConfig{.momentum = 0.9, .weight_decay = 1e-4}, 5)
PACELINE_SIZES;
BENCHMARK_CAPTURE(step, nesterov,
                  OptimizerConfig{.momentum = 0.9, .nesterov = true, .weight_decay = 1e-4}, 5)
PACELINE_SIZES;
BENCHMARK_CAPTURE(step, adam, OptimizerConfig{.name = "adam", .weight_decay = 1e-4}, 7)
PACELINE_SIZES;
BENCHMARK_CAPTURE(step, adamw, OptimizerConfig{.name = "adamw", .weight_decay = 1e-2}, 7)
PACELINE_SIZES;
BENCHMARK_CAPTURE(mean, of_4, 4) PACELINE_SIZES;

}  // namespace
}  // namespace paceline::optim
