#pragma once

#include <concepts>
#include <cstddef>
#include <span>

namespace paceline::wire::detail {

template <std::unsigned_integral T>
void store(std::span<std::byte> bytes, std::size_t at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes[at + i] = static_cast<std::byte>(value >> (8 * i));
  }
}

template <std::unsigned_integral T>
T load(std::span<const std::byte> bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | (static_cast<T>(bytes[at + i]) << (8 * i)));
  }
  return value;
}

}  // namespace paceline::wire::detail
