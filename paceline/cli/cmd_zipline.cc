// zipline FILE.csv: the next barrier for a matrix of predicted ends.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "paceline/base/text.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/output.h"
#include "paceline/node/table.h"
#include "paceline/sync/end_times.h"
#include "paceline/sync/zipline.h"

namespace paceline::cli {
namespace {

using Json = nlohmann::ordered_json;
using node::Table;

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

struct Answer {
  sync::Superstep<double> superstep;
  std::vector<double> end_times;
  double compute_seconds = 0;
};

Answer solve(const sync::EndTimes& matrix) {
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

std::string text_of(const Answer& answer, const sync::EndTimes& matrix) {
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
  const auto matrix = sync::parse_end_times(*text, args.file);
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
