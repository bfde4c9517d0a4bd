#include "paceline/sim/lined_json.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <nlohmann/json.hpp>

#include "paceline/base/text.h"

namespace paceline::sim {
namespace {

using Json = nlohmann::json;
using Kind = LinedJson::Kind;

constexpr std::size_t kDeepest = 32;
constexpr std::size_t kMostMembers = 100;  // they are searched one after the other

// Tells how far the parser has read: it gives no positions itself.
class Reading {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Reading(const char* at, const char** read) : at_(at), read_(read) {}
  reference operator*() const { return *at_; }
  Reading& operator++() {
    *read_ = ++at_;
    return *this;
  }
  Reading operator++(int) {
    Reading before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Reading& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** read_;
};

class Builder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  Builder(std::string_view json, std::string file, const char** read)
      : file_(std::move(file)), counted_(json.data()), read_(read) {}

  bool null() { return add({}); }
  bool boolean(bool truth) { return add({.kind = Kind::Bool, .truth = truth}); }
  bool number_integer(number_integer_t value) { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) { return number(value); }
  bool string(string_t& text) { return add({.kind = Kind::Text, .text = std::move(text)}); }
  bool binary(binary_t&) { return false; }  // no part of JSON

  bool start_object(std::size_t) { return begin({.kind = Kind::Object}); }
  bool start_array(std::size_t) { return begin({.kind = Kind::Array}); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }

  bool key(string_t& name) {
    LinedJson& object = *open_.back();
    const bool is_known = object.find(name) != nullptr;
    object.names.push_back(std::move(name));
    object.elements.push_back({.line = line()});
    if (is_known) return wrong(cat(path(), " is there twice"), "leave one of them out");
    if (object.names.size() <= kMostMembers) return true;
    return wrong(cat(path(), " is one field too many"),
                 cat("an object has at most ", kMostMembers));
  }

  bool parse_error(std::size_t, const std::string&, const Json::exception& error) {
    const std::string text = error.what();
    const std::size_t told = std::min(text.find(" - "), text.find("; "));
    const std::string place = path();
    wrong(cat(place, place.empty() ? "" : ": ", "this is no JSON",
              told == std::string::npos ? "" : cat(": ", text.substr(told + 3))),
          "JSON knows plain finite numbers, \"texts\", true, false, null, [lists] and {objects}");
    return false;
  }

  LinedJson& root() { return root_; }
  std::optional<Error>& error() { return error_; }

 private:
  // The parser has read at most one character past the value that it tells of.
  std::size_t line() {
    const char* until = std::max(counted_, *read_ - 1);
    line_ += static_cast<std::size_t>(std::count(counted_, until, '\n'));
    counted_ = until;
    return line_;
  }

  // Of the value that is read now.
  std::string path() const {
    std::string path;
    for (const LinedJson* value : open_) {
      if (value->kind == Kind::Array) {
        // An element that is open itself is there already.
        const bool is_open = value != open_.back();
        path += cat("[", value->elements.size() - (is_open ? 1 : 0), "]");
      } else if (!value->names.empty()) {
        path += cat(path.empty() ? "" : ".", value->names.back());
      }
    }
    return path;
  }

  bool wrong(std::string what, std::string fix) {
    error_ = Error{Code::InvalidArgument, std::move(what), std::move(fix), cat(file_, ":", line())};
    return false;
  }

  bool number(double value) { return add({.kind = Kind::Number, .number = value}); }

  LinedJson& place() {
    if (open_.empty()) return root_;
    LinedJson& in = *open_.back();
    if (in.kind == Kind::Object) return in.elements.back();
    return in.elements.emplace_back();
  }

  bool add(LinedJson value) {
    value.line = line();
    place() = std::move(value);
    return true;
  }

  bool begin(LinedJson value) {
    if (open_.size() == kDeepest) return wrong("this is nested too deeply", "nothing here is");
    value.line = line();
    LinedJson& made = place();
    made = std::move(value);
    open_.push_back(&made);
    return true;
  }
  // Pointers stay good: a container grows only while none of its elements is open.
  bool end() {
    open_.pop_back();
    return true;
  }

  std::string file_;
  const char* counted_;  // up to here lines are counted
  const char** read_;
  std::size_t line_ = 1;
  LinedJson root_;
  std::vector<LinedJson*> open_;
  std::optional<Error> error_;
};

}  // namespace

const LinedJson* LinedJson::find(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? nullptr
                              : &elements[static_cast<std::size_t>(found - names.begin())];
}

Result<LinedJson> parse_lined(std::string_view json, const std::string& file) {
  const char* read = json.data();
  Builder builder(json, file, &read);
  const bool is_good = Json::sax_parse(Reading(json.data(), &read),
                                       Reading(json.data() + json.size(), &read), &builder);
  if (builder.error()) return fail(std::move(*builder.error()));
  if (!is_good) return fail(Code::InvalidArgument, "this is no JSON", {}, file);
  return std::move(builder.root());
}

std::string_view name_of(LinedJson::Kind kind) {
  switch (kind) {
    case Kind::Null:
      return "null";
    case Kind::Bool:
      return "true or false";
    case Kind::Number:
      return "a number";
    case Kind::Text:
      return "a text";
    case Kind::Array:
      return "a list";
    case Kind::Object:
      return "an object";
  }
  return "";
}

}  // namespace paceline::sim
