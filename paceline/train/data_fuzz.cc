// Each byte string is read as each format. What a parser accepts must keep its promises.

#include <cstddef>
#include <cstdint>
#include <span>

#include "paceline/base/check.h"
#include "paceline/train/data.h"

using namespace paceline;  // NOLINT: a fuzzer of one function

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  if (const auto idx = train::parse_idx(bytes)) {
    std::uint64_t product = 1;
    for (const std::uint32_t n : idx->sizes) product *= n;
    PACELINE_CHECK(product == idx->data.size(), "an IDX view is as long as its header says");
  }
  constexpr train::Shape kTiny{3, 2, 2};
  for (const train::Format format : {train::Format::Cifar10, train::Format::Cifar100}) {
    train::Dataset into;
    const bool ok = train::parse_cifar(bytes, format, kTiny, 10, into).has_value();
    PACELINE_CHECK(ok || into.labels.empty(), "nothing comes of records that are refused");
    PACELINE_CHECK(into.images.size() == into.labels.size() * 12, "an image for each label");
    for (const std::uint8_t label : into.labels) PACELINE_CHECK(label < 10, "labels in range");
  }
  if (size > 0) {
    const auto content = train::unzip(bytes.subspan(1), bytes[0]);
    PACELINE_CHECK(!content || content->size() == bytes[0], "the size that was asked for");
  }
  return 0;
}
