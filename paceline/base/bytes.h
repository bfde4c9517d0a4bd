#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace paceline {

// A block of memory that a tensor travels in. It belongs to the transport that handed it out (from
// a pool, later from shared memory): a worker writes its gradient in place, a server reads it in
// place, and the last handle gives it back.
class Buffer {
 public:
  explicit Buffer(std::span<std::byte> bytes) : bytes_(bytes) {}
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

// What is sent is not changed any more: any number of holders may read it, on any thread.
using Payload = std::shared_ptr<const Buffer>;
using MutablePayload = std::shared_ptr<Buffer>;

// Where buffers come from. Thread-safe.
class BufferPool {
 public:
  virtual ~BufferPool() = default;
  // `size` bytes, aligned for vectors (64), contents undefined; never null.
  virtual MutablePayload take(std::size_t size) = 0;
};

// Plain memory without reuse: for the simulator and tests.
class HeapPool final : public BufferPool {
 public:
  MutablePayload take(std::size_t size) override;
};

inline std::size_t size_of(const Payload& payload) { return payload ? payload->bytes().size() : 0; }

// The floats in a buffer; a rest of less than four bytes is left out. Empty for a null payload.
std::span<const float> floats(const Payload& payload);
std::span<float> floats(const MutablePayload& payload);

}  // namespace paceline
