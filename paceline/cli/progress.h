#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "paceline/roles/run_stats.h"

namespace paceline::cli {

// One line for a log: "training 41 %, 61504 of 150000 samples, ...".
std::string progress_line(const roles::RunStats& stats);
// The same for a terminal: a line for the run and a bar for each worker. columns: its width.
// Workers beyond max_workers are counted, not drawn.
std::vector<std::string> progress_block(const roles::RunStats& stats, std::size_t columns,
                                        std::size_t max_workers);

// Shows a run on standard error: bars that move if that is a terminal, else a line now and then.
class Progress {
 public:
  // out: standard error.
  explicit Progress(std::FILE* out);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(const roles::RunStats& stats);
  // A line that stays.
  void note(const std::string& text);
  // Leaves the last state standing.
  void finish();

 private:
  void clear();
  void draw(const roles::RunStats& stats);

  std::FILE* out_;
  bool terminal_;
  std::size_t drawn_ = 0;  // lines on the screen that are ours
  std::optional<std::chrono::steady_clock::time_point> last_line_;
  std::string last_phase_;
};

}  // namespace paceline::cli
