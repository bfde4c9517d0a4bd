#include "paceline/net/pool.h"

#include <bit>
#include <cstdlib>
#include <map>
#include <new>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "paceline/base/mutex.h"

namespace paceline::net {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20U;
constexpr std::size_t kSmallest = 256;
constexpr std::size_t kLargest = std::size_t{1} << 46U;

// Four classes between two powers of two.
std::size_t class_of(std::size_t size) {
  if (size <= kSmallest) return kSmallest;
  if (size > kLargest) throw std::bad_alloc();
  const std::size_t step = std::bit_floor(size - 1) / 4;
  return (size + step - 1) / step * step;
}

std::byte* allocate(std::size_t size) {
  const std::size_t alignment = size >= kHugePage ? kHugePage : kAlignment;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  // A wish: where it is not granted, pages are small and all is well.
  if (size >= kHugePage) static_cast<void>(madvise(memory, rounded, MADV_HUGEPAGE));
  return static_cast<std::byte*>(memory);
}

}  // namespace

struct Pool::Core {
  explicit Core(std::size_t most) : cached_bytes_most(most) {}
  ~Core() {
    for (auto& [size, blocks] : free) {
      for (std::byte* block : blocks) std::free(block);
    }
  }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Memory of that class from the cache; null if there is none.
  std::byte* reuse(std::size_t size) PACELINE_EXCLUDES(mutex) {
    const MutexLock lock(mutex);
    ++statistics.taken;
    statistics.used_bytes += size;
    const auto found = free.find(size);
    if (found == free.end() || found->second.empty()) return nullptr;
    std::byte* memory = found->second.back();
    found->second.pop_back();
    ++statistics.reused;
    statistics.cached_bytes -= size;
    return memory;
  }

  void give_back(std::byte* memory, std::size_t size) PACELINE_EXCLUDES(mutex) {
    {
      const MutexLock lock(mutex);
      statistics.used_bytes -= size;
      if (memory != nullptr && statistics.cached_bytes + size <= cached_bytes_most) {
        free[size].push_back(memory);
        statistics.cached_bytes += size;
        return;
      }
    }
    std::free(memory);
  }

  const std::size_t cached_bytes_most;
  Mutex mutex;
  std::map<std::size_t, std::vector<std::byte*>> free PACELINE_GUARDED_BY(mutex);  // by class
  Statistics statistics PACELINE_GUARDED_BY(mutex);
};

class Pool::Block final : public Buffer {
 public:
  Block(std::byte* memory, std::size_t size, std::size_t size_class, std::shared_ptr<Core> core)
      : Buffer({memory, size}), memory_(memory), size_class_(size_class), core_(std::move(core)) {}
  ~Block() override { core_->give_back(memory_, size_class_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

 private:
  std::byte* memory_;
  std::size_t size_class_;
  std::shared_ptr<Core> core_;
};

Pool::Pool(std::size_t cached_bytes_most) : core_(std::make_shared<Core>(cached_bytes_most)) {}
Pool::~Pool() = default;

MutablePayload Pool::take(std::size_t size) {
  const std::size_t size_class = class_of(size);
  std::byte* memory = core_->reuse(size_class);
  try {
    if (memory == nullptr) memory = allocate(size_class);
    return std::make_shared<Block>(memory, size, size_class, core_);
  } catch (const std::bad_alloc&) {
    core_->give_back(memory, size_class);
    throw;
  }
}

Pool::Statistics Pool::statistics() const {
  const MutexLock lock(core_->mutex);
  return core_->statistics;
}

}  // namespace paceline::net
