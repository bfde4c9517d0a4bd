#include "paceline/net/pool.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "paceline/base/random.h"

namespace paceline::net {
namespace {

TEST(Pool, GivesAlignedBuffersOfTheSizeAskedFor) {
  Pool pool;
  for (const std::size_t size : {0UL, 1UL, 63UL, 256UL, 257UL, 4097UL, 100'000UL, 5'000'000UL}) {
    const MutablePayload buffer = pool.take(size);
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(buffer->bytes().size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->bytes().data()) % 64, 0U);
    std::memset(buffer->bytes().data(), 1, size);  // all of it is there
  }
}

TEST(Pool, UsesMemoryAgainForAnySizeOfTheClass) {
  Pool pool;
  const std::byte* first = nullptr;
  {
    const MutablePayload buffer = pool.take(1'000'000);
    first = buffer->bytes().data();
  }
  const MutablePayload again = pool.take(999'000);
  EXPECT_EQ(again->bytes().data(), first);
  EXPECT_EQ(again->bytes().size(), 999'000U);
  EXPECT_EQ(pool.statistics().reused, 1U);
  EXPECT_EQ(pool.statistics().taken, 2U);
}

TEST(Pool, NeverGivesMemoryOfASmallerClass) {
  Pool pool;
  static_cast<void>(pool.take(1000));
  static_cast<void>(pool.take(1025));
  EXPECT_EQ(pool.statistics().reused, 0U);
  EXPECT_GE(pool.statistics().cached_bytes, 2025U);
}

TEST(Pool, NeverGivesTheSameMemoryTwice) {
  Pool pool;
  Rng rng(1);
  std::vector<std::pair<MutablePayload, int>> held;
  for (int i = 0; i < 3000; ++i) {
    if (held.size() > 20 || (!held.empty() && rng.chance(1, 3))) {
      const auto at = static_cast<std::ptrdiff_t>(rng.below(held.size()));
      const auto& [buffer, mark] = held[static_cast<std::size_t>(at)];
      for (const std::byte byte : buffer->bytes()) ASSERT_EQ(std::to_integer<int>(byte), mark);
      held.erase(held.begin() + at);
    } else {
      const std::size_t sizes[] = {100, 1000, 1000, 5000, 40'000};
      held.emplace_back(pool.take(sizes[rng.below(5)]), i % 256);
      std::memset(held.back().first->bytes().data(), i % 256, held.back().first->bytes().size());
    }
  }
  EXPECT_GT(pool.statistics().reused, 1000U);
}

// A class is at most a quarter larger than what was asked for.
TEST(Pool, WastesAtMostAQuarter) {
  for (std::size_t size = 257; size < 3'000'000; size += size / 7) {
    Pool pool;
    const auto buffer = pool.take(size);
    EXPECT_GE(pool.statistics().used_bytes, size);
    EXPECT_LE(pool.statistics().used_bytes, size + size / 4 + 1);
  }
}

TEST(Pool, KeepsNoMoreThanItsBound) {
  Pool pool(3'000'000);
  std::vector<MutablePayload> held;
  for (int i = 0; i < 5; ++i) held.push_back(pool.take(std::size_t{1} << 20U));
  EXPECT_EQ(pool.statistics().used_bytes, std::size_t{5} << 20U);
  EXPECT_EQ(pool.statistics().cached_bytes, 0U);
  held.clear();
  EXPECT_EQ(pool.statistics().used_bytes, 0U);
  EXPECT_EQ(pool.statistics().cached_bytes, std::size_t{2} << 20U);
  held.push_back(pool.take(std::size_t{1} << 20U));
  EXPECT_EQ(pool.statistics().cached_bytes, std::size_t{1} << 20U);
}

TEST(Pool, BuffersOutliveIt) {
  auto pool = std::make_unique<Pool>();
  const MutablePayload buffer = pool->take(1000);
  pool.reset();
  std::memset(buffer->bytes().data(), 7, 1000);
}

TEST(Pool, SaysWhenThereIsNoMemory) {
  Pool pool;
  EXPECT_THROW(static_cast<void>(pool.take(~std::size_t{0})), std::bad_alloc);
  EXPECT_EQ(pool.statistics().used_bytes, 0U);
}

TEST(Pool, ManyThreadsTakeAndGiveBack) {
  Pool pool;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      Rng rng(t);
      std::vector<MutablePayload> held;
      for (int i = 0; i < 3000; ++i) {
        held.push_back(pool.take(1 + rng.below(100'000)));
        held.back()->bytes()[0] = std::byte{1};
        if (held.size() > 5) held.erase(held.begin());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.statistics().used_bytes, 0U);
  EXPECT_EQ(pool.statistics().taken, 12'000U);
}

}  // namespace
}  // namespace paceline::net
