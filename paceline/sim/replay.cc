#include "paceline/sim/replay.h"

#include "paceline/base/text.h"
#include "paceline/roles/decision_json.h"
#include "paceline/sync/registry.h"

namespace paceline::sim {

Result<Replayed> replay(std::istream& decisions, const std::string& spec) {
  auto policy = sync::make_policy(spec);
  if (!policy) return fail(policy.error());
  Replayed replayed;
  Version version = 0;
  std::string text;
  while (std::getline(decisions, text)) {
    if (trim(text).empty()) continue;
    const std::uint64_t number = ++replayed.decisions;
    auto line = roles::parse_decision(text);
    if (!line) {
      Error error = line.error();
      error.where = cat("line ", number);
      return fail(std::move(error));
    }
    const roles::DecisionLine recorded = *line;
    line->decision = (*policy)->step(recorded.event);
    version += line->decision.apply.size();
    line->version = version;
    if (*line == recorded || replayed.difference != 0) continue;
    replayed.difference = number;
    replayed.recorded = text;
    replayed.decided = to_json(*line);
  }
  return replayed;
}

}  // namespace paceline::sim
