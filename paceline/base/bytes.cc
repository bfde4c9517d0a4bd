#include "paceline/base/bytes.h"

#include <new>

namespace paceline {
namespace {

constexpr std::align_val_t kAlignment{64};

class HeapBuffer final : public Buffer {
 public:
  explicit HeapBuffer(std::size_t size)
      : Buffer({static_cast<std::byte*>(::operator new(size == 0 ? 1 : size, kAlignment)), size}) {}
  ~HeapBuffer() override { ::operator delete(bytes().data(), kAlignment); }
};

}  // namespace

MutablePayload HeapPool::take(std::size_t size) { return std::make_shared<HeapBuffer>(size); }

std::span<const float> floats(const Payload& payload) {
  if (!payload) return {};
  const auto bytes = payload->bytes();
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}
std::span<float> floats(const MutablePayload& payload) {
  if (!payload) return {};
  const auto bytes = payload->bytes();
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

}  // namespace paceline
