#include "paceline/node/launcher.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/base/text.h"
#include "paceline/net/tls.h"
#include "paceline/node/job.h"
#include "paceline/node/process.h"
#include "paceline/node/summary.h"

// One thread and one poll(): signals, what the children say, and who has ended.
namespace paceline::node {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace std::string_literals;

constexpr seconds kListenDeadline{30};    // until the coordinator says where it is
constexpr milliseconds kStopGrace{3000};  // for everybody after Ctrl+C: done in under 5 s
constexpr milliseconds kEndGrace{2000};   // for the others once the coordinator has ended
constexpr milliseconds kTick{200};
constexpr int kWriteTimeoutMs = 1000;

struct Member {
  NodeId node;
  Child child;
  LineReader lines;
  std::string log;
  std::optional<Ending> ended = {};
  std::optional<StopOrder> said = {};  // why it ends, in its own words
};

std::string random_name() {
  unsigned char bytes[8];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) std::abort();
  std::string name;
  for (const unsigned char byte : bytes) {
    name += "0123456789abcdef"[byte >> 4U];
    name += "0123456789abcdef"[byte & 15U];
  }
  return name;
}

// How many processes the kernel has killed for want of memory since it started.
std::uint64_t memory_kills() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  std::uint64_t value = 0;
  while (file >> name >> value) {
    if (name == "oom_kill") return value;
  }
  return 0;
}

// Of a log of ours (time, level, host, role, text): it goes well and has nothing to tell of an end.
bool is_calm(const std::string& line) {
  std::istringstream words(line);
  std::string time;
  std::string level;
  words >> time >> level;
  return time.ends_with('Z') && (level == "info" || level == "debug");
}

std::vector<std::string> last_lines(const std::string& path, std::size_t count) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(0, std::ios::end);
  const auto size = static_cast<std::int64_t>(file.tellg());
  file.seekg(std::max<std::int64_t>(0, size - 8192));
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
    if (lines.size() > count) lines.pop_front();
  }
  return {lines.begin(), lines.end()};
}

// A folder for the run's sockets and keys, gone with the run. Unix socket names must be short (108
// bytes): so not in the run's folder, which may lie deep. Its lock is held as long as the launcher
// lives: a folder whose lock is free was left by one that was killed, and the next run removes it.
class PrivateFolder {
 public:
  static Result<PrivateFolder> make() {
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    for (const std::string& parent : {std::string(runtime == nullptr ? "" : runtime), "/tmp"s}) {
      std::error_code error;
      if (parent.empty() || parent.size() > 60 || !fs::is_directory(parent, error)) continue;
      remove_left_over(parent);
      std::string path = cat(parent, "/", kPrefix, kSuffix);
      if (mkdtemp(path.data()) != nullptr) return lock(path);
    }
    return fail(Code::Refused, cat("cannot make a folder in /tmp: ", std::strerror(errno)),
                "make /tmp writable, or set XDG_RUNTIME_DIR to a folder of your own");
  }
  ~PrivateFolder() {
    std::error_code ignored;
    if (lock_.is_open()) fs::remove_all(path_, ignored);
  }
  PrivateFolder(PrivateFolder&&) = default;
  PrivateFolder& operator=(PrivateFolder&&) = delete;

  const std::string& path() const { return path_; }

 private:
  static constexpr std::string_view kPrefix = "paceline-";
  static constexpr std::string_view kSuffix = "XXXXXX";  // what mkdtemp() fills in

  PrivateFolder(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  // Locked under another name first: nobody sees the lock free before it is taken.
  static Result<PrivateFolder> lock(const std::string& path) {
    const std::string name = path + "/lock";
    Fd lock(open((name + ".new").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!lock.is_open() || flock(lock.get(), LOCK_EX | LOCK_NB) != 0 ||
        rename((name + ".new").c_str(), name.c_str()) != 0) {
      return fail(Code::Refused, cat("cannot lock ", name, ": ", std::strerror(errno)));
    }
    return PrivateFolder(path, std::move(lock));
  }

  static void remove_left_over(const std::string& parent) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(parent, error)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(kPrefix) || name.size() != kPrefix.size() + kSuffix.size()) continue;
      const Fd lock(open((entry.path() / "lock").c_str(), O_WRONLY | O_CLOEXEC));
      struct stat info {};
      if (!lock.is_open() || fstat(lock.get(), &info) != 0 || info.st_uid != geteuid()) continue;
      if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), error);
    }
  }

  std::string path_;
  Fd lock_;
};

bool is_of_the_user(NodeId node) {
  return node.role == Role::Worker || node.role == Role::Evaluator;
}

class Launcher {
 public:
  explicit Launcher(const LaunchOptions& options) : options_(options) {}
  ~Launcher() = default;
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  LaunchResult run() {
    if (const Status prepared = prepare(); !prepared) return give_up(prepared.error());
    if (const Status started = start(kCoordinator); !started) return give_up(started.error());
    deadline_ = Clock::now() + kListenDeadline;
    while (!over_) wait_and_handle();
    end_everybody();
    return result();
  }

 private:
  Status prepare();
  Status start(NodeId node);
  Status start_others();
  Command command_of(NodeId node) const;
  void write_process_list() const;

  void wait_and_handle();
  void handle_signals();
  void handle_lines(Member& member);
  void handle_report(Member& member, Report report);
  void handle_figures(roles::RunStats stats);
  void handle_endings();
  void handle_ending(Member& member, const Ending& ending);
  void handle_deadline();

  void stop(int exit_code, const std::string& why);
  void abort(Error error);
  std::string how_it_ended(const Member& member) const;
  Error lost(const Member& member) const;
  void end_everybody();
  bool all_ended() const;
  LaunchResult result();
  Error failure(const Ending& ending) const;
  LaunchResult give_up(const Error& error);

  const LaunchOptions& options_;
  Job job_;
  std::optional<PrivateFolder> private_;
  Fd signals_;
  std::deque<Member> members_;  // the coordinator first
  std::uint64_t memory_kills_ = memory_kills();
  std::optional<Clock::time_point> deadline_;
  bool listening_ = false;
  bool over_ = false;
  std::optional<StopOrder> stopping_;
  std::optional<Error> error_;
  std::optional<Error> server_lost_;
  roles::RunStats stats_;
  std::optional<double> setup_seconds_;
};

// ---- the start ----

Status Launcher::prepare() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&set, signal);
  std::signal(SIGCHLD, SIG_DFL);  // ignored, it would take the endings of children away
  std::signal(SIGPIPE, SIG_IGN);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.is_open()) return fail(Code::Refused, cat("signalfd: ", std::strerror(errno)));
  // A closed 0, 1 or 2 would be taken by one of our pipes.
  while (true) {
    const int fd = open("/dev/null", O_RDWR);
    if (fd < 0 || fd > STDERR_FILENO) {
      if (fd >= 0) close(fd);
      break;
    }
  }
  job_.id = cat(options_.folder.name(), "-", random_name());
  job_.folder = options_.folder.path.string();
  job_.epoch = std::chrono::nanoseconds(options_.began.time_since_epoch()).count();
  if (getrandom(job_.secret.data(), job_.secret.size(), 0) !=
      static_cast<ssize_t>(job_.secret.size())) {
    return fail(Code::Refused, "the machine gives no random numbers");
  }
  auto made = PrivateFolder::make();
  if (!made) return fail(made.error());
  private_.emplace(std::move(*made));
  job_.sockets = private_->path();
  if (!options_.config.cluster.tls) return {};
  job_.credentials = private_->path();
  const auto certificates = net::make_job_certificates(job_.credentials);
  return certificates ? Status{} : fail(certificates.error());
}

Command Launcher::command_of(NodeId node) const {
  const std::string folder = options_.folder.path.string();
  const std::string log = options_.folder.log(node).string();
  const std::string index = std::to_string(node.index);
  switch (node.role) {
    case Role::Coordinator:
      return {options_.paceline, {"coordinator", folder}, log};
    case Role::Server:
      return {options_.paceline, {"server", folder, "--index", index}, log};
    case Role::Worker:
      return {options_.worker_program, {folder, "--index", index}, log};
    case Role::Evaluator:
      return {options_.worker_program, {folder, "--evaluate"}, log};
  }
  return {};
}

Status Launcher::start(NodeId node) {
  const Command command = command_of(node);
  auto child = Child::start(command);
  if (!child) return fail(child.error());
  const int out = child->out();
  members_.push_back({node, std::move(*child), LineReader(out), command.log});
  write_line(members_.back().child.in(), to_line(job_), kWriteTimeoutMs);
  return {};
}

Status Launcher::start_others() {
  const Config& config = options_.config;
  std::vector<NodeId> nodes;
  for (std::uint32_t s = 0; s < config.cluster.servers; ++s) nodes.push_back(server_node(s));
  for (std::uint32_t w = 0; w < config.cluster.workers; ++w) nodes.push_back(worker_node({w}));
  if (config.train.evaluate) nodes.push_back(kEvaluator);
  for (const NodeId node : nodes) {
    if (const Status started = start(node); !started) return started;
  }
  write_process_list();
  return {};
}

// For people and tools: who is who, and when (on the host's monotonic clock) the run's time is
// zero. Nothing of the run depends on it.
void Launcher::write_process_list() const {
  auto list = nlohmann::ordered_json::array();
  for (const Member& member : members_) {
    list.push_back({{"role", std::string(to_string(member.node.role))},
                    {"rank", member.node.index},
                    {"pid", member.child.pid()}});
  }
  const nlohmann::ordered_json all = {{"epoch_nanoseconds", job_.epoch}, {"processes", list}};
  (void)write_file(options_.folder.path / "processes.json", all.dump(1) + "\n");
}

// ---- while it runs ----

void Launcher::wait_and_handle() {
  std::vector<pollfd> wanted{{signals_.get(), POLLIN, 0}};
  for (const Member& member : members_) {
    if (!member.lines.closed()) wanted.push_back({member.child.out(), POLLIN, 0});
  }
  poll(wanted.data(), wanted.size(), static_cast<int>(kTick.count()));
  handle_signals();
  for (std::size_t i = 0; i < members_.size(); ++i) handle_lines(members_[i]);
  handle_endings();
  handle_deadline();
}

void Launcher::handle_signals() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGINT) stop(130, "Ctrl+C");
    if (info.ssi_signo == SIGTERM) stop(143, "SIGTERM");
    if (info.ssi_signo == SIGHUP) stop(143, "the terminal is gone (SIGHUP)");
  }
}

void Launcher::handle_lines(Member& member) {
  for (const std::string& line : member.lines.read()) {
    auto report = parse_report(line);
    // A program of one's own that prints before it becomes a worker: that belongs to its log.
    if (!report && is_of_the_user(member.node)) {
      std::ofstream(member.log, std::ios::app) << line << '\n';
      continue;
    }
    if (!report) return abort(report.error());
    handle_report(member, std::move(*report));
  }
}

void Launcher::handle_report(Member& member, Report report) {
  if (report.stopped) member.said = report.stopped;
  if (report.figures) handle_figures(std::move(*report.figures));
  if (report.failed && stats_.training) {  // it comes late, and the others go on
    member.said = StopOrder{node::exit_code(*report.failed), to_string(*report.failed)};
  } else if (report.failed) {
    abort({report.failed->code, cat(to_string(member.node), ": ", report.failed->what),
           report.failed->fix, report.failed->where});
  }
  if (report.listening && member.node == kCoordinator && !listening_) {
    listening_ = true;
    deadline_.reset();
    job_.coordinator = *report.listening;
    if (stopping_ || error_) return;
    if (const Status started = start_others(); !started) abort(started.error());
  }
}

void Launcher::handle_figures(roles::RunStats stats) {
  stats_ = std::move(stats);
  if (stats_.training && !setup_seconds_) {
    const Duration since_start = stats_.now - stats_.started;
    setup_seconds_ = to_seconds(Clock::now() - options_.began - since_start);
  }
  if (options_.on_figures) options_.on_figures(stats_);
}

void Launcher::handle_endings() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    if (member.ended) continue;
    const auto ending = member.child.ending();
    if (!ending) continue;
    handle_lines(member);  // its last words
    member.ended = ending;
    handle_ending(member, *ending);
  }
}

void Launcher::handle_ending(Member& member, const Ending& ending) {
  if (member.node == kCoordinator) {
    over_ = true;
    return;
  }
  // Told to go, the run is over and nobody minds; by itself, the coordinator waits for it in vain.
  const bool in_order = ending.exit_code == 0 && ending.signal == 0;
  const std::string how = how_it_ended(member);
  if (!in_order && member.node.role == Role::Server && !server_lost_) server_lost_ = lost(member);
  Member& coordinator = members_.front();
  if (!coordinator.ended) {
    write_line(coordinator.child.in(),
               to_line(Died{member.node, ending.exit_code, ending.signal, how}), kWriteTimeoutMs);
  }
  if (!in_order && !stopping_ && !error_ && options_.on_notice) {
    options_.on_notice(cat(to_string(member.node), " is lost: ", how));
  }
}

// What is said of its end, with what to do about it.
std::string Launcher::how_it_ended(const Member& member) const {
  const Ending ending = member.ended.value_or(Ending{});
  std::string text;
  if (ending.signal != 0) {
    text = cat("killed by signal ", ending.signal, " (", signal_name(ending.signal), ")");
    if (ending.signal == SIGKILL && memory_kills() > memory_kills_) {
      text +=
          "; the kernel killed for want of memory meanwhile (see `dmesg`): fewer workers or a "
          "smaller batch need less";
    }
  } else if (member.said) {
    text = cat(member.said->why, " (exit code ", ending.exit_code, ")");
  } else {
    text = cat("exit code ", ending.exit_code);
  }
  if (!member.said) {
    const auto lines = last_lines(member.log, 1);
    if (!lines.empty() && !is_calm(lines.back())) {
      text += cat("; its last words: ", lines.back());
    }
  }
  return text;
}

Error Launcher::lost(const Member& member) const {
  std::string what = cat(to_string(member.node), " on this host (pid ", member.child.pid(),
                         ") is lost: ", how_it_ended(member));
  if (member.node.role == Role::Server) what += "; no run goes on without the shard it held";
  std::string fix = cat("its log is ", member.log);
  return {Code::Unavailable, std::move(what), std::move(fix)};
}

void Launcher::handle_deadline() {
  if (!deadline_ || Clock::now() < *deadline_) return;
  if (!listening_ && !error_) {
    abort({Code::DeadlineExceeded,
           cat("the coordinator did not start within ", kListenDeadline.count(), " s"),
           cat("its log is ", members_.front().log)});
  }
  over_ = true;
}

// ---- the end ----

void Launcher::stop(int exit_code, const std::string& why) {
  if (stopping_) {  // once more: somebody is in a hurry
    over_ = true;
    return;
  }
  stopping_ = StopOrder{exit_code, why};
  deadline_ = Clock::now() + kStopGrace;
  if (members_.empty()) {
    over_ = true;
    return;
  }
  if (options_.on_notice) options_.on_notice(cat("stopping: ", why));
  write_line(members_.front().child.in(), to_line(*stopping_), kWriteTimeoutMs);
}

// Nothing is to be had any more.
void Launcher::abort(Error error) {
  if (over_) return;
  error_ = std::move(error);
  over_ = true;
}

bool Launcher::all_ended() const {
  return std::ranges::all_of(members_, [](const Member& m) { return m.ended.has_value(); });
}

void Launcher::end_everybody() {
  // The coordinator said goodbye to them; an input that ends says it to those who missed it.
  for (Member& member : members_) member.child.close_in();
  const auto grace = stopping_ ? kStopGrace : kEndGrace;
  const bool hurry = error_.has_value() || (stopping_ && deadline_ && Clock::now() >= *deadline_);
  const auto until = Clock::now() + (hurry ? milliseconds(500) : std::min(grace, kEndGrace));
  while (!all_ended() && Clock::now() < until) {
    pollfd signals{signals_.get(), POLLIN, 0};
    poll(&signals, 1, 20);
    handle_signals();
    for (Member& member : members_) {
      handle_lines(member);
      if (!member.ended) member.ended = member.child.ending();
    }
  }
  for (Member& member : members_) {
    if (!member.ended) member.child.kill(SIGKILL);
  }
  while (!all_ended()) {  // SIGKILL cannot be refused
    pollfd signals{signals_.get(), POLLIN, 0};
    poll(&signals, 1, 20);
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    }
    for (Member& member : members_) {
      if (!member.ended) member.ended = member.child.ending();
    }
  }
}

LaunchResult Launcher::give_up(const Error& error) {
  error_ = error;
  end_everybody();
  return result();
}

LaunchResult Launcher::result() {
  LaunchResult result{std::move(stats_), 0, setup_seconds_, std::nullopt};
  Ending ended{-1, 0};  // there was no coordinator
  if (!members_.empty()) ended = members_.front().ended.value_or(ended);
  const bool complete = ended.exit_code == 0 && ended.signal == 0;
  if (complete && !error_) return result;  // whatever came after
  if (stopping_) {
    result.exit_code = stopping_->exit_code;
    return result;
  }
  result.error = error_ ? *error_ : failure(ended);
  result.exit_code = node::exit_code(*result.error);
  if (!error_ && ended.exit_code == 1) result.exit_code = 1;  // our own bug
  return result;
}

// Why the run did not end well, from how the coordinator ended.
Error Launcher::failure(const Ending& ending) const {
  const Member& coordinator = members_.front();
  if (server_lost_ && ending.exit_code == 4) return *server_lost_;
  if (!coordinator.said) return lost(coordinator);
  const Code code = ending.exit_code == 3   ? Code::Corruption
                    : ending.exit_code == 5 ? Code::Refused
                                            : Code::Unavailable;
  return {code, coordinator.said->why,
          cat("the logs are in ", (options_.folder.path / "logs").string())};
}

}  // namespace

LaunchResult launch(const LaunchOptions& options) { return Launcher(options).run(); }

}  // namespace paceline::node
