#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "paceline/base/result.h"
#include "paceline/node/config.h"
#include "paceline/node/run_folder.h"
#include "paceline/roles/run_stats.h"

// What a run and an error look like as JSON, and as an exit code: the contract of interface.md.
namespace paceline::node {

using Json = nlohmann::ordered_json;

// What the coordinator's figures do not say.
struct RunOutcome {
  std::string run;  // the folder's name
  int exit_code = 0;
  std::optional<double> setup_seconds;  // from the command's start to the first release
  std::optional<Error> error;           // why it did not end well
};

// summary.json, and what `train --json` prints. A field that does not apply is null.
Json summary_json(const Config& config, const roles::RunStats& stats, const RunOutcome& outcome);
std::string summary_text(const Json& summary);  // of summary_json, indented, with end of line
// Code::NotFound before the run's end, Code::Corruption if it is not a summary.
Result<Json> read_summary(const RunFolder& run);

// The configuration as nested objects; a key that is not set is null.
Json config_json(const Config& config);

// 2 the user's words, 3 data, 4 a process, 5 the machine, 130 cancelled.
int exit_code(const Error& error);
// "ok" for 0, "usage", "data", "process", "machine", "interrupted", "terminated", "bug".
std::string exit_name(int exit_code);
// {"error": {"code": 2, "where": ..., "what": ..., "fix": ...}}; `where` and `fix` may be null.
Json error_json(const Error& error);

}  // namespace paceline::node
