#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "paceline/base/bytes.h"
#include "paceline/base/result.h"

namespace paceline::node {

struct TensorLayout {
  std::string name;
  std::vector<std::int64_t> shape;
};

// Writes parameters in the layout of safetensors (an 8-byte length, a JSON header, the numbers
// raw), which the Python library of that name reads: whole or not at all.
//
// layout: the tensors in the order of the flat vector. If it does not fit the number of floats (a
// model that we do not know), there is one tensor "parameters" of one dimension.
// shards: the flat vector, float32, in pieces. metadata: text for whoever opens the file.
Status write_safetensors(const std::filesystem::path& path, std::span<const TensorLayout> layout,
                         std::span<const Payload> shards,
                         const std::map<std::string, std::string>& metadata);

}  // namespace paceline::node
