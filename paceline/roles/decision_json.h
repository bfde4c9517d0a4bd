#pragma once

#include <string>
#include <string_view>

#include "paceline/base/result.h"
#include "paceline/sync/policy.h"

namespace paceline::roles {

// One line of decisions.jsonl: an event as the policy saw it, and what it decided.
struct DecisionLine {
  sync::Event event;
  sync::Decision decision;
  Version version = 0;  // after the decision
  bool operator==(const DecisionLine&) const = default;
};

// {"now": 60000000, "event": "pushed", "push": [1, 2, 0], "version": 3,
//  "apply": [[[1, 2, 0]]], "drop": [], "release": [1], "reason": "..."}
// now: nanoseconds. A push is [worker, incarnation, step]; "joined" and "left" name a "worker".
std::string to_json(const DecisionLine& line);
std::string to_json(const sync::Event& event, const sync::Decision& decision, Version version);
Result<DecisionLine> parse_decision(std::string_view json);

}  // namespace paceline::roles
