#include "paceline/node/role_process.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "paceline/base/text.h"
#include "paceline/net/address.h"
#include "paceline/net/pool.h"
#include "paceline/node/driver.h"
#include "paceline/node/job.h"
#include "paceline/node/log.h"
#include "paceline/node/process.h"
#include "paceline/node/run_folder.h"
#include "paceline/node/summary.h"
#include "paceline/roles/coordinator.h"
#include "paceline/roles/evaluator.h"
#include "paceline/roles/server.h"
#include "paceline/roles/worker.h"
#include "paceline/sync/registry.h"

namespace paceline::node {
namespace {

constexpr Duration kFiguresEvery = std::chrono::milliseconds(250);
constexpr int kJobTimeoutMs = 10'000;
constexpr int kSayTimeoutMs = 1000;

// What this process says to the launcher. One thread at a time. It takes standard output over: what
// a model of one's own prints there goes to the log from then on.
class Speaker {
 public:
  Speaker() : out_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
    if (out_.is_open()) dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  int file() const { return out_.get(); }
  // Sooner or later; waits a little for a launcher that is slow to listen.
  void say(const std::string& line) {
    rest_ += line + "\n";
    pollfd room{out_.get(), POLLOUT, 0};
    while (write_some() && poll(&room, 1, kSayTimeoutMs) == 1) {
    }
  }
  // Only if all that was said before is gone: for what is said again soon anyway. Never waits.
  void offer(const std::function<std::string()>& line) {
    if (write_some()) return;
    rest_ = line() + "\n";
    write_some();
  }

 private:
  // True if there is a rest.
  bool write_some() {
    if (rest_.empty()) return false;
    const ssize_t n = write(out_.get(), rest_.data(), rest_.size());
    if (n > 0) rest_.erase(0, static_cast<std::size_t>(n));
    if (n < 0 && errno != EAGAIN && errno != EINTR) rest_.clear();  // nobody is there any more
    return !rest_.empty();
  }

  Fd out_;
  std::string rest_;
};

// Not 0, and another one for each process: a role's `life`.
std::uint64_t draw_life() {
  std::uint64_t life = 0;
  while (life == 0) {
    if (getrandom(&life, sizeof life, 0) != sizeof life) std::abort();
  }
  return life;
}

// One process of a run: what it was told, and how it hears of more.
class Process {
 public:
  Process(NodeId self, const std::string& folder)
      : self_(self), folder_{folder}, logger_(self), launcher_(STDIN_FILENO) {}

  // Reads the job and the configuration. To be called first, with one thread.
  Status begin();

  NodeId self() const { return self_; }
  const Job& job() const { return job_; }
  const Config& config() const { return config_; }
  const RunFolder& folder() const { return folder_; }
  BufferPool& pool() { return pool_; }

  Status make_driver(Effects effects);
  Driver& driver() { return *driver_; }
  net::EventLoop& loop() { return *loop_; }
  // Where others of the run reach this one; it is the address that they are told.
  Result<std::string> listen();

  // Drives the role to its end, on a thread of its own.
  roles::Stop run(const Driver::StepFunction& step);
  // Says how it ended; returns the exit code.
  int end(const roles::Stop& stop);
  Speaker& speaker() { return speaker_; }
  void log(roles::Level level, const std::string& text) const { logger_.log(level, text); }

 private:
  Status read_job();
  void drive(const Driver::StepFunction& step, roles::Stop& stop);
  void watch(int ended);
  void handle_signals();
  void handle_launcher();

  NodeId self_;
  RunFolder folder_;
  Logger logger_;
  Speaker speaker_;
  LineReader launcher_;
  std::vector<std::string> early_;  // lines that came with the job
  Fd signals_;
  Job job_;
  Config config_;
  net::Pool pool_;
  std::optional<net::EventLoop> loop_;
  std::optional<Driver> driver_;
};

Status Process::begin() {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, nullptr);  // all threads to come have it from here
  signals_ = Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.is_open()) return fail(Code::Refused, cat("signalfd: ", std::strerror(errno)));
  for (const int fd : {STDIN_FILENO, speaker_.file()}) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  }
  if (const Status job = read_job(); !job) return job;
  auto config = parse_config(folder_.config().string());
  if (!config) return fail(config.error());
  config_ = std::move(*config);
  loop_.emplace(net::EventLoop::Clock::time_point(std::chrono::nanoseconds(job_.epoch)));
  return {};
}

Status Process::read_job() {
  std::vector<std::string> lines;
  while (lines.empty()) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = poll(&input, 1, kJobTimeoutMs);
    if (ready < 0 && errno == EINTR) continue;
    lines = launcher_.read();
    if (lines.empty() && (ready <= 0 || launcher_.closed())) {
      return fail(Code::InvalidArgument, "no job on standard input",
                  "this program is started by `paceline train`");
    }
  }
  auto job = parse_job(lines.front());
  if (!job) return fail(job.error());
  job_ = std::move(*job);
  early_.assign(lines.begin() + 1, lines.end());
  return {};
}

Status Process::make_driver(Effects effects) {
  net::TransportOptions options{.self = self_, .job = job_.id, .secret = job_.secret, .tls = {}};
  options.link_timeout = roles::kLinkTimeout;
  if (!job_.credentials.empty()) {
    auto tls = net::load_tls({job_.credentials + "/job.crt", job_.credentials + "/job.key"});
    if (!tls) return fail(tls.error());
    options.tls = std::move(*tls);
  }
  effects.log = [this](roles::Level level, const std::string& text) { log(level, text); };
  driver_.emplace(*loop_, std::move(options), pool_, std::move(effects));
  return {};
}

Result<std::string> Process::listen() {
  std::string wanted;
  if (config_.cluster.transport == Transport::Unix) {
    wanted = cat("unix:", job_.sockets, "/", to_string(self_.role), "-", self_.index);
  } else if (self_ == kCoordinator) {
    wanted = config_.cluster.listen;
  } else {  // a port that is named is the coordinator's
    auto address = net::parse_address(config_.cluster.listen);
    if (!address) return fail(address.error());
    address->port = 0;
    wanted = net::to_string(*address);
  }
  auto address = driver_->listen(wanted);
  if (!address) return address;
  log(roles::Level::Info, cat("listening at ", *address));
  speaker_.say(listening_line(*address));
  return address;
}

// ---- the loop's thread ----

void Process::drive(const Driver::StepFunction& step, roles::Stop& stop) {
  try {
    stop = driver_->run(step);
  } catch (const std::bad_alloc&) {
    stop = {5, "the machine has no more memory: fewer workers or a smaller model need less"};
  }
}

roles::Stop Process::run(const Driver::StepFunction& step) {
  Fd ended(eventfd(0, EFD_CLOEXEC));
  roles::Stop stop;
  std::thread loop([&] {
    drive(step, stop);
    const std::uint64_t one = 1;
    (void)!write(ended.get(), &one, sizeof one);
  });
  watch(ended.get());
  loop.join();
  return stop;
}

int Process::end(const roles::Stop& stop) {
  log(stop.exit_code == 0 ? roles::Level::Info : roles::Level::Error, cat("ends: ", stop.why));
  speaker_.say(stopped_line(stop.exit_code, stop.why));
  // A gradient under way would be waited for, and nobody needs it any more.
  if (driver_->computing()) std::_Exit(stop.exit_code);
  return stop.exit_code;
}

// ---- the main thread ----

void Process::watch(int ended) {
  handle_launcher();  // what came with the job
  while (true) {
    pollfd wanted[] = {{ended, POLLIN, 0}, {signals_.get(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    const nfds_t count = launcher_.closed() ? 2 : 3;
    poll(wanted, count, -1);
    if (wanted[0].revents != 0) return;
    handle_signals();
    if (!launcher_.closed()) handle_launcher();
  }
}

void Process::handle_signals() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    driver_->post(roles::StopRequested{143, "SIGTERM"});
  }
}

void Process::handle_launcher() {
  std::vector<std::string> lines = std::exchange(early_, {});
  for (std::string& line : launcher_.read()) lines.push_back(std::move(line));
  for (const std::string& line : lines) {
    const auto order = parse_order(line);
    if (!order) {
      log(roles::Level::Error, to_string(order.error()));
      continue;
    }
    if (order->stop) driver_->post(roles::StopRequested{order->stop->exit_code, order->stop->why});
    if (const auto& died = order->died) {
      driver_->post(roles::ProcessDied{died->node, died->exit_code, died->signal, died->cause});
    }
  }
  if (launcher_.closed()) driver_->post(roles::StopRequested{143, "the launcher has ended"});
}

// One role from its first line to its exit code; what keeps it from beginning is told to the
// launcher.
int as_process(NodeId self, const std::string& folder,
               const std::function<Result<int>(Process&)>& body) {
  Process process(self, folder);
  Result<int> code = 0;
  if (const Status begun = process.begin(); begun) {
    code = body(process);
  } else {
    code = fail(begun.error());
  }
  if (code) return *code;
  process.log(roles::Level::Error, to_string(code.error()));
  process.speaker().say(failed_line(code.error()));
  return exit_code(code.error());
}

// The role outlives what it answers; its step is what the driver calls.
template <typename R>
Driver::StepFunction step_of(R& role) {
  return [&role](Time now, const roles::Input& input) { return role.step(now, input); };
}

// checkpoints/final.safetensors
Status keep(const Process& process, const LayoutOf& layout, const roles::Final& final) {
  const Config& config = process.config();
  return write_safetensors(process.folder().checkpoints() / "final.safetensors", layout(config),
                           final.parameters,
                           {{"policy", config.sync.policy}, {"seed", cat(config.run.seed)}});
}

Result<int> coordinate(Process& process, const LayoutOf& layout) {
  auto policy = sync::make_policy(process.config().sync.policy);
  if (!policy) return fail(policy.error());
  const RunFolder& folder = process.folder();
  auto recorder = Recorder::create(folder.decisions().string(), folder.metrics().string(),
                                   folder.trace().string());
  if (!recorder) return fail(recorder.error());
  auto made = process.make_driver({.recorder = &*recorder, .keep = [&](const roles::Final& final) {
                                     return keep(process, layout, final);
                                   }});
  if (!made) return fail(made.error());
  roles::Coordinator coordinator(coordinator_options(process.config()), std::move(*policy));
  if (auto address = process.listen(); !address) return fail(address.error());
  process.driver().every(kFiguresEvery, [&] {
    process.speaker().offer([&] { return figures_line(coordinator.stats()); });
  });
  const roles::Stop stop = process.run(step_of(coordinator));
  process.speaker().say(figures_line(coordinator.stats()));
  const net::Counters counters = process.driver().counters();
  process.log(roles::Level::Info,
              cat("connections: ", counters.links, " links, ", counters.strangers, " strangers"));
  return process.end(stop);
}

Result<int> serve(Process& process) {
  if (auto made = process.make_driver({}); !made) return fail(made.error());
  auto address = process.listen();
  if (!address) return fail(address.error());
  roles::Server server({.index = process.self().index,
                        .coordinator = process.job().coordinator,
                        .address = *address,
                        .life = draw_life()},
                       process.pool());
  return process.end(process.run(step_of(server)));
}

Result<int> work(Process& process, WorkerParts parts) {
  roles::GradientSource& source = *parts.source;
  if (auto made = process.make_driver({.source = &source}); !made) return fail(made.error());
  const WorkerId id{process.self().index};
  roles::Worker worker({.id = id,
                        .coordinator = process.job().coordinator,
                        .life = draw_life(),
                        .parameter_count = source.parameter_count(),
                        .dataset_size = parts.dataset_size,
                        .step_floor = step_floor(process.config(), id)},
                       process.pool());
  return process.end(process.run(step_of(worker)));
}

Result<int> evaluate(Process& process, roles::Evaluation& evaluation) {
  if (auto made = process.make_driver({.evaluation = &evaluation}); !made) {
    return fail(made.error());
  }
  roles::Evaluator evaluator({.coordinator = process.job().coordinator,
                              .life = draw_life(),
                              .parameter_count = evaluation.parameter_count()});
  return process.end(process.run(step_of(evaluator)));
}

}  // namespace

int run_coordinator(const std::string& folder, const LayoutOf& layout) {
  return as_process(kCoordinator, folder,
                    [&](Process& process) { return coordinate(process, layout); });
}

int run_server(const std::string& folder, std::uint32_t index) {
  return as_process(server_node(index), folder, serve);
}

int run_worker(const std::string& folder, std::uint32_t index,
               const std::function<Result<WorkerParts>(const Config&)>& make) {
  return as_process(worker_node({index}), folder, [&](Process& process) -> Result<int> {
    auto parts = make(process.config());
    if (!parts) return fail(parts.error());
    return work(process, std::move(*parts));
  });
}

int run_evaluator(
    const std::string& folder,
    const std::function<Result<std::unique_ptr<roles::Evaluation>>(const Config&)>& make) {
  return as_process(kEvaluator, folder, [&](Process& process) -> Result<int> {
    auto evaluation = make(process.config());
    if (!evaluation) return fail(evaluation.error());
    return evaluate(process, **evaluation);
  });
}

}  // namespace paceline::node
