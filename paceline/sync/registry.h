#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/base/result.h"
#include "paceline/sync/policy.h"

namespace paceline::sync {

// One policy as the CLI, the configuration, the docs and the tests know it.
struct PolicyEntry {
  std::string name;     // "ssp"
  std::string spec;     // "ssp:S"
  std::string example;  // "ssp:3"
  std::string doc;      // what it does, one or two sentences, with its options
  std::string source;   // "Ho et al. 2013"
  std::string file;     // "paceline/sync/ssp.cc"
  // options: what stands behind the colon, empty without one.
  std::function<Result<std::unique_ptr<SyncPolicy>>(std::string_view options)> make;
};

std::span<const PolicyEntry> policies();

// "bsp", "ssp:3", "dssp:3-15", "elastic_bsp:15,predictor=last". Errors say what is allowed and name
// the nearest known policy.
Result<std::unique_ptr<SyncPolicy>> make_policy(std::string_view spec);

// A list for --compare: a comma starts a new entry only before a registered name; `key=value`
// continues the entry before it. "bsp,elastic_bsp:15,predictor=last,ssp:3" has three.
Result<std::vector<std::string>> split_policies(std::string_view list);

}  // namespace paceline::sync
