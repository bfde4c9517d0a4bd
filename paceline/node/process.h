#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "paceline/base/ids.h"
#include "paceline/base/result.h"

// Processes: those that this one starts, and what each needs to be a good one.
namespace paceline::node {

// A file descriptor that is closed with its owner.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept;
  Fd& operator=(Fd&& other) noexcept;

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

// Lines out of a descriptor that does not block.
class LineReader {
 public:
  // Longer lines end the conversation.
  static constexpr std::size_t kMaxLine = 64U << 20U;

  explicit LineReader(int fd) : fd_(fd) {}
  // The whole lines that are there now. closed() holds once the other side has ended.
  std::vector<std::string> read();
  bool closed() const { return closed_; }

 private:
  int fd_;
  bool closed_ = false;
  std::string buffer_;
};

// Writes all of it or fails; waits at most that long for a reader that is slow.
bool write_line(int fd, std::string_view line, int timeout_ms);

struct Command {
  std::string program;  // a path
  std::vector<std::string> arguments;
  std::string log;  // takes its standard error
};

// How a process ended.
struct Ending {
  int exit_code = 0;
  int signal = 0;  // 0: none
};

// A child that dies with this process. Its standard input and output are ours; it ignores SIGINT,
// which the terminal sends to all: stopping in order is the parent's business.
class Child {
 public:
  static Result<Child> start(const Command& command);

  pid_t pid() const { return pid_; }
  int in() const { return in_.get(); }
  int out() const { return out_.get(); }
  void close_in() { in_.reset(); }

  // How it ended, if it has; does not wait.
  std::optional<Ending> ending();
  void kill(int signal);

 private:
  Child(pid_t pid, Fd in, Fd out) : pid_(pid), in_(std::move(in)), out_(std::move(out)) {}

  pid_t pid_;
  Fd in_;
  Fd out_;
  std::optional<Ending> ending_;
};

std::string signal_name(int signal);  // "SIGKILL"

// The folder where this program lies.
std::string program_folder();

// Settings of malloc that every process of a run begins with: memory that was had once is kept,
// fresh pages are dear. Before any thread exists.
void prepare_memory();

}  // namespace paceline::node
