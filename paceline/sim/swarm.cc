// paceline-swarm: many simulated runs, each drawn from its seed.
//
//   paceline-swarm --seeds 1-1000     all of them; the first broken promise of each is printed
//   paceline-swarm --seed 17 --verbose    one, with every message
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/base/text.h"
#include "paceline/sim/scenario.h"
#include "paceline/sim/simulate.h"

namespace paceline::sim {
namespace {

struct Arguments {
  std::uint64_t first = 1;
  std::uint64_t last = 100;
  bool verbose = false;
};

std::optional<Arguments> parse(const std::vector<std::string_view>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--verbose") {
      arguments.verbose = true;
    } else if (words[i] == "--seeds" && i + 1 < words.size()) {
      const auto ends = split(words[++i], '-');
      const auto first = parse_uint(ends.front());
      const auto last = parse_uint(ends.back());
      if (ends.size() != 2 || !first || !last || *first > *last) return std::nullopt;
      arguments.first = *first;
      arguments.last = *last;
    } else if (words[i] == "--seed" && i + 1 < words.size()) {
      const auto seed = parse_uint(words[++i]);
      if (!seed) return std::nullopt;
      arguments.first = arguments.last = *seed;
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

int swarm(const Arguments& arguments) {
  std::uint64_t failed = 0;
  std::uint64_t events = 0;
  std::uint64_t ended_early = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t seed = arguments.first; seed <= arguments.last; ++seed) {
    const Scenario scenario = draw_scenario(seed);
    const SimResult result = run(scenario, {.keep_log = arguments.verbose});
    events += result.events;
    if (result.exit_code != 0) ++ended_early;
    for (const std::string& line : result.log) std::printf("%s\n", line.c_str());
    if (arguments.verbose) {
      std::printf("%s\nended with %d (%s) after %s s, hash %016llx\n", describe(scenario).c_str(),
                  result.exit_code, result.why.c_str(), fixed(to_seconds(result.ended), 3).c_str(),
                  static_cast<unsigned long long>(result.hash));
    }
    if (result.failure.empty()) continue;
    ++failed;
    std::printf("seed %llu: %s\n  %s\n  again: paceline-swarm --seed %llu --verbose\n",
                static_cast<unsigned long long>(seed), result.failure.c_str(),
                describe(scenario).c_str(), static_cast<unsigned long long>(seed));
    std::fflush(stdout);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const std::uint64_t runs = arguments.last - arguments.first + 1;
  std::printf("%s\n",
              cat(runs, " runs, ", failed, " failed, ", ended_early, " ended early for a reason, ",
                  events, " events, ", fixed(static_cast<double>(events) / took.count() / 1000, 0),
                  " thousand events/s, ", fixed(took.count(), 1), " s")
                  .c_str());
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace paceline::sim

int main(int argc, char** argv) {
  const auto arguments = paceline::sim::parse({argv + 1, argv + argc});
  if (!arguments) {
    std::fprintf(stderr, "usage: paceline-swarm [--seeds FIRST-LAST | --seed SEED] [--verbose]\n");
    return 2;
  }
  return paceline::sim::swarm(*arguments);
}
