#include "paceline/optim/momentum.h"

#include <algorithm>
#include <cmath>

#include "paceline/optim/names.h"

namespace paceline::optim {
namespace {

constexpr Named<MomentumScale> kScales[] = {{"none", MomentumScale::None},
                                            {"samples", MomentumScale::Samples},
                                            {"staleness", MomentumScale::Staleness},
                                            {"backdated", MomentumScale::Backdated},
                                            {"closed_loop", MomentumScale::ClosedLoop}};

// Updates of all live workers that these pushes make; one that comes when all have left is one.
double supersteps(double pushes, const UpdateFacts& facts) {
  return pushes / (facts.workers == 0 ? facts.pushes : facts.workers);
}

}  // namespace

Result<MomentumScale> parse_momentum_scale(std::string_view name) {
  return parse<MomentumScale>(name, kScales, "momentum_scale", "scale of the momentum");
}
std::string_view to_string(MomentumScale scale) { return name_of<MomentumScale>(scale, kScales); }

std::optional<Momentum> scale_momentum(MomentumScale scale, double momentum, bool nesterov,
                                       const UpdateFacts& facts) {
  if (momentum == 0) return std::nullopt;
  double kept = momentum;
  double late = 1;
  switch (scale) {
    case MomentumScale::None:
    case MomentumScale::ClosedLoop:
      return std::nullopt;
    case MomentumScale::Staleness:
      if (facts.staleness > 0) kept = std::max(0.0, 1 - (1 - momentum) * (1 + facts.staleness));
      break;
    case MomentumScale::Backdated:
      late = std::pow(momentum, kBackdating * supersteps(facts.behind, facts));
      [[fallthrough]];
    case MomentumScale::Samples:
      kept = std::pow(momentum, supersteps(facts.pushes, facts));
      break;
  }
  if (kept == momentum && late == 1 && facts.rate == 1) return std::nullopt;
  double carried = (1 - kept) * momentum / (1 - momentum);
  double displaced = (1 - late * kept) / (1 - momentum) * facts.rate;
  const double entered = late * kept / momentum * facts.rate;
  if (nesterov) {
    carried -= momentum * (1 - kept);
    displaced += momentum * entered;
  }
  return Momentum{.carried = static_cast<float>(carried / facts.rate),
                  .displaced = static_cast<float>(displaced / facts.rate),
                  .kept = static_cast<float>(kept),
                  .entered = static_cast<float>(entered)};
}

}  // namespace paceline::optim
