#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/base/result.h"

// JSON that remembers its lines, so that what is wrong with a value can be said with the place.
namespace paceline::sim {

struct LinedJson {
  enum class Kind : std::uint8_t { Null, Bool, Number, Text, Array, Object };

  Kind kind = Kind::Null;
  std::size_t line = 1;  // where it begins
  bool truth = false;
  double number = 0;  // finite
  std::string text;
  std::vector<LinedJson> elements;  // of a list or an object, in their order
  std::vector<std::string> names;   // [elements] of an object's, each once

  const LinedJson* find(std::string_view name) const;
};

// Errors: `where` is file:line, `what` names the value by its path, "workers[1].step".
Result<LinedJson> parse_lined(std::string_view json, const std::string& file);

// "a number", as a person calls it.
std::string_view name_of(LinedJson::Kind kind);

}  // namespace paceline::sim
