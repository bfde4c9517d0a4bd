#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "paceline/base/mutex.h"
#include "paceline/net/event_loop.h"
#include "paceline/net/pool.h"
#include "paceline/net/transport.h"

// A transport on a loop of its own, with what happened to it written down: for tests.
namespace paceline::net::testing {

// Far above what anything takes, also under a sanitizer on a busy machine.
inline constexpr auto kDeadline = std::chrono::seconds(60);

inline wire::Secret secret_of(unsigned char first) {
  wire::Secret secret{};
  secret[0] = std::byte{first};
  return secret;
}

inline TransportOptions options_of(NodeId self) {
  TransportOptions options;
  options.self = self;
  options.job = "job-1";
  options.secret = secret_of(1);
  options.retry_first = std::chrono::milliseconds(2);
  options.retry_last = std::chrono::milliseconds(50);
  return options;
}

struct Got {
  NodeId from;
  wire::Message message;
  Payload payload;
};

class Node {
 public:
  explicit Node(TransportOptions options) {
    Handlers handlers;
    handlers.on_message = [this](NodeId from, wire::Message message, Payload payload) {
      if (on_message) on_message(from, message, payload);
      note([&] { got_.push_back({from, std::move(message), std::move(payload)}); });
    };
    handlers.on_up = [this](NodeId peer) {
      note([&] { events_.push_back("up " + to_string(peer)); });
    };
    handlers.on_down = [this](NodeId peer, const std::string& why) {
      note([&] {
        events_.push_back("down " + to_string(peer));
        reasons_.push_back(why);
      });
    };
    handlers.on_log = [this](LogLevel, const std::string& text) {
      note([&] { log_.push_back(text); });
    };
    transport_ = std::make_unique<Transport>(loop, std::move(options), pool, std::move(handlers));
    thread_ = std::thread([this] { loop.run(); });
  }
  ~Node() { stop(); }

  void stop() {
    loop.stop();
    if (thread_.joinable()) thread_.join();
    transport_.reset();
  }

  // Runs it on the loop and gives what it returns.
  template <typename F>
  auto on_loop(F f) {
    std::packaged_task<decltype(f(*transport_))()> task([&] { return f(*transport_); });
    auto result = task.get_future();
    EXPECT_TRUE(loop.post([&task] { task(); }));
    return result.get();
  }
  // For what already runs on the loop.
  void on_loop_now(const std::function<void(Transport&)>& f) { f(*transport_); }
  std::string listen(const std::string& address) {
    const auto actual = on_loop([&](Transport& t) { return t.listen(address); });
    EXPECT_TRUE(actual) << to_string(actual.error());
    return actual.value_or("");
  }
  void connect(NodeId peer, const std::string& address) {
    const auto connected = on_loop([&](Transport& t) { return t.connect(peer, address); });
    EXPECT_TRUE(connected) << to_string(connected.error());
  }
  void send(NodeId peer, const wire::Message& message, Payload payload = nullptr) {
    on_loop([&](Transport& t) { t.send(peer, message, std::move(payload)); });
  }

  // Waits until it holds; false when it never does.
  bool wait(const std::function<bool()>& holds) PACELINE_EXCLUDES(mutex_) {
    const auto deadline = std::chrono::steady_clock::now() + kDeadline;
    for (;;) {
      if (holds()) return true;
      {
        // Not everything that is waited for tells of its change (counters): look now and then.
        const MutexLock lock(mutex_);
        changed_.wait_for(mutex_, std::chrono::milliseconds(5));
      }
      if (std::chrono::steady_clock::now() > deadline) return false;
    }
  }
  bool wait_for_event(const std::string& event, std::ptrdiff_t times = 1) {
    return wait([&] { return count(events(), event) >= times; });
  }
  bool wait_for_messages(std::size_t n) {
    return wait([&] { return got().size() >= n; });
  }
  bool wait_for_log(const std::string& part) {
    return wait([&] {
      return std::ranges::any_of(
          log(), [&](const std::string& line) { return line.find(part) != std::string::npos; });
    });
  }
  bool wait_for_strangers(std::uint64_t n) {
    return wait([&] { return counters().strangers >= n; });
  }

  std::vector<std::string> events() { return copy(events_); }
  std::vector<std::string> reasons() { return copy(reasons_); }
  std::vector<std::string> log() { return copy(log_); }
  std::vector<Got> got() { return copy(got_); }
  Counters counters() const { return transport_->counters(); }

  static std::ptrdiff_t count(const std::vector<std::string>& all, const std::string& one) {
    return std::ranges::count(all, one);
  }

  EventLoop loop;
  Pool pool;
  // On the loop, before the message is written down. Set before anybody connects.
  std::function<void(NodeId, const wire::Message&, const Payload&)> on_message;

 private:
  template <typename F>
  void note(F f) PACELINE_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    f();
    changed_.notify_all();
  }
  template <typename T>
  T copy(const T& value) PACELINE_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return value;
  }

  std::unique_ptr<Transport> transport_;
  std::thread thread_;
  Mutex mutex_;
  Condition changed_;
  std::vector<Got> got_;  // these: guarded by mutex_
  std::vector<std::string> events_, reasons_, log_;
};

}  // namespace paceline::net::testing
