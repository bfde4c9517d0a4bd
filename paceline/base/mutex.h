#pragma once

#include <condition_variable>
#include <mutex>

// Clang's thread-safety analysis; nothing to other compilers.
#if defined(__clang__)
#define PACELINE_TSA(x) __attribute__((x))
#else
#define PACELINE_TSA(x)
#endif
#define PACELINE_GUARDED_BY(mutex) PACELINE_TSA(guarded_by(mutex))
#define PACELINE_REQUIRES(...) PACELINE_TSA(requires_capability(__VA_ARGS__))
#define PACELINE_EXCLUDES(...) PACELINE_TSA(locks_excluded(__VA_ARGS__))

namespace paceline {

// std::mutex, annotated. Nobody holds two of them, so there is no lock order.
class PACELINE_TSA(capability("mutex")) Mutex {
 public:
  void lock() PACELINE_TSA(acquire_capability()) { mutex_.lock(); }
  void unlock() PACELINE_TSA(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class PACELINE_TSA(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) PACELINE_TSA(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() PACELINE_TSA(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

using Condition = std::condition_variable_any;  // waits on a Mutex

}  // namespace paceline
