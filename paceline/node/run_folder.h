#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/base/ids.h"
#include "paceline/base/result.h"
#include "paceline/node/config.h"

namespace paceline::node {

// The folder of one run. It holds what interface.md lists; who writes what is theirs.
struct RunFolder {
  std::filesystem::path path;

  std::string name() const { return path.filename().string(); }
  std::filesystem::path config() const { return path / "config.toml"; }
  std::filesystem::path summary() const { return path / "summary.json"; }
  std::filesystem::path metrics() const { return path / "metrics.jsonl"; }
  std::filesystem::path decisions() const { return path / "decisions.jsonl"; }
  std::filesystem::path trace() const { return path / "trace.json"; }
  std::filesystem::path report() const { return path / "report.html"; }
  std::filesystem::path checkpoints() const { return path / "checkpoints"; }
  std::filesystem::path log(NodeId node) const;  // logs/worker-2.log, logs/coordinator-0.log
};

// Makes runs/20261130-214501-elastic_bsp-1 (time in UTC, policy, seed) with its sub-folders and
// config.toml in it, and points runs/latest at it. A name that is taken gets ".2", ".3", ...
// Code::Refused if the machine says no. config: completed.
Result<RunFolder> make_run_folder(const Config& config, std::chrono::system_clock::time_point now);

// Writes a file whole or not at all: under another name first, then renamed.
Status write_file(const std::filesystem::path& path, std::string_view content);
// Code::NotFound, or Code::Refused if it cannot be read.
Result<std::string> read_file(const std::filesystem::path& path);

// Runs below dir, the oldest first. A dir that is not there has none.
Result<std::vector<RunFolder>> list_runs(const std::filesystem::path& dir);
// run: a name below dir, a path of a run's folder, or "latest". Code::NotFound with what there is.
Result<RunFolder> find_run(const std::filesystem::path& dir, const std::string& run);

}  // namespace paceline::node
