#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/base/result.h"

// The input of the published ZipLine generators: text, one row a worker, the ends of its steps with
// commas or blanks between.
namespace paceline::sync {

// Ends of all workers one after the other; rows are cut out of it. Each end is finite, at least 0
// and above the one before it; no row is empty, they may differ in length.
struct EndTimes {
  std::vector<double> ends;
  std::vector<std::size_t> row_ends;  // [n] where each row stops

  std::vector<std::span<const double>> rows() const;
};

// file: its name, for errors, which name line and value. A byte order mark is skipped.
Result<EndTimes> parse_end_times(std::string_view text, const std::string& file);

}  // namespace paceline::sync
