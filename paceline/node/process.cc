#include "paceline/node/process.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paceline/base/text.h"

namespace paceline::node {
namespace {

// Runs in the child between fork and exec: only what is safe there.
[[noreturn]] void become(const Command& command, char* const* arguments, int in, int out, int log,
                         pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before prctl
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  signal(SIGINT, SIG_IGN);
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv(command.program.c_str(), arguments);
  const char* why = std::strerror(errno);
  (void)!write(STDERR_FILENO, why, std::strlen(why));
  _exit(127);
}

tl::unexpected<Error> cannot_start(const Command& command, int error) {
  return fail(Code::Refused, cat("cannot start ", command.program, ": ", std::strerror(error)),
              "the machine is short of processes, memory or open files");
}

}  // namespace

Fd::Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}
void Fd::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

std::vector<std::string> LineReader::read() {
  char chunk[65536];
  while (!closed_) {
    const ssize_t n = ::read(fd_, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n <= 0 || buffer_.size() > kMaxLine) {
      closed_ = true;
    } else {
      buffer_.append(chunk, static_cast<std::size_t>(n));
    }
  }
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end; (end = buffer_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(buffer_.substr(begin, end - begin));
  }
  buffer_.erase(0, begin);
  return lines;
}

bool write_line(int fd, std::string_view line, int timeout_ms) {
  const std::string text = cat(line, "\n");
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t n = write(fd, rest.data(), rest.size());
    if (n >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd ready{fd, POLLOUT, 0};
      if (poll(&ready, 1, timeout_ms) <= 0) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

Result<Child> Child::start(const Command& command) {
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return cannot_start(command, errno);
  Fd in_read(in[0]);
  Fd in_write(in[1]);
  if (pipe2(out, O_CLOEXEC) != 0) return cannot_start(command, errno);
  Fd out_read(out[0]);
  Fd out_write(out[1]);
  Fd log(open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!log.is_open()) {
    return fail(Code::Refused, cat("cannot write ", command.log, ": ", std::strerror(errno)),
                "choose another folder with run.dir");
  }
  std::vector<char*> arguments;
  arguments.push_back(const_cast<char*>(command.program.c_str()));
  for (const std::string& argument : command.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return cannot_start(command, errno);
  if (pid == 0) {
    become(command, arguments.data(), in_read.get(), out_write.get(), log.get(), parent);
  }
  fcntl(in_write.get(), F_SETFL, O_NONBLOCK);
  fcntl(out_read.get(), F_SETFL, O_NONBLOCK);
  return Child(pid, std::move(in_write), std::move(out_read));
}

std::optional<Ending> Child::ending() {
  if (ending_) return ending_;
  int status = 0;
  pid_t got = 0;
  do {
    got = waitpid(pid_, &status, WNOHANG);
  } while (got < 0 && errno == EINTR);
  if (got != pid_) return std::nullopt;
  if (WIFSIGNALED(status)) {
    ending_ = Ending{0, WTERMSIG(status)};
  } else {
    ending_ = Ending{WEXITSTATUS(status), 0};
  }
  return ending_;
}

void Child::kill(int signal) {
  if (!ending_) ::kill(pid_, signal);  // not waited for yet, so the pid is still its own
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? cat("signal ", signal) : cat("SIG", name);
}

std::string program_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string(".") : program.parent_path().string();
}

void prepare_memory() {
  // mallopt caps M_MMAP_THRESHOLD at 32 MB, so no block may be mapped at all.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

}  // namespace paceline::node
