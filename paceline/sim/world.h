#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "paceline/base/check.h"
#include "paceline/base/time.h"

namespace paceline::sim {

// Virtual time: what is to happen, in order. Of things at one time the one that was planned first
// comes first, so that a run repeats.
//
// What is planned for a later time stands in a heap with four children a node, whose keys are 16
// bytes: four of them are a cache line. What is planned for now, which without latency is nearly
// everything, waits in a ring: whatever stands in the heap for now was planned earlier.
class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    for (; ring_size_ > 0; --ring_size_) take_first().drop();
    for (const Key& key : heap_) tasks_[key.slot()].drop();
  }

  Time now() const { return now_; }
  bool is_empty() const { return ring_size_ == 0 && heap_.empty(); }
  Time next() const { return ring_size_ > 0 ? now_ : Time{heap_.front().at}; }  // not empty

  // at: not before now. action: called once, without arguments. A small one that may be copied as
  // bytes costs no memory of its own.
  template <typename Action>
  void plan(Time at, Action action) {
    PACELINE_CHECK(at >= now_, "nothing is planned for the past");
    if (at == now_) {
      if (ring_size_ == ring_.size()) grow_ring();
      new (&ring_[(ring_first_ + ring_size_) & (ring_.size() - 1)]) Task(std::move(action));
      ++ring_size_;
      return;
    }
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(tasks_.size());
      PACELINE_CHECK(slot < kSlotsMax, "at most 16 million things are planned at once");
      tasks_.emplace_back(std::move(action));
    } else {
      slot = free_.back();
      free_.pop_back();
      new (&tasks_[slot]) Task(std::move(action));
    }
    push({at.count(), planned_++ * kSlotsMax + slot});
  }

  // Nothing happens until then. at: not before now, not after next().
  void wait_until(Time at) { now_ = at; }

  void run_next() {  // not empty
    Task task;
    if (ring_size_ > 0 && (heap_.empty() || Time{heap_.front().at} > now_)) {
      task = take_first();
      --ring_size_;
    } else {
      const Key key = heap_.front();
      pop();
      now_ = Time{key.at};
      task = tasks_[key.slot()];
      free_.push_back(key.slot());
    }
    task.run();
  }

 private:
  static constexpr std::uint64_t kSlotsMax = std::uint64_t{1} << 24U;  // 2^40 plans remain

  // An action, copied as bytes: it lies inside, or on the heap.
  class Task {
   public:
    Task() = default;
    template <typename Action>
    explicit Task(Action action) {
      if constexpr (sizeof(Action) <= sizeof(bytes_) && alignof(Action) <= alignof(Task) &&
                    std::is_trivially_copyable_v<Action>) {
        new (bytes_) Action(std::move(action));
        does_ = [](std::byte* bytes, bool runs) {
          if (runs) (*std::launder(reinterpret_cast<Action*>(bytes)))();
        };
      } else {
        auto* owned = new Action(std::move(action));
        std::memcpy(bytes_, &owned, sizeof(owned));
        does_ = [](std::byte* bytes, bool runs) {
          Action* pointer = nullptr;
          std::memcpy(&pointer, bytes, sizeof(pointer));
          const std::unique_ptr<Action> back(pointer);
          if (runs) (*back)();
        };
      }
    }
    void run() { does_(bytes_, true); }
    void drop() { does_(bytes_, false); }

   private:
    void (*does_)(std::byte*, bool) = nullptr;
    alignas(8) std::byte bytes_[32];
  };

  struct Key {
    std::int64_t at = 0;
    std::uint64_t order = 0;  // its number, then its slot
    std::uint32_t slot() const { return static_cast<std::uint32_t>(order % kSlotsMax); }
    bool operator<(const Key& other) const {
      return at != other.at ? at < other.at : order < other.order;
    }
  };

  Task& take_first() {
    Task& first = ring_[ring_first_];
    ring_first_ = (ring_first_ + 1) & (ring_.size() - 1);
    return first;
  }

  void grow_ring() {
    std::vector<Task> larger(ring_.empty() ? 64 : 2 * ring_.size());
    for (std::size_t i = 0; i < ring_size_; ++i) {
      larger[i] = ring_[(ring_first_ + i) & (ring_.size() - 1)];
    }
    ring_ = std::move(larger);
    ring_first_ = 0;
  }

  void push(Key key) {
    std::size_t hole = heap_.size();
    heap_.push_back(key);
    while (hole > 0 && key < heap_[(hole - 1) / 4]) {
      heap_[hole] = heap_[(hole - 1) / 4];
      hole = (hole - 1) / 4;
    }
    heap_[hole] = key;
  }

  void pop() {
    const Key last = heap_.back();
    heap_.pop_back();
    const std::size_t size = heap_.size();
    if (size == 0) return;
    std::size_t hole = 0;
    while (4 * hole + 1 < size) {
      const std::size_t first = 4 * hole + 1;
      const std::size_t end = first + 4 < size ? first + 4 : size;
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (heap_[child] < heap_[least]) least = child;
      }
      if (!(heap_[least] < last)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = last;
  }

  Time now_{};
  std::uint64_t planned_ = 0;
  std::vector<Key> heap_;
  std::vector<Task> tasks_;  // of the heap's keys, by slot
  std::vector<std::uint32_t> free_;
  std::vector<Task> ring_;  // a power of two
  std::size_t ring_first_ = 0;
  std::size_t ring_size_ = 0;
};

}  // namespace paceline::sim
