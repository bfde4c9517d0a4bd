#include "paceline/optim/mean.h"

#include <algorithm>
#include <cstddef>

#include "paceline/base/check.h"
#include "paceline/optim/vector_clones.h"

namespace paceline::optim {
namespace {

// Summed block by block, so that the sum stays in the innermost cache and each gradient is read
// from memory once: 8 KiB.
constexpr std::size_t kBlockFloats = 2048;

PACELINE_VECTOR_CLONES
void add(float* __restrict sum, const float* __restrict gradient, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) sum[i] += gradient[i];
}

PACELINE_VECTOR_CLONES
void divide(float* __restrict sum, std::size_t size, float count) {
  for (std::size_t i = 0; i < size; ++i) sum[i] /= count;
}

}  // namespace

void mean_into(std::span<float> out, std::span<const std::span<const float>> gradients) {
  PACELINE_CHECK(!gradients.empty(), "a mean is of at least one gradient");
  for (const auto& gradient : gradients) {
    PACELINE_CHECK(gradient.size() == out.size(), "all gradients of a mean have its size");
  }
  for (std::size_t begin = 0; begin < out.size(); begin += kBlockFloats) {
    const auto block = out.subspan(begin, std::min(kBlockFloats, out.size() - begin));
    std::copy_n(gradients[0].data() + begin, block.size(), block.data());
    for (const auto& gradient : gradients.subspan(1)) {
      add(block.data(), gradient.data() + begin, block.size());
    }
    divide(block.data(), block.size(), static_cast<float>(gradients.size()));
  }
}

}  // namespace paceline::optim
