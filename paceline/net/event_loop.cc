#include "paceline/net/event_loop.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <system_error>
#include <utility>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

namespace paceline::net {
namespace {

// Further ahead than any run; keeps the sum with the epoch within the clock's range.
constexpr Duration kFarAhead = std::chrono::hours(24 * 365 * 10);

}  // namespace

struct EventLoop::State {
  explicit State(Clock::time_point start) : epoch(start) {}

  struct Timer {
    asio::steady_timer timer;
    std::uint64_t setting = 0;  // of the wait that counts; an earlier one may be under way
  };

  Clock::time_point epoch;
  asio::io_context io{1};
  std::atomic<std::size_t> waiting{0};
  std::map<std::uint32_t, Timer> timers;
  std::uint64_t settings = 0;
};

EventLoop::EventLoop(Clock::time_point epoch) : state_(std::make_unique<State>(epoch)) {}
EventLoop::~EventLoop() = default;

void EventLoop::run() {
  const auto guard = asio::make_work_guard(state_->io);
  state_->io.run();
}

void EventLoop::stop() { state_->io.stop(); }

bool EventLoop::post(Task task) {
  if (state_->io.stopped()) return false;
  if (state_->waiting.fetch_add(1) >= kMaxTasks) {
    state_->waiting.fetch_sub(1);
    return false;
  }
  asio::post(state_->io, [state = state_.get(), run = std::move(task)] {
    state->waiting.fetch_sub(1);
    run();
  });
  return true;
}

Time EventLoop::now() const {
  return std::chrono::duration_cast<Time>(Clock::now() - state_->epoch);
}

void EventLoop::set_timer_on_loop(std::uint32_t id, Time at, Task task) {
  const Time latest = now() + kFarAhead;
  State::Timer& timer =
      state_->timers.try_emplace(id, State::Timer{asio::steady_timer(state_->io)}).first->second;
  timer.setting = ++state_->settings;
  timer.timer.expires_at(state_->epoch + std::min(at, latest));
  timer.timer.async_wait([state = state_.get(), id, setting = timer.setting,
                          run = std::move(task)](const std::error_code& cancelled) {
    const auto found = state->timers.find(id);
    if (cancelled || found == state->timers.end() || found->second.setting != setting) return;
    run();
  });
}

void EventLoop::cancel_timer_on_loop(std::uint32_t id) { state_->timers.erase(id); }

asio::io_context& EventLoop::context() { return state_->io; }

}  // namespace paceline::net
