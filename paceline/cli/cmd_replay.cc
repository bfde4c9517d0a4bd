// replay: the simulator meets a live run.

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "paceline/base/text.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/output.h"
#include "paceline/node/config.h"
#include "paceline/node/run_folder.h"
#include "paceline/roles/decision_json.h"
#include "paceline/sim/replay.h"
#include "paceline/sim/simulate.h"

namespace paceline::cli {
namespace {

using Json = nlohmann::ordered_json;

// What of a run does not depend on how fast its machines were, under BSP.
struct Applied {
  std::uint64_t updates = 0;
  std::map<std::uint64_t, std::uint64_t> sizes;  // pushes in an update -> updates
  std::map<WorkerId, std::uint64_t> pushes;      // by worker
  bool operator==(const Applied&) const = default;
};

void count(Applied& applied, const sync::Decision& decision) {
  for (const sync::Apply& update : decision.apply) {
    ++applied.updates;
    ++applied.sizes[update.pushes.size()];
    for (const PushId& push : update.pushes) ++applied.pushes[push.worker];
  }
}

Result<Applied> applied_in(const std::vector<std::string>& lines) {
  Applied applied;
  for (const std::string& text : lines) {
    const auto line = roles::parse_decision(text);
    if (!line) return fail(line.error());
    count(applied, line->decision);
  }
  return applied;
}

Json to_json(const Applied& applied) {
  Json by_worker = Json::array();
  for (const auto& [worker, pushes] : applied.pushes) by_worker.push_back(pushes);
  std::uint64_t barriers = 0;
  for (const auto& [size, updates] : applied.sizes) barriers += size > 1 ? updates : 0;
  return {{"updates", applied.updates}, {"barriers", barriers}, {"pushes", std::move(by_worker)}};
}

std::vector<std::string> lines_of(std::istream& file) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The configuration once more, on virtual time. The parameters are the simulator's own small model:
// what is compared is who was applied with whom.
Result<Json> simulated(const node::Config& config, const std::vector<std::string>& lines) {
  constexpr std::uint64_t kParameters = 16;
  constexpr std::uint64_t kDataset = 1000;
  const auto live = applied_in(lines);
  if (!live) return fail(live.error());
  const auto result = sim::run(sim::scenario_of(node::coordinator_options(config),
                                                config.sync.policy, kParameters, kDataset));
  if (!result.failure.empty()) return fail(Code::Corruption, result.failure);
  const auto again = applied_in(result.decisions);
  if (!again) return fail(again.error());
  return Json{{"live", to_json(*live)}, {"simulated", to_json(*again)}, {"equal", *live == *again}};
}

Result<Json> replayed(const ReplayArgs& args) {
  const auto folder = node::find_run(args.dir, args.run);
  if (!folder) return fail(folder.error());
  const auto config = node::parse_config(folder->config().string());
  if (!config) return fail(config.error());
  if (args.simulate && config->sync.policy != "bsp") {
    return fail(Code::InvalidArgument,
                cat("the updates of ", config->sync.policy, " depend on how fast its workers were"),
                "only a run under bsp can be compared with a simulated one", "--simulate");
  }
  std::ifstream file(folder->decisions());
  if (!file) {
    return fail(Code::NotFound, "there is no such file", "was the run's folder copied whole?",
                folder->decisions().string());
  }
  const auto result = sim::replay(file, config->sync.policy);
  if (!result) return fail(result.error());
  Json out{{"run", folder->name()},
           {"policy", config->sync.policy},
           {"decisions", result->decisions},
           {"difference", result->difference == 0 ? Json(nullptr) : Json(result->difference)},
           {"recorded", result->difference == 0 ? Json(nullptr) : Json(result->recorded)},
           {"decided", result->difference == 0 ? Json(nullptr) : Json(result->decided)},
           {"simulation", nullptr}};
  if (!args.simulate) return out;
  file.clear();
  file.seekg(0);
  auto comparison = simulated(*config, lines_of(file));
  if (!comparison) return fail(comparison.error());
  out["simulation"] = std::move(*comparison);
  return out;
}

std::string in_words(const Json& out) {
  std::string text = cat(out["policy"].get<std::string>(), ": ",
                         out["decisions"].get<std::uint64_t>(), " decisions, ");
  if (out["difference"].is_null()) {
    text += "all made again\n";
  } else {
    text += cat("line ", out["difference"].get<std::uint64_t>(), " differs\n  recorded ",
                out["recorded"].get<std::string>(), "\n  decided  ",
                out["decided"].get<std::string>(), "\n");
  }
  if (!out["simulation"].is_null()) {
    const Json& simulation = out["simulation"];
    text += cat("live      ", simulation["live"].dump(), "\nsimulated ",
                simulation["simulated"].dump(), "\n",
                simulation["equal"].get<bool>() ? "the same updates\n" : "not the same updates\n");
  }
  return text;
}

}  // namespace

int cmd_replay(const ReplayArgs& args) {
  const auto out = replayed(args);
  if (!out) return report_error(out.error(), args.json);
  if (args.json) {
    print_json(*out);
  } else {
    print(in_words(*out));
  }
  const bool differs = !(*out)["difference"].is_null();
  const bool unequal =
      !(*out)["simulation"].is_null() && !(*out)["simulation"]["equal"].get<bool>();
  return differs || unequal ? 1 : 0;
}

}  // namespace paceline::cli
