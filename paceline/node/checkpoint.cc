#include "paceline/node/checkpoint.h"

#include <bit>

#include <nlohmann/json.hpp>

#include "paceline/node/run_folder.h"

namespace paceline::node {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is little-endian");

std::uint64_t floats_of(const TensorLayout& tensor) {
  std::uint64_t count = 1;
  for (const std::int64_t size : tensor.shape) count *= static_cast<std::uint64_t>(size);
  return count;
}

std::string header(std::span<const TensorLayout> layout,
                   const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json json;
  json["__metadata__"] = metadata;
  std::uint64_t begin = 0;
  for (const TensorLayout& tensor : layout) {
    const std::uint64_t end = begin + floats_of(tensor) * sizeof(float);
    json[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = json.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // so that the numbers are aligned
  return text;
}

}  // namespace

Status write_safetensors(const std::filesystem::path& path, std::span<const TensorLayout> layout,
                         std::span<const Payload> shards,
                         const std::map<std::string, std::string>& metadata) {
  std::uint64_t count = 0;
  for (const Payload& shard : shards) count += floats(shard).size();
  std::uint64_t laid_out = 0;
  for (const TensorLayout& tensor : layout) laid_out += floats_of(tensor);
  const std::vector<TensorLayout> flat{{"parameters", {static_cast<std::int64_t>(count)}}};
  const std::string head = header(laid_out == count ? layout : flat, metadata);

  const std::uint64_t length = head.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  file += head;
  file.reserve(file.size() + count * sizeof(float));
  for (const Payload& shard : shards) {
    if (shard) file.append(reinterpret_cast<const char*>(shard->bytes().data()), size_of(shard));
  }
  return write_file(path, file);
}

}  // namespace paceline::node
