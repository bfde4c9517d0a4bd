#include <cstddef>
#include <cstdint>

#include "paceline/wire/codec_fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paceline::wire::testing::fuzz_codec(std::as_bytes(std::span(data, size)));
  return 0;
}
