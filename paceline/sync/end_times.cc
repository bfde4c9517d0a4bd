#include "paceline/sync/end_times.h"

#include <charconv>
#include <cmath>

#include "paceline/base/text.h"

namespace paceline::sync {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t'; }

// One line: numbers with commas or blanks between. Appends to the matrix.
class RowParser {
 public:
  RowParser(std::string_view line, std::string where, EndTimes& into)
      : rest_(line), where_(std::move(where)), into_(into) {}

  Status parse() {
    while (true) {
      if (auto ok = parse_number(); !ok) return ok;
      skip_blanks();
      if (rest_.empty()) break;
      if (rest_.front() == ',') rest_.remove_prefix(1);
      skip_blanks();
    }
    into_.row_ends.push_back(into_.ends.size());
    return {};
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
  }
  std::string_view word() const { return rest_.substr(0, rest_.find_first_of(", \t")); }
  tl::unexpected<Error> wrong(std::string what) const {
    return fail(
        Code::InvalidArgument, cat("value ", column_, " ", what),
        "give the ends of one worker's steps: finite, at least 0, each above the one before",
        where_);
  }

  Status parse_number() {
    ++column_;
    double value = 0;
    const char* begin = rest_.data();
    const char* end = begin + rest_.size();
    if (rest_.starts_with('+') && !rest_.starts_with("+-")) ++begin;  // which from_chars is not
    const auto [stop, error] = std::from_chars(begin, end, value);
    const bool whole = stop == end || *stop == ',' || is_space(*stop);
    if (error == std::errc::result_out_of_range)
      return wrong(cat("is '", word(), "', out of range"));
    if (error != std::errc{} || !whole) {
      return wrong(word().empty() ? "is missing"
                                  : cat("is '", word().substr(0, 40), "', no number"));
    }
    if (!std::isfinite(value)) return wrong(cat("is ", value, ", not finite"));
    if (value < 0) return wrong(cat("is ", value, ", less than 0"));
    if (column_ > 1 && value <= last_) {
      return wrong(cat("is ", value, ", not above the one before it, ", last_));
    }
    into_.ends.push_back(value);
    last_ = value;
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    return {};
  }

  std::string_view rest_;
  std::string where_;
  EndTimes& into_;
  std::size_t column_ = 0;
  double last_ = 0;
};

}  // namespace

std::vector<std::span<const double>> EndTimes::rows() const {
  std::vector<std::span<const double>> out;
  std::size_t begin = 0;
  for (const std::size_t end : row_ends) {
    out.push_back(std::span(ends).subspan(begin, end - begin));
    begin = end;
  }
  return out;
}

Result<EndTimes> parse_end_times(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::string_view content = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  if (content.empty()) {
    return fail(Code::InvalidArgument, "there is no row in it",
                "give one row a worker, the ends of its steps, rising", file);
  }
  EndTimes matrix;
  std::size_t number = 0;
  for (const std::string_view line : split(content, '\n')) {
    ++number;
    if (auto ok = RowParser(trim(line), cat(file, ":", number), matrix).parse(); !ok) {
      return fail(ok.error());
    }
  }
  return matrix;
}

}  // namespace paceline::sync
