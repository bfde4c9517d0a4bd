#include "paceline/node/compute.h"

#include <utility>

namespace paceline::node {

ComputeThread::ComputeThread() : thread_([this] { run(); }) {}

ComputeThread::~ComputeThread() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    next_.reset();
  }
  changed_.notify_all();
  thread_.join();
}

bool ComputeThread::submit(std::function<void()> job) {
  {
    const MutexLock lock(mutex_);
    if (next_) return false;
    next_ = std::move(job);
  }
  changed_.notify_all();
  return true;
}

bool ComputeThread::idle() {
  const MutexLock lock(mutex_);
  return !busy_ && !next_;
}

void ComputeThread::run() {
  mutex_.lock();
  while (true) {
    while (!stop_ && !next_) changed_.wait(mutex_);
    if (stop_) break;
    const std::function<void()> job = *std::exchange(next_, std::nullopt);
    busy_ = true;
    mutex_.unlock();
    job();
    mutex_.lock();
    busy_ = false;
  }
  mutex_.unlock();
}

}  // namespace paceline::node
