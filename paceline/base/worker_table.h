#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "paceline/base/ids.h"

namespace paceline {

// A T for each worker id, as T{} until it is changed. Ids as a run counts them stand in a vector,
// which grows to the highest one asked for; whatever else a caller makes up costs an entry of its
// own, and no more.
template <typename T>
class WorkerTable {
 public:
  static constexpr std::uint32_t kDense = 1U << 20U;

  // Valid until a higher one is asked for.
  T& operator[](WorkerId worker) {
    if (worker.value >= kDense) return sparse_[worker];
    if (worker.value >= dense_.size()) dense_.resize(worker.value + std::size_t{1});
    return dense_[worker.value];
  }

  // Null if nobody asked for it, or, below the highest one asked for, a T{}.
  const T* find(WorkerId worker) const {
    if (worker.value < dense_.size()) return &dense_[worker.value];
    const auto found = sparse_.find(worker);
    return found == sparse_.end() ? nullptr : &found->second;
  }
  T* find(WorkerId worker) {
    return const_cast<T*>(static_cast<const WorkerTable*>(this)->find(worker));
  }

  // visit(T&), by worker id; also of those below the highest one that nobody asked for.
  template <typename Visit>
  void for_each(Visit visit) {
    for (T& each : dense_) visit(each);
    for (auto& [worker, each] : sparse_) visit(each);
  }

 private:
  std::vector<T> dense_;
  std::map<WorkerId, T> sparse_;
};

}  // namespace paceline
