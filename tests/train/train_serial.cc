// Trains one of the catalogue's models in one thread, as `paceline train` with BSP would: each
// update is the mean of `workers` batches of one shuffled stream. Prints a line of figures.
//
//   train_serial MODEL SEED LR MOMENTUM SAMPLES [WORKERS] [BATCH] [WARMUP]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "paceline/base/random.h"
#include "paceline/base/text.h"
#include "paceline/optim/schedule.h"
#include "paceline/train/builtin.h"
#include "paceline/train/data.h"
#include "paceline/train/process.h"
#include "paceline/train/serial.h"

namespace {

using namespace paceline;  // NOLINT: a small program

struct Setting {
  train::Builtin builtin;
  double lr = 0.4;
  double momentum = 0;
  std::uint64_t samples = 150000;
  std::uint64_t workers = 4;
  std::uint64_t batch = 32;
  double warmup = 0.05;
};

// The training set's indices, shuffled anew each epoch.
class Stream {
 public:
  Stream(std::uint64_t size, std::uint64_t seed) : rng_(seed), order_(size), at_(size) {}
  std::vector<std::uint64_t> next(std::uint64_t count) {
    std::vector<std::uint64_t> batch;
    while (batch.size() < count) {
      if (at_ == order_.size()) shuffle();
      batch.push_back(order_[at_++]);
    }
    return batch;
  }

 private:
  void shuffle() {
    std::iota(order_.begin(), order_.end(), 0);
    rng_.stream("samples", epoch_++).shuffle(std::span(order_));
    at_ = 0;
  }
  Rng rng_;
  std::vector<std::uint64_t> order_;
  std::size_t at_;
  std::uint64_t epoch_ = 0;
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
  Stream stream((*data)->train_samples, setting.builtin.seed);
  const auto begin = std::chrono::steady_clock::now();
  double loss = 0;
  for (std::uint64_t done = 0; done < setting.samples;) {
    std::vector<std::vector<std::uint64_t>> batches(setting.workers);
    for (auto& batch : batches) batch = stream.next(setting.batch);
    const double share = static_cast<double>(done) / static_cast<double>(setting.samples);
    const double lr = optim::lr_at(schedule, setting.lr, share);
    const auto updated = trainer->update(batches, static_cast<float>(lr));
    if (!updated) return fail(updated.error());
    loss = 0.98 * loss + 0.02 * static_cast<double>(*updated);
    done += setting.workers * setting.batch;
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

double number(char** argv, int argc, int at, double otherwise) {
  if (at >= argc) return otherwise;
  return parse_double(argv[at]).value_or(-1);
}

}  // namespace

int main(int argc, char** argv) {
  train::prepare_process();
  Setting setting;
  if (argc > 1) setting.builtin.model = argv[1];
  setting.builtin.seed = static_cast<std::uint64_t>(number(argv, argc, 2, 1));
  setting.lr = number(argv, argc, 3, setting.lr);
  setting.momentum = number(argv, argc, 4, setting.momentum);
  setting.samples = static_cast<std::uint64_t>(number(argv, argc, 5, 150000));
  setting.workers = static_cast<std::uint64_t>(number(argv, argc, 6, 4));
  setting.batch = static_cast<std::uint64_t>(number(argv, argc, 7, 32));
  setting.warmup = number(argv, argc, 8, setting.warmup);
  const Status status = run(setting);
  if (status) return EXIT_SUCCESS;
  std::fprintf(stderr, "%s\n", to_string(status.error()).c_str());
  return EXIT_FAILURE;
}
