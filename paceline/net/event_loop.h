#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "paceline/base/time.h"

namespace asio {
class io_context;
}

namespace paceline::net {

// The one thread that owns a process's sockets, timers and role. Functions that end in _on_loop
// belong to that thread, or to any one thread while run() is not running; the others to all.
class EventLoop {
 public:
  using Task = std::function<void()>;
  using Clock = std::chrono::steady_clock;

  // What waits to be run at most; beyond it post() refuses.
  static constexpr std::size_t kMaxTasks = 1U << 16U;

  // epoch: when now() is zero: the beginning of the run, the same in all its processes on a host.
  explicit EventLoop(Clock::time_point epoch = Clock::now());
  // After run() has returned, and after whatever was built on this loop is gone.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs tasks, timers and sockets on the calling thread until stop(). Once only.
  void run();
  // run() returns after the task it is in. What still waits is never run.
  void stop();

  // Runs the task on the loop, never inside this call, in the order of the calls. False: the queue
  // is full or the loop has stopped; the task is gone.
  [[nodiscard]] bool post(Task task);

  Time now() const;

  // Runs the task once, at that time or at once when it has passed. A timer of the same id is
  // moved: its old task is not run any more.
  void set_timer_on_loop(std::uint32_t id, Time at, Task task);
  void cancel_timer_on_loop(std::uint32_t id);

  // For what is built on it in this folder.
  asio::io_context& context();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paceline::net
