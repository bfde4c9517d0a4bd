#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "paceline/base/bytes.h"

namespace paceline::sim {

// Buffers of up to a cache line are used again: without training every shard is one float, and
// aligned memory from the system costs more than the event that asked for it. A handle's counts and
// the bytes are two cache lines side by side. Outlives its buffers.
class SmallPool final : public BufferPool {
 public:
  SmallPool() = default;
  SmallPool(const SmallPool&) = delete;
  SmallPool& operator=(const SmallPool&) = delete;
  ~SmallPool() override {
    for (void* chunk : chunks_) ::operator delete(chunk, std::align_val_t{kLine});
  }

  MutablePayload take(std::size_t size) override {
    if (size > kLine) return heap_.take(size);
    std::byte* const block = take_block();
    return std::allocate_shared<Small>(Place<Small>{this, block}, block + kLine, size);
  }

 private:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kBlock = 2 * kLine;
  static constexpr std::size_t kChunk = 64;  // blocks

  class Small final : public Buffer {
   public:
    Small(std::byte* bytes, std::size_t size) : Buffer({bytes, size}) {}
  };

  // An allocator of that one block.
  template <typename T>
  struct Place {
    using value_type = T;
    SmallPool* pool;
    std::byte* block;

    Place(SmallPool* its_pool, std::byte* its_block) : pool(its_pool), block(its_block) {}
    template <typename Other>
    explicit(false) Place(const Place<Other>& other) : pool(other.pool), block(other.block) {}
    T* allocate(std::size_t) {
      static_assert(sizeof(T) <= kLine && alignof(T) <= kLine);
      return reinterpret_cast<T*>(block);
    }
    void deallocate(T*, std::size_t) { pool->free_.push_back(block); }
    bool operator==(const Place&) const = default;
  };

  std::byte* take_block() {
    if (free_.empty()) {
      void* const chunk = ::operator new(kChunk* kBlock, std::align_val_t{kLine});
      chunks_.push_back(chunk);
      for (std::size_t i = kChunk; i-- > 0;) {
        free_.push_back(static_cast<std::byte*>(chunk) + i * kBlock);
      }
    }
    std::byte* const block = free_.back();
    free_.pop_back();
    return block;
  }

  HeapPool heap_;
  std::vector<void*> chunks_;
  std::vector<std::byte*> free_;
};

}  // namespace paceline::sim
