#include "paceline/node/checkpoint.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "paceline/base/text.h"

namespace paceline::node {
namespace {

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() {
    HeapPool pool;
    for (const auto& values : {std::vector<float>{1, 2, 3}, std::vector<float>{4, 5, 6, 7}}) {
      const MutablePayload shard = pool.take(values.size() * sizeof(float));
      std::memcpy(shard->bytes().data(), values.data(), values.size() * sizeof(float));
      shards_.push_back(shard);
    }
  }
  ~CheckpointTest() override { std::filesystem::remove(path_); }

  nlohmann::json header() {
    std::ifstream file(path_, std::ios::binary);
    text_.assign(std::istreambuf_iterator<char>(file), {});
    std::uint64_t length = 0;
    std::memcpy(&length, text_.data(), sizeof length);
    EXPECT_EQ(length % 8, 0U);
    data_ = text_.substr(sizeof length + length);
    return nlohmann::json::parse(text_.substr(sizeof length, length));
  }

  std::vector<Payload> shards_;
  // Tests of this fixture run side by side, each in a process of its own.
  std::filesystem::path path_ =
      std::filesystem::path(::testing::TempDir()) / cat("paceline-", ::getpid(), ".safetensors");
  std::string text_;
  std::string data_;
};

// The file's layout is that of the safetensors library; a tensor may lie across two shards.
TEST_F(CheckpointTest, TensorsAreNamedAndTheNumbersFollow) {
  const std::vector<TensorLayout> layout{{"a.weight", {2, 2}}, {"a.bias", {3}}};
  ASSERT_TRUE(write_safetensors(path_, layout, shards_, {{"policy", "bsp"}}));
  const auto json = header();
  EXPECT_EQ(json["__metadata__"]["policy"], "bsp");
  EXPECT_EQ(json["a.weight"]["shape"], (std::vector<int>{2, 2}));
  EXPECT_EQ(json["a.weight"]["data_offsets"], (std::vector<int>{0, 16}));
  EXPECT_EQ(json["a.bias"]["data_offsets"], (std::vector<int>{16, 28}));
  float last = 0;
  std::memcpy(&last, data_.data() + 24, sizeof last);
  EXPECT_EQ(data_.size(), 28U);
  EXPECT_EQ(last, 7.0F);
}

TEST_F(CheckpointTest, AnUnknownModelIsOneTensor) {
  const std::vector<TensorLayout> layout{{"a.weight", {2, 2}}};
  ASSERT_TRUE(write_safetensors(path_, layout, shards_, {}));
  EXPECT_EQ(header()["parameters"]["shape"], (std::vector<int>{7}));
}

TEST_F(CheckpointTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_EQ(write_safetensors("/nonexistent/x/final.safetensors", {}, shards_, {}).error().code,
            Code::Refused);
}

}  // namespace
}  // namespace paceline::node
