#include "paceline/cli/laboratory.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <utility>

#include <unistd.h>

#include "paceline/base/text.h"
#include "paceline/cli/load_config.h"
#include "paceline/node/process.h"
#include "paceline/node/run_folder.h"
#include "paceline/sim/cluster_spec.h"
#include "paceline/train/catalog.h"
#include "paceline/train/data.h"
#include "paceline/train/native_source.h"

namespace paceline::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kDefaultWorkers = 4;
constexpr std::uint64_t kDefaultSteps = 1000;
constexpr std::uint64_t kMostSeeds = 1000;
constexpr std::uint64_t kMostPushes = std::uint64_t{1} << 40U;
constexpr double kMostSeconds = 1e8;

// ---- the cluster ----

Result<sim::ClusterSpec> cluster_of_folder(const fs::path& path) {
  const node::RunFolder folder{path};
  std::ifstream decisions(folder.decisions());
  if (!decisions) {
    return fail(Code::NotFound, "this folder has no decisions.jsonl",
                "give the folder of a run that `paceline train` made", path.string());
  }
  return sim::cluster_of_run(decisions, folder.decisions().string());
}

Result<sim::ClusterSpec> cluster_of_file(const std::string& name) {
  std::error_code error;
  if (fs::is_directory(name, error)) return cluster_of_folder(name);
  const auto text = node::read_file(name);
  if (!text) return fail(text.error());
  if (fs::path(name).extension() == ".jsonl") {
    std::ifstream decisions(name);
    return sim::cluster_of_run(decisions, name);
  }
  const std::size_t first = text->find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && (*text)[first] == '{';
  if (is_json || fs::path(name).extension() == ".json") return sim::parse_cluster(*text, name);
  return sim::parse_end_times(*text, name);
}

Result<sim::ClusterSpec> named_cluster(const std::string& name) {
  for (const sim::ClusterSpec& profile : sim::profiles()) {
    if (profile.name == name) return profile;
  }
  std::error_code error;
  if (fs::exists(name, error)) return cluster_of_file(name);
  const std::vector<std::string> names = cluster_names();
  const std::string meant = nearest(name, names);
  const bool is_path = name.find('/') != std::string::npos || name.find('.') != std::string::npos;
  return fail(is_path ? Code::NotFound : Code::InvalidArgument,
              cat("there is no cluster and no file '", name, "'"),
              meant.empty() ? cat("give a cluster file, a run's folder, or one of ", join(names))
                            : cat("did you mean ", meant, "?"),
              "--cluster");
}

// As a run of that configuration would have them on machines that are fast enough.
sim::ClusterSpec cluster_of_config(const node::Config& config) {
  sim::ClusterSpec cluster = sim::equal_cluster(config.cluster.workers);
  cluster.servers = config.cluster.servers;
  if (config.cluster.step_floor_ms.empty()) return cluster;
  cluster.name = "of the configuration";
  for (std::uint32_t w = 0; w < config.cluster.workers; ++w) {
    cluster.workers[w] = {.speed = {.step = node::step_floor(config, {w})}};
  }
  return cluster;
}

Result<sim::ClusterSpec> load_cluster(const LabArgs& args, const node::Config* config) {
  if (!args.cluster.empty() && args.workers) {
    return fail(Code::InvalidArgument, "--cluster and --workers exclude each other",
                "a cluster says how many workers it has", "--workers");
  }
  if (args.workers && (*args.workers == 0 || *args.workers > sim::kMostWorkers)) {
    return fail(Code::InvalidArgument, cat(*args.workers, " workers"),
                cat("1 to ", sim::kMostWorkers), "--workers");
  }
  if (!args.cluster.empty()) return named_cluster(args.cluster);
  if (args.workers) return sim::equal_cluster(*args.workers);
  return config != nullptr ? cluster_of_config(*config) : sim::equal_cluster(kDefaultWorkers);
}

// ---- training ----

// Becomes paceline-worker, which has LibTorch, with the same words.
Error hand_over(const Laboratory& laboratory) {
  const std::string program = node::program_folder() + "/paceline-worker";
  std::vector<std::string> words{program, "--laboratory"};
  words.insert(words.end(), laboratory.words.begin(), laboratory.words.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  return {.code = Code::Refused,
          .what = cat(program, " cannot be started: ", std::strerror(errno)),
          .fix =
              "this model needs LibTorch: build the target paceline-worker, or take a model of "
              "dense layers alone (mlp, softmax)",
          .where = "model.name"};
}

Result<SourcesFactory> sources_of(const node::Config& config, const Laboratory& laboratory) {
  const train::DataSource& data = **train::find_data(config.data.name);
  if (!train::is_native(config.model.name, data.shape, data.classes)) {
    if (!laboratory.torch_sources) return fail(hand_over(laboratory));
    return laboratory.torch_sources(config);
  }
  auto native = train::native_sources(config.model.name, config.data.name, config.data.path);
  if (!native) return fail(native.error());
  return SourcesFactory{[make = std::move(*native)](std::uint64_t seed) -> Result<sim::Sources> {
    auto made = make(seed);
    if (!made) return fail(made.error());
    return sim::Sources{std::move(made->gradients), std::move(made->evaluation)};
  }};
}

Result<sim::Training> training_of(const node::Config& config, const Laboratory& laboratory) {
  if (!config.model.program.empty()) {
    return fail(Code::InvalidArgument, "a program of one's own cannot train in the laboratory",
                "name one of `paceline models`", "model.program");
  }
  if (const Status data = check_data(config); !data) return fail(data.error());
  auto make = sources_of(config, laboratory);
  if (!make) return fail(make.error());
  return sim::Training{.run = node::coordinator_options(config),
                       .dataset_size = (*train::find_data(config.data.name))->train_samples,
                       .make = std::move(*make)};
}

// ---- the words ----

Status wrong(std::string what, std::string fix, std::string where) {
  return fail(Code::InvalidArgument, std::move(what), std::move(fix), std::move(where));
}

Status check(const LabArgs& args, bool trains) {
  if (args.seeds == 0 || args.seeds > kMostSeeds) {
    return wrong(cat(args.seeds, " seeds"), cat("1 to ", kMostSeeds), "--seeds");
  }
  if (args.steps && args.seconds) {
    return wrong("--steps and --seconds exclude each other", "leave one of them out", "--seconds");
  }
  if (args.steps && *args.steps == 0) return wrong("0 steps", "at least 1", "--steps");
  if (args.seconds && !(*args.seconds > 0 && *args.seconds <= kMostSeconds)) {
    return wrong(cat(*args.seconds, " seconds"), cat("above 0, at most ", kMostSeconds),
                 "--seconds");
  }
  if (!trains && !args.train.set.empty()) {
    return wrong("there is no configuration to set anything in", "give --train CONFIG.toml",
                 "--set");
  }
  return {};
}

}  // namespace

std::vector<std::string> cluster_names() {
  std::vector<std::string> names;
  for (const sim::ClusterSpec& profile : sim::profiles()) names.push_back(profile.name);
  return names;
}

Result<sim::Experiment> make_experiment(const LabArgs& args, const Laboratory& laboratory,
                                        const char* fallback) {
  const bool is_told = !args.train.config.empty();
  if (auto ok = check(args, is_told || fallback != nullptr); !ok) return fail(ok.error());
  std::optional<node::Config> config;
  if (is_told || fallback != nullptr) {
    auto loaded = is_told ? load_config(args.train) : load_config_text(fallback, args.train);
    if (!loaded) return fail(loaded.error());
    config = std::move(*loaded);
  }
  auto cluster = load_cluster(args, is_told ? &*config : nullptr);
  if (!cluster) return fail(cluster.error());
  sim::Experiment experiment{.cluster = std::move(*cluster),
                             .steps = args.steps,
                             .seconds = args.seconds,
                             .first_seed = args.seed,
                             .seeds = args.seeds};
  if (config) {
    auto training = training_of(*config, laboratory);
    if (!training) return fail(training.error());
    experiment.training = std::move(*training);
  } else if (!args.steps && !args.seconds) {
    experiment.steps = kDefaultSteps;
  }
  const std::uint64_t most = kMostPushes / experiment.cluster.workers.size();
  if (experiment.steps && *experiment.steps > most) {
    return fail(Code::InvalidArgument, cat(*experiment.steps, " steps a worker are too many"),
                cat("at most ", most, " for this cluster"), "--steps");
  }
  return experiment;
}

sim::Machine make_machine(const LabArgs& args) {
  const std::uint32_t jobs =
      args.jobs != 0 ? args.jobs : std::max(1U, std::thread::hardware_concurrency());
  return {.run_all =
              [jobs](std::size_t count, const std::function<void(std::size_t)>& work) {
                std::atomic<std::size_t> next{0};
                std::mutex mutex;
                std::exception_ptr failed;  // the first; memory may run out on any thread
                const auto take = [&] {
                  try {
                    for (std::size_t i = next++; i < count; i = next++) work(i);
                  } catch (...) {
                    next = count;
                    const std::lock_guard lock(mutex);
                    if (!failed) failed = std::current_exception();
                  }
                };
                {
                  std::vector<std::jthread> threads;
                  for (std::size_t t = 1; t < std::min<std::size_t>(jobs, count); ++t) {
                    threads.emplace_back(take);
                  }
                  take();
                }
                if (failed) std::rethrow_exception(failed);
              },
          .processor_seconds =
              [] {
                timespec now{};
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
                return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
              }};
}

}  // namespace paceline::cli
