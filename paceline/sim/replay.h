#pragma once

#include <cstdint>
#include <istream>
#include <string>

#include "paceline/base/result.h"

namespace paceline::sim {

struct Replayed {
  std::uint64_t decisions = 0;   // lines that were read
  std::uint64_t difference = 0;  // the first line that differs, from 1; 0: none
  std::string recorded;          // that line, and what the policy decides now
  std::string decided;
};

// Feeds the events of a decisions.jsonl, recorded live or simulated, to a fresh policy and compares
// what it decides with what was decided. Errors: the spec, or a line that is none.
Result<Replayed> replay(std::istream& decisions, const std::string& policy);

}  // namespace paceline::sim
