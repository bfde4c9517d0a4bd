#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "paceline/base/bytes.h"

namespace paceline::net {

// Buffers that are used again, because fresh memory is dear: the kernel clears and maps each page
// of it when it is first touched. Sizes are rounded up to classes, at most a quarter above what was
// asked for; large buffers ask for huge pages. Thread-safe: the last handle may go on any thread,
// even after the pool.
class Pool final : public BufferPool {
 public:
  // cached_bytes_most: what is kept for later at most; beyond it memory goes back to the system.
  explicit Pool(std::size_t cached_bytes_most = std::size_t{1} << 30U);
  ~Pool() override;

  // Throws std::bad_alloc when the machine has no such memory.
  MutablePayload take(std::size_t size) override;

  struct Statistics {
    std::uint64_t taken = 0;       // calls of take()
    std::uint64_t reused = 0;      // of these, how many got memory that was there
    std::size_t used_bytes = 0;    // held by somebody now
    std::size_t cached_bytes = 0;  // kept for later now
  };
  Statistics statistics() const;

 private:
  struct Core;
  class Block;
  std::shared_ptr<Core> core_;
};

}  // namespace paceline::net
