#include <cstddef>
#include <cstdint>

#include "paceline/wire/handshake_fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paceline::wire::testing::fuzz_handshake(std::as_bytes(std::span(data, size)));
  return 0;
}
