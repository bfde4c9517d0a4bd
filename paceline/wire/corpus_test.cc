// What the fuzzers found and kept, through the same functions in every build.
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "paceline/wire/codec_fuzz_target.h"
#include "paceline/wire/frame_fuzz_target.h"
#include "paceline/wire/handshake_fuzz_target.h"

namespace paceline::wire::testing {
namespace {

using Target = std::function<void(std::span<const std::byte>)>;

// A broken promise aborts: see PACELINE_CHECK in the target.
void replay(const std::string& fuzzer, const Target& target) {
  const std::filesystem::path folder = std::filesystem::path(PACELINE_CORPUS) / fuzzer;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    target(std::as_bytes(std::span(bytes)));
    ++files;
  }
  EXPECT_GT(files, 10) << "the corpus in " << folder << " is not there";
}

TEST(Corpus, Codec) { replay("codec_fuzz", fuzz_codec); }
TEST(Corpus, Frame) { replay("frame_fuzz", fuzz_frame); }
TEST(Corpus, Handshake) { replay("handshake_fuzz", fuzz_handshake); }

}  // namespace
}  // namespace paceline::wire::testing
