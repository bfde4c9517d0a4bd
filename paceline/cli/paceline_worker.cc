// The program paceline-worker: a worker of a run, or its evaluator. The only one with LibTorch;
// `paceline train` starts it.

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "paceline/base/text.h"
#include "paceline/node/role_process.h"
#include "paceline/train/builtin.h"
#include "paceline/train/data.h"
#include "paceline/train/process.h"

namespace {

using namespace paceline;

constexpr int kNicer = 7;  // an evaluation may take its time; the workers go first

constexpr std::string_view kHelp =
    "paceline-worker RUN_FOLDER --index N     a worker of that run\n"
    "paceline-worker RUN_FOLDER --evaluate    its evaluator\n"
    "\n"
    "Started by `paceline train`, which hands it the job on standard input.\n";

train::Builtin builtin_of(const node::Config& config) {
  return {.model = config.model.name,
          .data = config.data.name,
          .path = config.data.path,
          .seed = config.run.seed};
}

Result<node::WorkerParts> make_worker(const node::Config& config) {
  const auto data = train::find_data(config.data.name);
  if (!data) return fail(data.error());
  auto source = train::make_source(builtin_of(config));
  if (!source) return fail(source.error());
  return node::WorkerParts{std::move(*source), (*data)->train_samples};
}

Result<std::unique_ptr<roles::Evaluation>> make_evaluation(const node::Config& config) {
  return train::make_evaluation(builtin_of(config));
}

struct Arguments {
  std::string folder;
  std::optional<std::uint64_t> index;
  bool evaluate = false;
};

std::optional<Arguments> parse(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--evaluate") {
      arguments.evaluate = true;
    } else if (words[i] == "--index" && i + 1 < words.size()) {
      arguments.index = parse_uint(words[++i]);
      if (!arguments.index) return std::nullopt;
    } else if (arguments.folder.empty() && !words[i].starts_with("--")) {
      arguments.folder = words[i];
    } else {
      return std::nullopt;
    }
  }
  const bool one_role = arguments.evaluate != arguments.index.has_value();
  if (arguments.folder.empty() || !one_role) return std::nullopt;
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  train::prepare_process();
  const auto arguments = parse({argv + 1, argv + argc});
  if (!arguments) {
    const bool asked = argc == 2 && std::string_view(argv[1]) == "--help";
    (asked ? std::cout : std::cerr) << kHelp;
    return asked ? 0 : 2;
  }
  if (arguments->evaluate) {
    (void)!nice(kNicer);
    return node::run_evaluator(arguments->folder, make_evaluation);
  }
  return node::run_worker(arguments->folder, static_cast<std::uint32_t>(*arguments->index),
                          make_worker);
}
