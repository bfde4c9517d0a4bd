#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "paceline/optim/momentum.h"

namespace paceline::optim {

// Momentum by feedback, after the closed loop of YellowFin (Zhang and Mitliagkas, "YellowFin and
// the art of momentum tuning", MLSys 2019, section 4): measures the momentum that updates have in
// all, what asynchrony adds included, and steers the explicit one until the whole is what was asked
// for.
//
// A gradient g that was computed at version s and applied with rate a tells, for each coordinate,
//   (w[s + 1] - w[s] + a g) / (w[s] - w[s - 1]);
// the median over coordinates is an estimate. At most kSampled coordinates of the shard and
// kVersions versions are kept. The rate grows as the explicit momentum falls, so that a gradient
// moves as far in the end. Without a late gradient nothing is measured, and nothing changes: BSP.
class ClosedLoop {
 public:
  static constexpr std::size_t kSampled = 256;
  static constexpr std::size_t kVersions = 64;
  static constexpr double kGain = 0.01;
  static constexpr double kSmoothing = 0.05;  // weight of the newest estimate

  // momentum: that is asked for, above 0, below 1. parameters: version 0.
  ClosedLoop(double momentum, bool nesterov, std::span<const float> parameters);

  // For the next update; null: nothing is measured yet, the usual rule.
  std::optional<Momentum> momentum() const;
  // An update is made: its gradient, the version that it was computed at (of a mean: null), its
  // rate, and what came of it.
  void note(std::span<const float> gradient, std::optional<std::uint64_t> computed_at, float lr,
            std::span<const float> parameters);

  double explicit_momentum() const { return explicit_; }
  // Of updates, as measured; null: not yet.
  std::optional<double> total_momentum() const { return total_; }

 private:
  std::vector<float> sampled(std::span<const float> values) const;
  const std::vector<float>* at(std::uint64_t version) const;
  std::optional<double> estimate(const std::vector<float>& gradient, std::uint64_t computed_at,
                                 float lr) const;

  double momentum_;
  bool nesterov_;
  std::size_t stride_;
  double explicit_;
  std::optional<double> total_;
  std::uint64_t version_ = 0;
  std::deque<std::vector<float>> versions_;  // the newest last: version_
};

}  // namespace paceline::optim
