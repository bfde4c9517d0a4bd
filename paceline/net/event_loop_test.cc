#include "paceline/net/event_loop.h"

#include <algorithm>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::net {
namespace {

using std::chrono::milliseconds;

// Runs a loop on a thread of its own for the length of a test.
class Running {
 public:
  explicit Running(EventLoop& loop) : loop_(loop), thread_([&loop] { loop.run(); }) {}
  ~Running() {
    loop_.stop();
    thread_.join();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  std::thread::id id() const { return thread_.get_id(); }

 private:
  EventLoop& loop_;
  std::thread thread_;
};

TEST(EventLoop, RunsTasksOfEachThreadInOrderOnItsOwn) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 2000;
  EventLoop loop;
  std::vector<std::vector<int>> ran(kThreads);  // the loop's alone
  std::promise<void> all;
  int left = kThreads * kTasks;
  {
    const Running running(loop);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kTasks; ++i) {
          ASSERT_TRUE(loop.post([&, t, i] {
            EXPECT_EQ(std::this_thread::get_id(), running.id());
            ran[static_cast<std::size_t>(t)].push_back(i);
            if (--left == 0) all.set_value();
          }));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    all.get_future().wait();
  }
  for (const auto& tasks : ran) {
    ASSERT_EQ(tasks.size(), static_cast<std::size_t>(kTasks));
    EXPECT_TRUE(std::is_sorted(tasks.begin(), tasks.end()));
  }
}

TEST(EventLoop, NeverRunsATaskInsideTheCall) {
  EventLoop loop;
  std::promise<bool> inside;
  const Running running(loop);
  ASSERT_TRUE(loop.post([&] {
    bool posting = true;
    ASSERT_TRUE(loop.post([&posting, &inside] { inside.set_value(posting); }));
    posting = false;
    ASSERT_TRUE(loop.post([] {}));
  }));
  // `posting` is gone by then; only that it ran later counts.
  inside.get_future().wait();
}

TEST(EventLoop, RefusesTasksBeyondItsBoundAndTakesThemAgain) {
  EventLoop loop;
  std::size_t ran = 0;
  for (std::size_t i = 0; i < EventLoop::kMaxTasks; ++i) {
    ASSERT_TRUE(loop.post([&ran] { ++ran; }));
  }
  EXPECT_FALSE(loop.post([&ran] { ++ran; }));
  loop.set_timer_on_loop(1, loop.now() + milliseconds(1),
                         [&loop] { EXPECT_TRUE(loop.post([&loop] { loop.stop(); })); });
  loop.run();
  EXPECT_EQ(ran, EventLoop::kMaxTasks);
}

TEST(EventLoop, StopsAfterTheTaskItIsInAndTakesNoMore) {
  EventLoop loop;
  bool later = false;
  ASSERT_TRUE(loop.post([&loop] { loop.stop(); }));
  ASSERT_TRUE(loop.post([&later] { later = true; }));
  loop.run();
  EXPECT_FALSE(later);
  EXPECT_FALSE(loop.post([] {}));
}

TEST(EventLoop, StopFromAnotherThreadEndsARunThatWaits) {
  EventLoop loop;
  std::promise<void> running;
  ASSERT_TRUE(loop.post([&running] { running.set_value(); }));
  std::thread thread([&loop] { loop.run(); });
  running.get_future().wait();
  loop.stop();
  thread.join();
}

TEST(EventLoop, TimersRunInTheOrderOfTheirTimesNotBefore) {
  EventLoop loop;
  std::vector<int> ran;
  const Time start = loop.now();
  const auto set = [&](std::uint32_t id, int ms) {
    loop.set_timer_on_loop(id, start + milliseconds(ms), [&, ms] {
      EXPECT_GE(loop.now(), start + milliseconds(ms));
      ran.push_back(ms);
      if (ms == 30) loop.stop();
    });
  };
  set(1, 30);
  set(2, 10);
  set(3, 20);
  set(4, -1000);  // has passed: at once
  loop.run();
  EXPECT_EQ(ran, (std::vector<int>{-1000, 10, 20, 30}));
}

TEST(EventLoop, SettingATimerAgainMovesIt) {
  EventLoop loop;
  std::vector<std::string> ran;
  const Time start = loop.now();
  const auto set = [&](std::uint32_t id, int ms, const std::string& what) {
    loop.set_timer_on_loop(id, start + milliseconds(ms), [&ran, what] { ran.push_back(what); });
  };
  set(1, 5, "early, moved back");
  set(1, 40, "later");
  set(2, 10'000'000, "far, moved up");
  set(2, 20, "sooner");
  set(3, 10, "cancelled");
  loop.cancel_timer_on_loop(3);
  loop.cancel_timer_on_loop(99);  // never set
  loop.set_timer_on_loop(4, start + milliseconds(60), [&loop] { loop.stop(); });
  loop.run();
  EXPECT_EQ(ran, (std::vector<std::string>{"sooner", "later"}));
}

// A timer that is due already when another task moves it: its old task does not run any more.
TEST(EventLoop, ATimerThatIsDueCanStillBeMoved) {
  EventLoop loop;
  int old_runs = 0;
  ASSERT_TRUE(loop.post([&] {
    const Time due = loop.now();
    for (std::uint32_t id = 1; id <= 50; ++id) {
      loop.set_timer_on_loop(id, due, [&, id] {
        // The first to run moves all others.
        for (std::uint32_t other = 1; other <= 50; ++other) {
          if (other == id) continue;
          if (other % 2 == 0) {
            loop.cancel_timer_on_loop(other);
          } else {
            loop.set_timer_on_loop(other, loop.now() + std::chrono::hours(1), [] {});
          }
        }
        ++old_runs;
      });
    }
    loop.set_timer_on_loop(1000, due + milliseconds(30), [&loop] { loop.stop(); });
  }));
  loop.run();
  EXPECT_EQ(old_runs, 1);
}

TEST(EventLoop, ATimerMaySetItselfAgain) {
  EventLoop loop;
  int ticks = 0;
  std::function<void()> tick = [&] {
    if (++ticks == 5) return loop.stop();
    loop.set_timer_on_loop(7, loop.now() + milliseconds(1), tick);
  };
  loop.set_timer_on_loop(7, loop.now(), tick);
  loop.run();
  EXPECT_EQ(ticks, 5);
}

TEST(EventLoop, NeverIsATimeLikeOthers) {
  EventLoop loop;
  loop.set_timer_on_loop(1, Time::max(), [] { FAIL(); });
  loop.set_timer_on_loop(2, loop.now() + milliseconds(5), [&loop] { loop.stop(); });
  loop.run();
}

// The clock counts from the epoch that was handed in, so that the processes of a run agree.
TEST(EventLoop, CountsFromTheEpoch) {
  const EventLoop loop(EventLoop::Clock::now() - std::chrono::hours(1));
  EXPECT_GE(loop.now(), std::chrono::hours(1));
  EXPECT_LT(loop.now(), std::chrono::hours(2));
}

}  // namespace
}  // namespace paceline::net
