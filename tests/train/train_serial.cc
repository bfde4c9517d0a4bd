// Trains one of the catalogue's models in one thread, as `paceline train` with BSP would: each
// update is the mean of `workers` batches of a run's stream of samples. Prints a line of figures.
//
//   train_serial MODEL [SEED [LR [MOMENTUM [SAMPLES [WORKERS [BATCH [WARMUP]]]]]]]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "paceline/base/text.h"
#include "paceline/optim/schedule.h"
#include "paceline/roles/sample_stream.h"
#include "paceline/train/builtin.h"
#include "paceline/train/data.h"
#include "paceline/train/process.h"
#include "paceline/train/serial.h"

namespace {

using namespace paceline;  // NOLINT: a small program

struct Setting {
  train::Builtin builtin;
  double lr = 0;
  double momentum = 0;
  std::uint64_t samples = 0;
  std::uint64_t workers = 0;
  std::uint64_t batch = 0;
  double warmup = 0;
};

Status run(const Setting& setting) {
  const auto data = train::find_data(setting.builtin.data);
  if (!data) return fail(data.error());
  const auto source = train::make_source(setting.builtin);
  if (!source) return fail(source.error());
  const auto evaluation = train::make_evaluation(setting.builtin);
  if (!evaluation) return fail(evaluation.error());
  auto trainer = train::SerialTrainer::create(**source, {.momentum = setting.momentum});
  if (!trainer) return fail(trainer.error());

  const optim::Schedule schedule{.name = optim::ScheduleName::Cosine, .warmup = setting.warmup};
  roles::SampleStream stream(setting.builtin.seed, (*data)->train_samples, setting.batch,
                             setting.samples);
  const auto begin = std::chrono::steady_clock::now();
  double loss = 0;
  std::uint64_t done = 0;
  for (std::uint64_t next = 0; next < stream.batches();) {
    std::vector<std::vector<std::uint64_t>> batches;
    while (batches.size() < setting.workers && next < stream.batches()) {
      batches.push_back(stream.samples_of(next++));
    }
    const double share = static_cast<double>(done) / static_cast<double>(setting.samples);
    const double lr = optim::effective_lr(
        optim::LrScale::PerSample, optim::lr_at(schedule, setting.lr, share),
        static_cast<std::uint32_t>(batches.size()), static_cast<std::uint32_t>(setting.workers));
    const auto updated = trainer->update(batches, static_cast<float>(lr));
    if (!updated) return fail(updated.error());
    loss = 0.98 * loss + 0.02 * static_cast<double>(*updated);
    for (const auto& batch : batches) done += batch.size();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const auto result = (*evaluation)->evaluate(trainer->parameters());
  if (!result) return fail(result.error());
  const std::string line =
      cat(setting.builtin.model, " seed ", setting.builtin.seed, ": test accuracy ",
          fixed(result->accuracy, 4), ", test loss ", fixed(result->loss, 4), ", train loss ",
          fixed(loss, 4), ", ", fixed(seconds.count(), 1), " s, ",
          fixed(static_cast<double>(setting.samples) / seconds.count(), 0), " images/s, ",
          trainer->parameters_sha256().substr(0, 16));
  std::puts(line.c_str());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  train::prepare_process();
  std::vector<double> numbers{1, 0.4, 0, 150000, 4, 32, 0.05};
  for (int i = 2; i < argc && i < 9; ++i) {
    numbers[static_cast<std::size_t>(i - 2)] = parse_double(argv[i]).value_or(-1);
  }
  const bool counts = std::min({numbers[3], numbers[4], numbers[5]}) >= 1;
  if (!counts || std::ranges::min(numbers) < 0 || argc < 2 || argc > 9) {
    std::fputs("usage: see the top of train_serial.cc\n", stderr);
    return 2;
  }
  const auto whole = [&](std::size_t i) { return static_cast<std::uint64_t>(numbers[i]); };
  const Setting setting{.builtin = {.model = argv[1], .seed = whole(0)},
                        .lr = numbers[1],
                        .momentum = numbers[2],
                        .samples = whole(3),
                        .workers = whole(4),
                        .batch = whole(5),
                        .warmup = numbers[6]};
  const Status status = run(setting);
  if (status) return EXIT_SUCCESS;
  std::fprintf(stderr, "%s\n", to_string(status.error()).c_str());
  return EXIT_FAILURE;
}
