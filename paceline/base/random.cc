#include "paceline/base/random.h"

#include <bit>

#include "paceline/base/check.h"

namespace paceline {
namespace {

std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

}  // namespace

Rng::Rng(std::uint64_t seed) : seed_(seed), state_{} {
  std::uint64_t mix = seed;
  for (std::uint64_t& word : state_) word = splitmix64(mix);
}

Rng Rng::stream(std::string_view purpose, std::uint64_t index) const {
  std::uint64_t hash = 0xcbf29ce484222325U ^ seed_;  // FNV-1a
  for (const char c : purpose) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  std::uint64_t mix = hash ^ (index * 0x9e3779b97f4a7c15U);
  return Rng(splitmix64(mix));
}

std::uint64_t Rng::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Rng::below(std::uint64_t bound) {
  PACELINE_CHECK(bound >= 1, "a bound of at least one");
  const std::uint64_t reject_below = (0 - bound) % bound;  // 2^64 mod bound
  while (true) {
    const std::uint64_t drawn = next();
    if (drawn >= reject_below) return drawn % bound;
  }
}

std::int64_t Rng::between(std::int64_t low, std::int64_t high) {
  PACELINE_CHECK(low <= high, "an interval that is not empty");
  const std::uint64_t width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const std::uint64_t drawn = width == ~std::uint64_t{0} ? next() : below(width + 1);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + drawn);
}

bool Rng::chance(std::uint64_t numerator, std::uint64_t denominator) {
  return below(denominator) < numerator;
}

double Rng::unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

}  // namespace paceline
