#include "paceline/node/process.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <future>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paceline/base/text.h"
#include "paceline/node/compute.h"
#include "paceline/node/job.h"
#include "paceline/node/line_file.h"
#include "paceline/node/run_folder.h"
#include "paceline/node/stats_json.h"
#include "paceline/node/trace.h"

namespace paceline::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kLongMs = 60'000;

Command shell(const std::string& script) { return {"/bin/sh", {"-c", script}, "/dev/null"}; }

// All it says until it ends.
std::vector<std::string> lines_of(Child& child) {
  LineReader reader(child.out());
  std::vector<std::string> lines;
  while (!reader.closed()) {
    pollfd out{child.out(), POLLIN, 0};
    if (poll(&out, 1, kLongMs) <= 0) break;
    for (std::string& line : reader.read()) lines.push_back(std::move(line));
  }
  return lines;
}

// What it says first; it goes on.
std::string first_line_of(Child& child) {
  LineReader reader(child.out());
  while (!reader.closed()) {
    pollfd out{child.out(), POLLIN, 0};
    if (poll(&out, 1, kLongMs) <= 0) break;
    const auto lines = reader.read();
    if (!lines.empty()) return lines.front();
  }
  return "";
}

Ending ending_of(Child& child) {
  lines_of(child);  // its output is closed: it is about to be gone
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT);
  return child.ending().value_or(Ending{-1, -1});
}

TEST(Child, TellsHowItEnded) {
  auto done = Child::start(shell("exit 7"));
  ASSERT_TRUE(done);
  EXPECT_EQ(ending_of(*done).exit_code, 7);
  auto killed = Child::start(shell("kill -9 $$"));
  ASSERT_TRUE(killed);
  EXPECT_EQ(ending_of(*killed).signal, SIGKILL);
  EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
}

TEST(Child, SpeaksInLinesAndHearsOurs) {
  auto child = Child::start(shell("echo ready; read word; echo heard $word; printf 'half'"));
  ASSERT_TRUE(child);
  EXPECT_EQ(first_line_of(*child), "ready");  // while it waits for us
  EXPECT_TRUE(write_line(child->in(), "hello", kLongMs));
  EXPECT_THAT(lines_of(*child), ElementsAre("heard hello"));
}

TEST(Child, IgnoresCtrlCOfTheTerminal) {
  // Programs in the background of a shell inherit that it is ignored: not this one.
  const auto before = signal(SIGINT, SIG_DFL);
  auto child = Child::start(shell("kill -INT $$; echo alive"));
  signal(SIGINT, before);
  ASSERT_TRUE(child);
  EXPECT_THAT(lines_of(*child), ElementsAre("alive"));
}

TEST(Child, OfAMissingProgramSaysSoInItsLog) {
  auto child = Child::start({"/nonexistent/paceline-worker", {}, "/dev/null"});
  ASSERT_TRUE(child);
  EXPECT_EQ(ending_of(*child).exit_code, 127);
}

TEST(Child, DiesWithItsParentEvenIfThatOneIsKilled) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {  // starts a child that holds the pipe open for ever, and is killed
    auto child = Child::start(shell("echo up; exec sleep 1000"));
    if (!child || first_line_of(*child) != "up") _exit(1);
    // The child has our end of the pipe too (it is not close-on-exec): it is open while it lives.
    ::kill(getpid(), SIGKILL);
  }
  close(pipe_ends[1]);
  int status = 0;
  waitpid(parent, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  pollfd end{pipe_ends[0], POLLIN, 0};
  EXPECT_EQ(poll(&end, 1, kLongMs), 1) << "the child outlived its parent";
  close(pipe_ends[0]);
}

TEST(LineReader, TakesALineApartFromHowItArrives) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  LineReader reader(ends[0]);
  EXPECT_TRUE(reader.read().empty());
  EXPECT_EQ(write(ends[1], "a\nb", 3), 3);
  EXPECT_THAT(reader.read(), ElementsAre("a"));
  EXPECT_EQ(write(ends[1], "c\n\n", 3), 3);
  EXPECT_THAT(reader.read(), ElementsAre("bc", ""));
  EXPECT_FALSE(reader.closed());
  close(ends[1]);
  EXPECT_TRUE(reader.read().empty());
  EXPECT_TRUE(reader.closed());
  close(ends[0]);
}

TEST(LineFile, AFullDiskIsAnErrorThatNamesTheFile) {
  auto file = LineFile::create("/dev/full");
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->append("gathered first"));
  const Status status = file->flush();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::Refused);
  EXPECT_THAT(to_string(status.error()), HasSubstr("/dev/full"));
  EXPECT_FALSE(LineFile::create("/nonexistent/folder/file"));
}

TEST(ComputeThread, HoldsOneJobAndRefusesTheNext) {
  ComputeThread compute;
  std::promise<void> started;
  std::promise<void> gate;
  std::promise<void> done;
  EXPECT_TRUE(compute.idle());
  EXPECT_TRUE(compute.submit([&] {
    started.set_value();
    gate.get_future().wait();
  }));
  started.get_future().wait();
  EXPECT_FALSE(compute.idle());
  EXPECT_TRUE(compute.submit([&] { done.set_value(); }));
  EXPECT_FALSE(compute.submit([] {}));
  gate.set_value();
  done.get_future().wait();
}

TEST(Job, ComesThroughAsItWas) {
  Job job{.id = "run-1",
          .folder = "/tmp/a \"b\"",
          .sockets = "/tmp/s",
          .credentials = "",
          .coordinator = "unix:/tmp/s/c",
          .epoch = 123456789012345};
  job.secret[3] = std::byte{7};
  const auto parsed = parse_job(to_line(job));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->id, job.id);
  EXPECT_EQ(parsed->secret, job.secret);
  EXPECT_EQ(parsed->folder, job.folder);
  EXPECT_EQ(parsed->coordinator, job.coordinator);
  EXPECT_EQ(parsed->epoch, job.epoch);
  EXPECT_FALSE(parse_job("{}"));
  EXPECT_FALSE(parse_job("not json"));
}

TEST(Job, OrdersAndReportsComeThrough) {
  const auto died = parse_order(to_line(Died{server_node(2), 0, 9, "killed"}));
  ASSERT_TRUE(died && died->died);
  EXPECT_EQ(died->died->node, server_node(2));
  EXPECT_EQ(died->died->signal, 9);
  const auto stop = parse_order(to_line(StopOrder{143, "SIGTERM"}));
  ASSERT_TRUE(stop && stop->stop);
  EXPECT_EQ(stop->stop->exit_code, 143);
  const Error error{Code::Refused, "port 1 is in use", "choose another", "cluster.listen"};
  const auto failed = parse_report(failed_line(error));
  ASSERT_TRUE(failed && failed->failed);
  EXPECT_EQ(*failed->failed, error);
  const auto listening = parse_report(listening_line("127.0.0.1:7"));
  ASSERT_TRUE(listening && listening->listening);
  EXPECT_EQ(*listening->listening, "127.0.0.1:7");
}

TEST(Job, FiguresComeThroughWhole) {
  roles::RunStats stats;
  stats.phase = "training";
  stats.training = true;
  stats.started = Time{5};
  stats.last_applied = Time{1'000'000'007};
  stats.now = Time{2'000'000'009};
  stats.version = 12;
  stats.samples = 640;
  stats.samples_budget = 1000;
  stats.lr = 0.1;
  stats.train_loss = 0.25;
  stats.workers = {{roles::WorkerStats::State::Computing, 7, Duration{11}, 0.5F, Duration{13}}, {}};
  stats.staleness = {{0, 3}, {4, 1}};
  stats.applied = 20;
  stats.dropped = 1;
  stats.repeated = 2;
  stats.barriers = 3;
  stats.leases_lost = 4;
  stats.pushed_bytes = 1ULL << 40U;
  stats.pulled_bytes = 9;
  stats.failures = {{worker_node({1}), "signal", 9, 0, "killed", Time{17}, 5}};
  stats.evaluations = {{Time{19}, 10, 320, 0.5, 1.5}};
  stats.target_reached = Time{23};
  stats.param_sha256 = "ab";
  const auto report = parse_report(figures_line(stats));
  ASSERT_TRUE(report && report->figures);
  EXPECT_EQ(*report->figures, stats);
}

TEST(Trace, LeavesOutWhatIsTooMuchAndStaysReadable) {
  const std::string path = cat(::testing::TempDir(), "paceline-trace-", getpid(), ".json");
  {
    auto trace = Trace::create(path, 10);
    ASSERT_TRUE(trace);
    for (std::uint64_t step = 0; step < 20; ++step) {
      const Time now{static_cast<std::int64_t>(step) * 1000};
      EXPECT_TRUE(trace->on_output(
          now, roles::Send{worker_node({0}), wire::Release{.step = step}, nullptr}));
      EXPECT_TRUE(trace->on_input(
          now + Time{500},
          roles::Received{worker_node({0}), wire::Progress{.step = step, .loss = 1}, nullptr}));
    }
    EXPECT_TRUE(trace->finish());
  }
  const auto events = nlohmann::json::parse(*read_file(path));
  EXPECT_EQ(events.size(), 11U);
  EXPECT_EQ(events.back().at("name"), "left out");
  unlink(path.c_str());
}

}  // namespace
}  // namespace paceline::node
