#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "paceline/base/result.h"

// Momentum where gradients come late. Asynchrony acts as momentum by itself (Mitliagkas et al.,
// "Asynchrony begets momentum, with an application to deep learning", Allerton 2016), on top of
// what the user set; each scale here takes some of it back. Every one of them leaves the distance
// that a gradient moves the parameters in the end, lr / (1 - momentum), as it was, and none changes
// anything where an update is the mean of all live workers' gradients and none of them is late:
// BSP.
namespace paceline::optim {

enum class MomentumScale {
  None,  // momentum once an update, as the papers have it
  // Momentum counts samples, not updates: an update of m pushes of n workers keeps momentum^(m/n).
  Samples,
  // The explicit momentum is max(0, 1 - (1 - momentum)(1 + s)), s being the mean staleness: what
  // asynchrony gives is taken off (Mitliagkas et al. 2016, Theorem 1, with staleness measured).
  Staleness,
  // As Samples, and a gradient that comes late is entered as if it had come on time: it moves the
  // parameters at once as far as it would have by now, and the velocity holds what would be left.
  Backdated,
  // The servers measure what momentum updates have in all, and steer the explicit one:
  // closed_loop.h.
  ClosedLoop,
};

// "none", "samples", "staleness", "backdated", "closed_loop".
Result<MomentumScale> parse_momentum_scale(std::string_view name);
std::string_view to_string(MomentumScale scale);

// How one update moves, d being its gradient (with weight decay) and v the velocity:
//   w <- w - lr (carried v + displaced d),  v <- kept v + entered d.
// The usual rule is carried = kept = momentum, displaced = entered = 1.
struct Momentum {
  float carried = 0;
  float displaced = 1;
  float kept = 0;
  float entered = 1;
  bool operator==(const Momentum&) const = default;
};

// What is known of an update when it is made.
struct UpdateFacts {
  std::uint32_t pushes = 1;   // whose mean it is: m
  std::uint32_t workers = 1;  // live ones: n; 0 if all have left
  double rate = 1;            // its learning rate over that of the schedule: m / n with PerSample
  double staleness = 0;       // mean over recent pushes, in updates
  double behind = 0;          // the same, in pushes
};

// A late gradient is entered as if it had come so many times its lateness ago. At 1 it would be
// what it would be if it had come on time; but the steps made meanwhile did not see it either, and
// more than 1 learns better (docs/explanation/learning.md).
inline constexpr double kBackdating = 3;

// Mean over about the last kMeanPushes pushes, over all of them while there are fewer.
class MeanStaleness {
 public:
  static constexpr std::uint64_t kMeanPushes = 100;
  void note(double staleness) {
    count_ += count_ < kMeanPushes ? 1 : 0;
    mean_ += (staleness - mean_) / static_cast<double>(count_);
  }
  double value() const { return mean_; }

 private:
  double mean_ = 0;
  std::uint64_t count_ = 0;
};

// momentum: 0 <= momentum < 1. null: the usual rule, or with ClosedLoop what the servers find.
//
// Seen as distances: of what gradients still owe, an update brings the share 1 - k, k being the
// momentum of that update; a gradient owes rate lr / (1 - momentum), of which it brings 1 - e k at
// once, e being the momentum over the time by which it is entered too late. The velocity, in the
// usual units, is what is owed times (1 - momentum) / (momentum lr): so updates of one push and of
// many mix. With Nesterov the parameters are one superstep's share ahead.
std::optional<Momentum> scale_momentum(MomentumScale scale, double momentum, bool nesterov,
                                       const UpdateFacts& facts);

}  // namespace paceline::optim
