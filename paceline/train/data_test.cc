#include "paceline/train/data.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include "paceline/base/hash.h"
#include "paceline/base/random.h"
#include "paceline/base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);  // data_fuzz.cc

namespace paceline::train {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

Bytes idx(const std::vector<std::uint32_t>& sizes, const Bytes& data) {
  Bytes bytes{0, 0, 8, static_cast<std::uint8_t>(sizes.size())};
  for (const std::uint32_t size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<std::uint8_t>(size >> shift & 0xff));
    }
  }
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

Bytes gzip(const Bytes& content) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes packed(content.size() + 1000);
  Bytes copy = content;
  stream.next_in = copy.data();
  stream.avail_in = static_cast<uInt>(copy.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

Bytes noise(std::size_t size, std::uint64_t bound) {
  Rng rng(size);
  Bytes bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(rng.below(bound));
  return bytes;
}

// A folder with a data set of 5 + 3 samples in it, in the published layout.
class DataTest : public ::testing::Test {
 protected:
  DataTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / cat("paceline-", test->name(), "-", ::getpid());
    fs::create_directories(folder_);
  }
  ~DataTest() override { fs::remove_all(folder_); }

  void write(const std::string& name, const Bytes& bytes) {
    std::ofstream out(folder_ / name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  }
  static DataFile file(std::string name, const Bytes& content) {
    return {std::move(name), content.size(), sha256_hex(std::as_bytes(std::span(content)))};
  }

  DataSource small_idx() {
    DataSource source = *find_data("mnist").value();
    source.shape = {1, 4, 4};
    source.train = {file("train-images-idx3-ubyte", images_),
                    file("train-labels-idx1-ubyte", labels_)};
    source.test = {file("t10k-images-idx3-ubyte", test_images_),
                   file("t10k-labels-idx1-ubyte", test_labels_)};
    return source;
  }
  void write_idx() {
    write("train-images-idx3-ubyte", images_);
    write("train-labels-idx1-ubyte.gz", gzip(labels_));
    write("t10k-images-idx3-ubyte.gz", gzip(test_images_));
    write("t10k-labels-idx1-ubyte", test_labels_);
  }
  std::string path() const { return folder_.string(); }
  // Both the quick look and the loading refuse, or the loading alone.
  void expect_refused(const DataSource& source, Code code, const std::string& what,
                      bool quickly = true) {
    const Status checked = check_files(source, path());
    EXPECT_EQ(checked.has_value(), !quickly);
    const auto loaded = load(source, path(), Split::Train);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, code);
    EXPECT_THAT(loaded.error().what, HasSubstr(what));
    EXPECT_THAT(loaded.error().fix, HasSubstr(source.fix));
    if (!checked) {
      EXPECT_EQ(checked.error().code, code);
    }
  }

  fs::path folder_;
  Bytes pixels_ = noise(std::size_t{5} * 16, 256);
  Bytes images_ = idx({5, 4, 4}, pixels_);
  Bytes labels_ = idx({5}, {0, 9, 3, 3, 1});
  Bytes test_images_ = idx({3, 4, 4}, noise(std::size_t{3} * 16, 256));
  Bytes test_labels_ = idx({3}, {1, 2, 3});
};

TEST_F(DataTest, ReadsIdxPlainAndPacked) {
  write_idx();
  const DataSource source = small_idx();
  ASSERT_TRUE(check_files(source, path()));
  const auto train = load(source, path(), Split::Train);
  ASSERT_TRUE(train) << to_string(train.error());
  EXPECT_EQ(train->images, pixels_);
  EXPECT_EQ(train->labels, (Bytes{0, 9, 3, 3, 1}));
  EXPECT_EQ(train->shape, source.shape);
  const auto test = load(source, path(), Split::Test);
  ASSERT_TRUE(test) << to_string(test.error());
  EXPECT_EQ(test->labels, (Bytes{1, 2, 3}));
}

TEST_F(DataTest, NamesTheMissingFileFolderAndTheWayOut) {
  write_idx();
  fs::remove(folder_ / "train-labels-idx1-ubyte.gz");
  expect_refused(small_idx(), Code::NotFound, "train-labels-idx1-ubyte(.gz)");
  const auto nowhere = load("fashion_mnist", path() + "/nowhere", Split::Test);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Code::NotFound);
  EXPECT_THAT(nowhere.error().what, HasSubstr("nowhere does not exist"));
  EXPECT_EQ(nowhere.error().fix, "apt-get install dataset-fashion-mnist");
  EXPECT_EQ(load("mnist", "", Split::Test).error().code, Code::InvalidArgument);
  EXPECT_THAT(check_files("mnist", path() + "/t10k-labels-idx1-ubyte").error().what,
              HasSubstr("is not a folder"));
  EXPECT_EQ(check_files("fashion_mnst", path()).error().fix, "did you mean fashion_mnist?");
}

TEST_F(DataTest, RefusesATruncatedFile) {
  write_idx();
  write("train-images-idx3-ubyte", Bytes(images_.begin(), images_.end() - 1));
  expect_refused(small_idx(), Code::Corruption, "train-images-idx3-ubyte: is 95 bytes instead");
}

TEST_F(DataTest, TheQuickLookSeesTheTestFilesToo) {
  write_idx();
  write("t10k-labels-idx1-ubyte", {0});
  EXPECT_THAT(check_files(small_idx(), path()).error().what, HasSubstr("t10k-labels"));
  EXPECT_TRUE(load(small_idx(), path(), Split::Train));
  EXPECT_FALSE(load(small_idx(), path(), Split::Test));
}

TEST_F(DataTest, RefusesATruncatedGzip) {
  write_idx();
  const Bytes packed = gzip(labels_);
  write("train-labels-idx1-ubyte.gz", Bytes(packed.begin(), packed.end() - 5));
  expect_refused(small_idx(), Code::Corruption, "train-labels-idx1-ubyte.gz");
  write("train-labels-idx1-ubyte.gz", {31, 139});
  expect_refused(small_idx(), Code::Corruption, "too short");
}

TEST_F(DataTest, RefusesAFileWithAnotherContent) {
  write_idx();
  Bytes other = images_;
  other.back() ^= 1;
  write("train-images-idx3-ubyte", other);
  expect_refused(small_idx(), Code::Corruption, "SHA-256", false);
}

TEST_F(DataTest, RefusesAWrongMagicNumber) {
  images_[2] = 0x0d;  // floats
  write_idx();
  expect_refused(small_idx(), Code::Corruption, "does not begin as an IDX file", false);
}

TEST_F(DataTest, RefusesALengthThatIsNotTheFiles) {
  images_[7] = 6;  // six images announced
  write_idx();
  expect_refused(small_idx(), Code::Corruption, "announces 6 x 4 x 4", false);
}

TEST_F(DataTest, RefusesImagesOfAnotherShapeAndTooFewLabels) {
  images_ = idx({5, 8, 2}, pixels_);
  write_idx();
  expect_refused(small_idx(), Code::Corruption, "images of 4 x 4", false);
  images_ = idx({5, 4, 4}, pixels_);
  labels_ = idx({4}, {1, 2, 3, 4});
  write_idx();
  expect_refused(small_idx(), Code::Corruption, "4 labels for 5 images", false);
}

TEST_F(DataTest, RefusesALabelThatIsNoClass) {
  labels_ = idx({5}, {0, 9, 10, 3, 1});
  write_idx();
  expect_refused(small_idx(), Code::Corruption, "sample 2 has the label 10", false);
}

TEST_F(DataTest, RefusesAFileOfZeros) {
  write_idx();
  write("train-labels-idx1-ubyte.gz", Bytes(40, 0));
  expect_refused(small_idx(), Code::Corruption, "train-labels-idx1-ubyte.gz");
}

TEST_F(DataTest, ReadsCifarInItsFormat) {
  DataSource source = *find_data("cifar10").value();
  source.train.clear();
  Bytes all;
  for (const std::string name : {"data_batch_1.bin", "data_batch_2.bin"}) {
    Bytes batch;
    for (std::uint8_t i = 0; i < 2; ++i) {
      batch.push_back(static_cast<std::uint8_t>(i + 7));
      const Bytes image = noise(3072, 256 - i);
      batch.insert(batch.end(), image.begin(), image.end());
      all.insert(all.end(), image.begin(), image.end());
    }
    source.train.push_back(file(name, batch));
    fs::create_directories(folder_ / "cifar-10-batches-bin");
    write("cifar-10-batches-bin/" + name, batch);
  }
  const auto data = load(source, path(), Split::Train);
  ASSERT_TRUE(data) << to_string(data.error());
  EXPECT_EQ(data->labels, (Bytes{7, 8, 7, 8}));
  EXPECT_EQ(data->images, all);
  source.classes = 8;
  const auto refused = load(source, path(), Split::Train);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("data_batch_1.bin: sample 1 has the label 8"));
}

TEST(ParseCifar, TakesTheFineLabelOfCifar100) {
  Dataset into;
  const Bytes bytes{/*coarse*/ 19, /*fine*/ 42, 1, 2, 3, 4};
  ASSERT_TRUE(parse_cifar(bytes, Format::Cifar100, {1, 2, 2}, 100, into));
  EXPECT_EQ(into.labels, (Bytes{42}));
  EXPECT_EQ(into.images, (Bytes{1, 2, 3, 4}));
  EXPECT_FALSE(parse_cifar(Bytes(7), Format::Cifar100, {1, 2, 2}, 100, into));
  EXPECT_FALSE(parse_cifar({}, Format::Cifar100, {1, 2, 2}, 100, into));
}

// Sizes whose product wraps around 2^64 to the length of the file.
TEST(ParseIdx, IsNotFooledByAProductThatOverflows) {
  EXPECT_FALSE(parse_idx(idx({1U << 31, 1U << 31, 4}, {})));
  EXPECT_FALSE(parse_idx(idx({1U << 16, 1U << 16, 1U << 16, 1U << 16}, {})));
  EXPECT_FALSE(parse_idx(Bytes{0, 0, 8, 3, 0, 0}));
  EXPECT_FALSE(parse_idx(Bytes{0, 0, 8}));
  EXPECT_FALSE(parse_idx(Bytes{0, 0, 8, 0}));
  EXPECT_TRUE(parse_idx(idx({0}, {})));
}

TEST(Unzip, GivesExactlyTheContentOrNothing) {
  const Bytes content = noise(5000, 4);
  const Bytes packed = gzip(content);
  EXPECT_EQ(unzip(packed, 5000).value(), content);
  EXPECT_THAT(unzip(packed, 4999).error().what, HasSubstr("more than 4999"));
  EXPECT_THAT(unzip(packed, 5001).error().what, HasSubstr("5000 bytes instead of 5001"));
  EXPECT_THAT(unzip(Bytes(packed.begin(), packed.end() - 9), 5000).error().what,
              HasSubstr("cut off"));
  Bytes more = packed;
  more.push_back(0);
  EXPECT_THAT(unzip(more, 5000).error().what, HasSubstr("behind"));
  Bytes other = packed;
  other[packed.size() - 6] ^= 1;  // in the CRC
  EXPECT_FALSE(unzip(other, 5000));
  EXPECT_FALSE(unzip(content, 5000));
  // No memory is asked for what the file cannot hold.
  EXPECT_FALSE(unzip(packed, std::uint64_t{1} << 40));
  EXPECT_THAT(unzip(packed, std::uint64_t{1} << 29).error().what, HasSubstr("too short"));
}

// What the fuzzer found worth keeping.
TEST(DataFuzz, HoldsOnItsCorpus) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(PACELINE_CORPUS) / "data_fuzz")) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++files;
  }
  EXPECT_GT(files, 20);
}

// Runs on other machines, and figures in the docs, rest on these very bytes.
TEST(Synthetic, IsTheSameEverywhereAndNeedsNoFiles) {
  const DataSource& source = *find_data("synthetic").value();
  EXPECT_TRUE(check_files(source, ""));
  EXPECT_TRUE(check_files(source, "/nowhere"));
  const Dataset train = load(source, "", Split::Train).value();
  const Dataset test = load("synthetic", "/nowhere", Split::Test).value();
  const auto sum = [](const Bytes& bytes) { return sha256_hex(std::as_bytes(std::span(bytes))); };
  EXPECT_EQ(sum(train.images), "e1454cee06f8587bb3771fc2e543e284902ff72218c05fea23dd4c5d65608722");
  EXPECT_EQ(sum(train.labels), "250f3c79a5fbf623ff71430ac1b213a6f1b1e43c44cc0f25160504337672a283");
  EXPECT_EQ(sum(test.images), "a2c0f620a53252d8ff8bb8f00aa192de8c8585086b148196ad6cc4944884ce05");
  EXPECT_EQ(sum(test.labels), "16d816e4a334ddf7720239c4b6593c52fe96b22aa1fbeaf5d0ff5d32b1be017a");
  EXPECT_EQ(train.size(), source.train_samples);
  EXPECT_EQ(test.size(), source.test_samples);
  EXPECT_EQ(train.images.size(), source.train_samples * 64);
  double total = 0;
  double squares = 0;
  for (const std::uint8_t pixel : train.images) {
    total += pixel / 255.0;
    squares += pixel / 255.0 * pixel / 255.0;
  }
  const auto count = static_cast<double>(train.images.size());
  const double mean = total / count;
  EXPECT_NEAR(mean, source.mean[0], 5e-5);
  EXPECT_NEAR(std::sqrt(squares / count - mean * mean), source.deviation[0], 5e-5);
  std::vector<int> by_class(10);
  for (const std::uint8_t label : train.labels) ++by_class.at(label);
  EXPECT_GT(std::ranges::min(by_class), 700);
}

// The registry's own checksums hold for the package's files.
TEST(FashionMnist, LoadsFromThePackage) {
  const DataSource& source = *find_data("fashion_mnist").value();
  ASSERT_TRUE(fs::is_directory(source.default_path)) << source.fix;
  ASSERT_TRUE(check_files(source, ""));
  const auto test = load(source, "", Split::Test);
  ASSERT_TRUE(test) << to_string(test.error());
  EXPECT_EQ(test->size(), source.test_samples);
  const auto train = load(source, "", Split::Train);
  ASSERT_TRUE(train) << to_string(train.error());
  EXPECT_EQ(train->size(), source.train_samples);
  double sum = 0;
  for (const std::uint8_t pixel : train->images) sum += pixel;
  EXPECT_NEAR(sum / 255 / static_cast<double>(train->images.size()), source.mean[0], 1e-4);
}

TEST(DataSources, AnnounceAsManySamplesAsTheirFilesHold) {
  for (const DataSource& source : data_sources()) {
    EXPECT_EQ(source.has_files(), !source.train.empty()) << source.name;
    EXPECT_EQ(source.mean.size(), static_cast<std::size_t>(source.shape.channels)) << source.name;
    EXPECT_EQ(source.deviation.size(), source.mean.size()) << source.name;
    if (!source.has_files()) continue;
    const auto pixels = static_cast<std::uint64_t>(source.shape.size());
    for (const auto& [files, samples] : {std::pair(source.train, source.train_samples),
                                         std::pair(source.test, source.test_samples)}) {
      std::uint64_t bytes = 0;
      for (const DataFile& file : files) bytes += file.bytes;
      const std::uint64_t extra = source.format == Format::Cifar100 ? 2 : 1;
      const std::uint64_t headers = source.format == Format::Idx ? 16 + 8 : 0;
      EXPECT_EQ(bytes, samples * (pixels + extra) + headers) << source.name;
    }
  }
}

}  // namespace
}  // namespace paceline::train
