#include "paceline/optim/closed_loop.h"

#include <algorithm>
#include <cmath>

namespace paceline::optim {
namespace {

constexpr std::size_t kFewest = 8;  // coordinates that moved, for an estimate

}  // namespace

ClosedLoop::ClosedLoop(double momentum, bool nesterov, std::span<const float> parameters)
    : momentum_(momentum),
      nesterov_(nesterov),
      stride_(std::max<std::size_t>(1, parameters.size() / kSampled)),
      explicit_(momentum) {
  versions_.push_back(sampled(parameters));
}

std::vector<float> ClosedLoop::sampled(std::span<const float> values) const {
  std::vector<float> some;
  for (std::size_t i = 0; i < values.size() && some.size() < kSampled; i += stride_) {
    some.push_back(values[i]);
  }
  return some;
}

const std::vector<float>* ClosedLoop::at(std::uint64_t version) const {
  const std::uint64_t oldest = version_ + 1 - versions_.size();
  if (version < oldest || version > version_) return nullptr;
  return &versions_[version - oldest];
}

std::optional<double> ClosedLoop::estimate(const std::vector<float>& gradient,
                                           std::uint64_t computed_at, float lr) const {
  const std::vector<float>* const before = computed_at > 0 ? at(computed_at - 1) : nullptr;
  const std::vector<float>* const here = at(computed_at);
  const std::vector<float>* const after = at(computed_at + 1);
  if (before == nullptr || here == nullptr || after == nullptr) return std::nullopt;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double moved = static_cast<double>((*here)[i]) - static_cast<double>((*before)[i]);
    if (moved == 0) continue;
    const double next = static_cast<double>((*after)[i]) - static_cast<double>((*here)[i]) +
                        static_cast<double>(lr) * static_cast<double>(gradient[i]);
    if (std::isfinite(next / moved)) ratios.push_back(next / moved);
  }
  if (ratios.size() < std::min(kFewest, gradient.size())) return std::nullopt;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::ranges::nth_element(ratios, middle);
  return std::clamp(*middle, -2.0, 2.0);
}

std::optional<Momentum> ClosedLoop::momentum() const {
  if (!total_) return std::nullopt;
  const double factor = (1 - explicit_) / (1 - momentum_);
  const double ahead = nesterov_ ? explicit_ : 0;
  return Momentum{.carried = static_cast<float>(factor * explicit_ * (nesterov_ ? explicit_ : 1)),
                  .displaced = static_cast<float>(factor * (1 + ahead)),
                  .kept = static_cast<float>(explicit_),
                  .entered = 1};
}

void ClosedLoop::note(std::span<const float> gradient, std::optional<std::uint64_t> computed_at,
                      float lr, std::span<const float> parameters) {
  versions_.push_back(sampled(parameters));
  if (versions_.size() > kVersions) versions_.pop_front();
  ++version_;
  // One on time was computed at the version before its update: no news about asynchrony.
  if (!computed_at || *computed_at + 1 >= version_) return;
  const auto factor = static_cast<float>((1 - explicit_) / (1 - momentum_));
  const auto measured = estimate(sampled(gradient), *computed_at, total_ ? lr * factor : lr);
  if (!measured) return;
  total_ = total_ ? *total_ + kSmoothing * (*measured - *total_) : *measured;
  explicit_ = std::clamp(explicit_ + kGain * (momentum_ - *total_), 0.0, momentum_);
}

}  // namespace paceline::optim
