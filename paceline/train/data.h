#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/base/result.h"
#include "paceline/train/catalog.h"

// Data sets read straight from their published files, or generated, without LibTorch.
namespace paceline::train {

enum class Format : std::uint8_t {
  Idx,        // MNIST's: one file of images, one of labels; plain or .gz
  Cifar10,    // records of one label and the image, channel by channel
  Cifar100,   // records of a coarse label (not used), a fine one and the image
  Generated,  // no files
};

// Size and sum are of the content: a .gz is verified after it has been unpacked, whoever packed it.
struct DataFile {
  std::string name;  // without .gz
  std::uint64_t bytes = 0;
  std::string sha256 = {};  // empty: not verified
};

struct DataSource {
  std::string name;
  std::string doc;
  std::string source;
  std::string fix;           // how to get the files
  std::string default_path;  // where a package puts them; may be empty
  Format format = Format::Idx;
  Shape shape;
  std::int64_t classes = 0;
  std::uint64_t train_samples = 0;
  std::uint64_t test_samples = 0;
  // Of the training images scaled to 0..1, by channel. A model sees (pixel / 255 - mean) /
  // deviation.
  std::vector<float> mean;
  std::vector<float> deviation;
  // Idx: images, then labels. Cifar: any number of files, one after the other.
  std::vector<DataFile> train;
  std::vector<DataFile> test;
  bool has_files() const { return format != Format::Generated; }
};

enum class Split : std::uint8_t { Train, Test };

// In memory as in the files.
struct Dataset {
  Shape shape;
  std::int64_t classes = 0;
  std::vector<float> mean;
  std::vector<float> deviation;
  std::vector<std::uint8_t> images;  // [n, channels, height, width]
  std::vector<std::uint8_t> labels;  // [n], each < classes
  std::uint64_t size() const { return labels.size(); }
};

std::span<const DataSource> data_sources();
// Code::InvalidArgument with the nearest name.
Result<const DataSource*> find_data(std::string_view name);

// Whether all files are there and hold what they should as far as their sizes tell; reads almost
// nothing. path: the folder of the files; empty: the source's default. Not looked at for a source
// without files, which is always there.
Status check_files(const DataSource& source, const std::string& path);
Status check_files(std::string_view name, const std::string& path);

// Reads one half and verifies it (sizes, checksums, headers, labels), or generates it.
// Code::NotFound for a missing file, Code::Corruption for one that is not what it should be.
Result<Dataset> load(const DataSource& source, const std::string& path, Split split);
Result<Dataset> load(std::string_view name, const std::string& path, Split split);

// --- The formats, on bytes. Views point into the bytes; nothing is copied before it is checked.

struct IdxView {
  std::vector<std::uint32_t> sizes;  // slowest dimension first
  std::span<const std::uint8_t> data;
};
// Unsigned bytes of 1 to 4 dimensions; the data fills the rest of the file exactly.
Result<IdxView> parse_idx(std::span<const std::uint8_t> bytes);

// Appends the records to images and labels.
Status parse_cifar(std::span<const std::uint8_t> bytes, Format format, const Shape& shape,
                   std::int64_t classes, Dataset& into);

// The content of a gzip file, which is exactly `size` bytes long.
Result<std::vector<std::uint8_t>> unzip(std::span<const std::uint8_t> bytes, std::uint64_t size);

}  // namespace paceline::train
