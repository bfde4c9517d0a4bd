#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

// Fields of JSON that somebody may have written by hand: what is missing, null or of another type
// is not there.
namespace paceline::node {

using Json = nlohmann::ordered_json;

inline const Json& field(const Json& object, const char* name) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(name);
  return found == object.end() ? kNothing : *found;
}

inline std::optional<double> as_number(const Json& value) {
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}
inline std::optional<double> number(const Json& object, const char* name) {
  return as_number(field(object, name));
}

inline std::string text(const Json& object, const char* name) {
  const Json& value = field(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

// An empty list where there is none.
inline const Json& list(const Json& object, const char* name) {
  static const Json kEmpty = Json::array();
  const Json& value = field(object, name);
  return value.is_array() ? value : kEmpty;
}

}  // namespace paceline::node
