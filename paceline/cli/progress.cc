#include "paceline/cli/progress.h"

#include <algorithm>
#include <cmath>

#include <sys/ioctl.h>
#include <unistd.h>

#include "paceline/base/text.h"

namespace paceline::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLineEvery{5};
constexpr std::size_t kBar = 24;

// Of training: since the first release, and up to the last update once there are no more.
double seconds_of(const roles::RunStats& stats) {
  if (!stats.training && stats.applied == 0) return 0;
  const bool over = stats.phase == "finishing" || stats.phase == "done";
  return to_seconds((over ? stats.last_applied : stats.now) - stats.started);
}

double share_done(const roles::RunStats& stats) {
  if (stats.samples_budget == 0) return 0;
  return std::min(1.0,
                  static_cast<double>(stats.samples) / static_cast<double>(stats.samples_budget));
}

// Empty while there is too little to go by.
std::string time_left(const roles::RunStats& stats) {
  const double share = share_done(stats);
  const double seconds = seconds_of(stats);
  if (share < 0.02 || share >= 1 || seconds < 1) return "";
  return cat(", about ", fixed(std::ceil(seconds * (1 - share) / share), 0), " s to go");
}

double wait_share(const roles::RunStats& stats, const roles::WorkerStats& worker) {
  const double seconds = seconds_of(stats);
  return seconds > 0 ? std::min(1.0, to_seconds(worker.waited) / seconds) : 0;
}

std::string accuracy_text(const roles::RunStats& stats) {
  return stats.evaluations.empty()
             ? ""
             : cat(", accuracy ", fixed(stats.evaluations.back().accuracy, 4));
}

std::string run_text(const roles::RunStats& stats) {
  std::string text = stats.phase.empty() ? "starting" : stats.phase;
  if (stats.applied == 0) return text;
  text += cat(" ", fixed(100 * share_done(stats), 0), " %, ", stats.samples, " of ",
              stats.samples_budget, " samples, loss ", fixed(stats.train_loss, 3));
  return text + accuracy_text(stats) + cat(", ", fixed(seconds_of(stats), 0), " s") +
         time_left(stats);
}

std::uint64_t most_steps(const roles::RunStats& stats) {
  std::uint64_t most = 1;
  for (const auto& worker : stats.workers) most = std::max(most, worker.steps);
  return most;
}

std::string_view state_text(roles::WorkerStats::State state) {
  switch (state) {
    case roles::WorkerStats::State::Out:
      return "out";
    case roles::WorkerStats::State::Waiting:
      return "waits";
    case roles::WorkerStats::State::Computing:
      return "computes";
    case roles::WorkerStats::State::Done:
      return "done";
  }
  return "";
}

std::string padded(std::string text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

// Its length: how far the run is, times this worker's steps over the most steps of any.
std::string bar(double share) {
  const auto full = static_cast<std::size_t>(std::lround(share * static_cast<double>(kBar)));
  std::string text;
  for (std::size_t i = 0; i < kBar; ++i) text += i < full ? "█" : "░";
  return text;
}

std::string worker_text(const roles::RunStats& stats, std::size_t rank) {
  const roles::WorkerStats& worker = stats.workers[rank];
  const double steps = static_cast<double>(worker.steps) / static_cast<double>(most_steps(stats));
  return cat("worker ", padded(std::to_string(rank), 2), " ", bar(share_done(stats) * steps),
             padded(std::to_string(worker.steps), 7), " steps, waited ",
             padded(fixed(100 * wait_share(stats, worker), 1), 4), " %, loss ",
             worker.steps > 0 ? fixed(static_cast<double>(worker.loss), 3) : "-    ", "  ",
             state_text(worker.state));
}

// At most that many characters; ours are one column each, the bar's of three bytes.
std::string cut(const std::string& text, std::size_t columns) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool continues = (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U;
    if (!continues && ++width > columns) return text.substr(0, i);
  }
  return text;
}

}  // namespace

std::string progress_line(const roles::RunStats& stats) {
  std::string text = run_text(stats);
  if (stats.applied == 0) return text;
  std::vector<std::string> steps;
  std::vector<std::string> waits;
  for (const auto& worker : stats.workers) {
    steps.push_back(std::to_string(worker.steps));
    waits.push_back(fixed(100 * wait_share(stats, worker), 0));
  }
  return text + cat("; steps ", join(steps, "/"), ", waited ", join(waits, "/"), " %");
}

std::vector<std::string> progress_block(const roles::RunStats& stats, std::size_t columns,
                                        std::size_t max_workers) {
  std::vector<std::string> lines{cut(run_text(stats), columns)};
  for (std::size_t rank = 0; rank < std::min(stats.workers.size(), max_workers); ++rank) {
    lines.push_back(cut(worker_text(stats, rank), columns));
  }
  if (stats.workers.size() > max_workers) {
    lines.push_back(cat("and ", stats.workers.size() - max_workers, " more workers"));
  }
  return lines;
}

Progress::Progress(std::FILE* out) : out_(out), terminal_(isatty(fileno(out)) == 1) {}

void Progress::clear() {
  if (drawn_ > 0) std::fputs(cat("\x1b[", drawn_, "A\x1b[J").c_str(), out_);
  drawn_ = 0;
}

void Progress::draw(const roles::RunStats& stats) {
  winsize size{};
  const bool known = ioctl(fileno(out_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  const std::size_t columns = known ? size.ws_col - 1U : 79U;
  const std::size_t rows = known && size.ws_row > 4 ? size.ws_row : 24U;
  clear();
  const auto lines = progress_block(stats, columns, rows - 4);
  for (const std::string& line : lines) std::fputs((line + "\n").c_str(), out_);
  drawn_ = lines.size();
  std::fflush(out_);
}

void Progress::update(const roles::RunStats& stats) {
  if (terminal_) return draw(stats);
  const auto now = Clock::now();
  if (last_line_ && now - *last_line_ < kLineEvery && stats.phase == last_phase_) return;
  last_line_ = now;
  last_phase_ = stats.phase;
  std::fputs(cat("paceline: ", progress_line(stats), "\n").c_str(), out_);
  std::fflush(out_);
}

void Progress::note(const std::string& text) {
  clear();
  std::fputs(cat("paceline: ", text, "\n").c_str(), out_);
  std::fflush(out_);
}

void Progress::finish() { drawn_ = 0; }

}  // namespace paceline::cli
