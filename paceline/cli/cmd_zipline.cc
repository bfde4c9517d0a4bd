// zipline FILE.csv: the next barrier for a matrix of predicted ends.

#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "paceline/base/text.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/output.h"
#include "paceline/node/table.h"
#include "paceline/sync/zipline.h"

namespace paceline::cli {
namespace {

using Json = nlohmann::ordered_json;
using node::Table;

// Ends of all workers one after the other; rows are cut out of it.
struct Matrix {
  std::vector<double> ends;
  std::vector<std::size_t> row_ends;  // [n] where each row stops

  std::vector<std::span<const double>> rows() const {
    std::vector<std::span<const double>> out;
    std::size_t begin = 0;
    for (const std::size_t end : row_ends) {
      out.push_back(std::span(ends).subspan(begin, end - begin));
      begin = end;
    }
    return out;
  }
};

bool is_space(char c) { return c == ' ' || c == '\t'; }

// One line: numbers with commas or blanks between. Appends to the matrix.
class RowParser {
 public:
  RowParser(std::string_view line, std::string where, Matrix& into)
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
  Matrix& into_;
  std::size_t column_ = 0;
  double last_ = 0;
};

Result<std::string> read(const std::string& file) {
  if (file == "-") {
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    return fail(Code::NotFound, "there is no such file", "give a matrix, one row a worker", file);
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file, error)) {
    return fail(Code::Refused, "this file cannot be read", "is it a file, and may you read it?",
                file);
  }
  std::string text;
  stream.seekg(0, std::ios::end);
  if (const auto size = stream.tellg(); size > 0) text.reserve(static_cast<std::size_t>(size));
  stream.clear();
  stream.seekg(0);
  text.assign(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  return text;
}

Result<Matrix> parse(std::string_view text, const std::string& file) {
  const std::string_view content = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  if (content.empty()) {
    return fail(Code::InvalidArgument, "there is no row in it",
                "give one row a worker, the ends of its steps, rising", file);
  }
  Matrix matrix;
  std::size_t number = 0;
  for (const std::string_view line : split(content, '\n')) {
    ++number;
    if (auto ok = RowParser(trim(line), cat(file, ":", number), matrix).parse(); !ok) {
      return fail(ok.error());
    }
  }
  return matrix;
}

struct Answer {
  sync::Superstep<double> superstep;
  std::vector<double> end_times;
  double compute_seconds = 0;
};

Answer solve(const Matrix& matrix) {
  const std::vector<std::span<const double>> rows = matrix.rows();
  Answer answer;
  const auto begin = std::chrono::steady_clock::now();
  answer.superstep = sync::zipline(rows);
  answer.compute_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (std::size_t p = 0; p < rows.size(); ++p) {
    answer.end_times.push_back(rows[p][answer.superstep.index[p] - 1]);
  }
  return answer;
}

std::string text_of(const Answer& answer, const Matrix& matrix) {
  const sync::Superstep<double>& step = answer.superstep;
  Table table({{"worker", Table::Align::Right},
               {"steps", Table::Align::Right},
               {"ends at", Table::Align::Right},
               {"waits", Table::Align::Right}});
  for (std::size_t p = 0; p < step.index.size(); ++p) {
    const double end = answer.end_times[p];
    table.add({cat(p), cat(step.index[p]), to_text(end), to_text(step.barrier - end)});
  }
  return cat(table.text(), "\nbarrier at ", step.barrier, ": the first to arrive waits ", step.wait,
             ", all together ", step.total_wait, " (", matrix.ends.size(), " ends of ",
             step.index.size(), " workers, ", fixed(answer.compute_seconds * 1e3, 3), " ms)\n");
}

}  // namespace

int cmd_zipline(const ZiplineArgs& args) {
  const auto text = read(args.file);
  if (!text) return report_error(text.error(), args.json);
  const auto matrix = parse(*text, args.file);
  if (!matrix) return report_error(matrix.error(), args.json);
  const Answer answer = solve(*matrix);
  if (!args.json) {
    print(text_of(answer, *matrix));
    return 0;
  }
  print_json({{"steps", answer.superstep.index},
              {"end_times", answer.end_times},
              {"barrier", answer.superstep.barrier},
              {"wait", answer.superstep.wait},
              {"total_wait", answer.superstep.total_wait},
              {"compute_seconds", answer.compute_seconds}});
  return 0;
}

}  // namespace paceline::cli
