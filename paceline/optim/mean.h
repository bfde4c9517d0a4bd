#pragma once

#include <span>

namespace paceline::optim {

// out <- ((gradients[0] + gradients[1]) + gradients[2] + ...) / count, elementwise in float. Always
// added in the order given, so that gradients in rank order give the same bits in every run.
// gradients: at least one, all of out's size; out overlaps none of them.
void mean_into(std::span<float> out, std::span<const std::span<const float>> gradients);

}  // namespace paceline::optim
