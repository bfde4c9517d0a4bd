#pragma once

#include <functional>
#include <optional>
#include <thread>

#include "paceline/base/mutex.h"

namespace paceline::node {

// The one thread of a process that computes: model, data and LibTorch are touched there only.
// Its queue holds one job: a role has at most one computation under way, and a second one that is
// offered while the first still waits is refused.
class ComputeThread {
 public:
  ComputeThread();
  ~ComputeThread();  // waits for the job under way
  ComputeThread(const ComputeThread&) = delete;
  ComputeThread& operator=(const ComputeThread&) = delete;

  // Called by the loop. job: throws nothing. False: refused.
  [[nodiscard]] bool submit(std::function<void()> job) PACELINE_EXCLUDES(mutex_);
  // Nothing is under way and nothing waits.
  bool idle() PACELINE_EXCLUDES(mutex_);

 private:
  void run() PACELINE_EXCLUDES(mutex_);

  Mutex mutex_;
  Condition changed_;
  std::optional<std::function<void()>> next_ PACELINE_GUARDED_BY(mutex_);
  bool busy_ PACELINE_GUARDED_BY(mutex_) = false;
  bool stop_ PACELINE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace paceline::node
