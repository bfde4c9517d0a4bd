#include "paceline/train/worker_program.h"

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "paceline/base/text.h"
#include "paceline/train/process.h"

namespace paceline::train {
namespace {

constexpr int kNicer = 7;  // an evaluation may take its time; the workers go first

constexpr std::string_view kHelp =
    "RUN_FOLDER --index N     a worker of that run\n"
    "RUN_FOLDER --evaluate    its evaluator\n"
    "\n"
    "Started by `paceline train`, which hands it the job on standard input.\n";

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
      if (!arguments.index || *arguments.index > ~std::uint32_t{0}) return std::nullopt;
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

int run_worker_program(int argc, char** argv, const WorkerProgram& program) {
  prepare_process();
  const auto arguments = parse({argv + 1, argv + argc});
  if (!arguments) {
    const bool asked = argc == 2 && std::string_view(argv[1]) == "--help";
    (asked ? std::cout : std::cerr) << kHelp;
    return asked ? 0 : 2;
  }
  if (arguments->evaluate) {
    (void)!nice(kNicer);
    return node::run_evaluator(arguments->folder, program.make_evaluation);
  }
  return node::run_worker(arguments->folder, static_cast<std::uint32_t>(*arguments->index),
                          program.make_worker);
}

}  // namespace paceline::train
