#include "paceline/optim/mean.h"

#include <cstddef>

#include "paceline/base/check.h"
#include "paceline/optim/vector_clones.h"

namespace paceline::optim {
namespace {

// Summed in blocks that stay in the innermost cache (1 KiB): each gradient is read from memory
// once, each mean written once.
constexpr std::size_t kBlockFloats = 256;

// out[begin, begin + size), size <= kBlockFloats.
[[gnu::always_inline]] inline void mean_of_block(float* __restrict out,
                                                 std::span<const std::span<const float>> gradients,
                                                 std::size_t begin, std::size_t size) {
  float sum[kBlockFloats];
  for (std::size_t i = 0; i < size; ++i) sum[i] = gradients[0].data()[begin + i];
  for (std::size_t j = 1; j < gradients.size(); ++j) {
    const float* gradient = gradients[j].data() + begin;
    for (std::size_t i = 0; i < size; ++i) sum[i] += gradient[i];
  }
  const auto count = static_cast<float>(gradients.size());
  for (std::size_t i = 0; i < size; ++i) out[begin + i] = sum[i] / count;
}

PACELINE_VECTOR_CLONES
void mean_of_all(float* __restrict out, std::span<const std::span<const float>> gradients,
                 std::size_t size) {
  std::size_t begin = 0;
  for (; begin + kBlockFloats <= size; begin += kBlockFloats) {
    mean_of_block(out, gradients, begin, kBlockFloats);  // a size that the compiler knows
  }
  mean_of_block(out, gradients, begin, size - begin);
}

}  // namespace

void mean_into(std::span<float> out, std::span<const std::span<const float>> gradients) {
  PACELINE_CHECK(!gradients.empty(), "a mean is of at least one gradient");
  for (const auto& gradient : gradients) {
    PACELINE_CHECK(gradient.size() == out.size(), "all gradients of a mean have its size");
  }
  mean_of_all(out.data(), gradients, out.size());
}

}  // namespace paceline::optim
