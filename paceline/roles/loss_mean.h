#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "paceline/base/ids.h"

namespace paceline::roles {

// The mean over workers of a running mean of each one's losses (weight 0.05). Cost: O(1) a loss,
// amortised: the sum is made anew once in as many losses as there are workers, so that what
// rounding leaves in it stays small, and at each loss while one of them is no number.
class LossMean {
 public:
  explicit LossMean(std::size_t workers) : means_(workers) {}

  void note(WorkerId worker, double loss) {
    constexpr double kWeight = 0.05;
    double& mean = means_.at(worker.value);
    const double before = mean;
    if (before == 0) ++count_;
    mean = before == 0 || !std::isfinite(before) ? loss : before + kWeight * (loss - before);
    if (mean == 0) --count_;
    sum_ += mean - before;
    if (++noted_ >= means_.size() || !std::isfinite(sum_)) sum_up();
  }

  // 0: no losses yet.
  double value() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

 private:
  void sum_up() {
    noted_ = 0;
    sum_ = 0;
    for (const double mean : means_) sum_ += mean;
  }

  std::vector<double> means_;  // [workers]; 0: none yet
  double sum_ = 0;
  std::size_t count_ = 0;  // of those that are not 0
  std::size_t noted_ = 0;  // since the sum was made
};

}  // namespace paceline::roles
