#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace paceline {

// Random numbers from a seed, the same on every machine: xoshiro256** (Blackman and Vigna 2018)
// seeded by splitmix64. Integers only; a probability is a ratio.
class Rng {
 public:
  explicit Rng(std::uint64_t seed);

  // A generator of its own for one purpose, so that one more draw in one place does not shift all
  // others. Depends on this generator's seed and the name, not on what was drawn from it.
  Rng stream(std::string_view purpose, std::uint64_t index = 0) const;

  std::uint64_t next();
  // Uniform in [0, bound), without bias. bound: >= 1.
  std::uint64_t below(std::uint64_t bound);
  // Uniform in [low, high]. low <= high.
  std::int64_t between(std::int64_t low, std::int64_t high);
  // True `numerator` times of `denominator`.
  bool chance(std::uint64_t numerator, std::uint64_t denominator);
  // Uniform in [0, 1), 53 bits. For values (a delay's length); not where an order hangs on it.
  double unit();

  template <typename T>
  void shuffle(std::span<T> items) {  // Fisher and Yates
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

  bool operator==(const Rng&) const = default;

 private:
  std::uint64_t seed_;
  std::uint64_t state_[4];
};

}  // namespace paceline
