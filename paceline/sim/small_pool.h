#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "paceline/base/bytes.h"

namespace paceline::sim {

// Buffers of up to a cache line are used again: without training every shard is one float, and
// aligned memory from the system costs more than the event that asked for it. Outlives its buffers.
class SmallPool final : public BufferPool {
 public:
  SmallPool() = default;
  SmallPool(const SmallPool&) = delete;
  SmallPool& operator=(const SmallPool&) = delete;
  ~SmallPool() override {
    for (void* block : all_) ::operator delete(block, std::align_val_t{kBlock});
  }

  MutablePayload take(std::size_t size) override {
    if (size > kBlock) return heap_.take(size);
    return std::make_shared<Small>(*this, static_cast<std::byte*>(take_block()), size);
  }

 private:
  static constexpr std::size_t kBlock = 64;

  class Small final : public Buffer {
   public:
    Small(SmallPool& pool, std::byte* block, std::size_t size)
        : Buffer({block, size}), pool_(pool) {}
    ~Small() override { pool_.free_.push_back(bytes().data()); }

   private:
    SmallPool& pool_;
  };

  void* take_block() {
    if (free_.empty()) {
      all_.push_back(::operator new(kBlock, std::align_val_t{kBlock}));
      return all_.back();
    }
    void* const block = free_.back();
    free_.pop_back();
    return block;
  }

  HeapPool heap_;
  std::vector<void*> all_;
  std::vector<void*> free_;
};

}  // namespace paceline::sim
