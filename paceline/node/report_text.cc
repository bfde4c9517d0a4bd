// Summaries as text for a terminal.

#include <algorithm>

#include "paceline/base/text.h"
#include "paceline/node/json_field.h"
#include "paceline/node/report.h"
#include "paceline/node/table.h"

namespace paceline::node {
namespace {

constexpr const char* kNone = "-";

std::string shown(const std::optional<double>& value, int digits, std::string_view unit = "") {
  return value ? cat(fixed(*value, digits), unit) : kNone;
}
std::string whole(const std::optional<double>& value) { return shown(value, 0); }
std::string percent(const std::optional<double>& share) {
  return share ? cat(fixed(*share * 100, 1), " %") : kNone;
}
std::string size(const std::optional<double>& bytes) { return bytes ? bytes_text(*bytes) : kNone; }

template <typename Show>
std::string each(const Json& values, Show show) {
  std::vector<std::string> parts;
  for (const Json& value : values) parts.push_back(show(as_number(value)));
  return parts.empty() ? kNone : join(parts, " ");
}

std::string wait_shares(const Json& summary) {
  return each(list(summary, "wait_share"), [](const std::optional<double>& share) {
    return share ? cat(fixed(*share * 100, 1)) : std::string(kNone);
  });
}

std::string to_target(const Json& summary) {
  if (!number(summary, "target_accuracy")) return "no target";
  const auto seconds = number(summary, "seconds_to_target");
  return seconds ? shown(seconds, 1, " s") : "not reached";
}

std::string staleness(const Json& summary) {
  const Json& of = field(summary, "staleness");
  return cat(whole(number(of, "p50")), " / ", whole(number(of, "p95")), " / ",
             whole(number(of, "max")));
}

std::string pushes(const Json& summary) {
  const Json& of = field(summary, "pushes");
  return cat(whole(number(of, "applied")), " applied, ", whole(number(of, "dropped")), " dropped, ",
             whole(number(of, "repeated")), " repeated");
}

std::string failure_line(const Json& failure) {
  const std::string why = text(failure, "text");
  const auto at = number(failure, "at_seconds");
  const auto step = number(failure, "at_step");
  return cat(text(failure, "role"), " ", whole(number(failure, "rank")), ": ",
             why.empty() ? text(failure, "cause") : why, at ? cat(" at ", fixed(*at, 1), " s") : "",
             step ? cat(", step ", fixed(*step, 0)) : "");
}

std::string failures_text(const Json& summary) {
  std::string out;
  for (const Json& failure : list(summary, "failures")) {
    out += cat("lost  ", failure_line(failure), "\n");
  }
  const Json& error = field(summary, "error");
  if (error.is_object()) {
    const std::string where = text(error, "where");
    const std::string fix = text(error, "fix");
    out += cat("error  ", where.empty() ? "" : where + ": ", text(error, "what"),
               fix.empty() ? "" : "; " + fix, "\n");
  }
  return out;
}

std::string workers_table(const Json& summary) {
  const Json& steps = list(summary, "steps");
  const Json& shares = list(summary, "wait_share");
  if (steps.empty()) return "";
  double most = 1;
  for (const Json& value : steps) most = std::max(most, as_number(value).value_or(0));
  Table table({{"worker", Table::Align::Right},
               {"steps", Table::Align::Right},
               {"waited", Table::Align::Right},
               {""}});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto done = as_number(steps[i]);
    const auto share = i < shares.size() ? as_number(shares[i]) : std::nullopt;
    const auto bar = static_cast<std::size_t>(30 * done.value_or(0) / most);
    table.add({cat(i), whole(done), percent(share), std::string(bar, '#')});
  }
  return table.text();
}

}  // namespace

std::string summary_table(const Json& summary) {
  Table table({{""}, {""}});
  const auto exit_code = number(summary, "exit_code");
  const bool failed = exit_code && *exit_code != 0;
  table.add({"run", cat(text(summary, "run"), ": ", text(summary, "exit"),
                        failed ? cat(" (exit code ", whole(exit_code), ")") : "")});
  table.add({"policy", cat(text(summary, "policy"), ", ", whole(number(summary, "workers")),
                           " workers, ", whole(number(summary, "servers")), " servers, seed ",
                           whole(number(summary, "seed")))});
  table.add({"model", cat(text(summary, "model"), " on ", text(summary, "data"))});
  table.add({"time", cat(shown(number(summary, "seconds"), 1, " s"), " for ",
                         whole(number(summary, "samples")), " samples, after ",
                         shown(number(summary, "setup_seconds"), 1, " s"), " of set-up")});
  table.add({"target", cat(percent(number(summary, "target_accuracy")), ": ", to_target(summary))});
  table.add({"test accuracy", percent(number(summary, "test_accuracy"))});
  table.add({"train loss", shown(number(summary, "train_loss"), 4)});
  table.add({"staleness", cat(staleness(summary), " versions (median / p95 / max)")});
  table.add({"pushes", pushes(summary)});
  const Json& bytes = field(summary, "bytes");
  table.add({"moved", cat(size(number(bytes, "pushed")), " pushed, ", size(number(bytes, "pulled")),
                          " pulled")});
  return cat(table.text(), "\n", workers_table(summary), failures_text(summary));
}

std::string comparison_text(std::span<const Json> summaries) {
  Table table({{"policy"},
               {"to target", Table::Align::Right},
               {"time", Table::Align::Right},
               {"test accuracy", Table::Align::Right},
               {"steps by worker"},
               {"waited by worker, %"},
               {"staleness p50/p95/max"},
               {"pushed", Table::Align::Right},
               {"pulled", Table::Align::Right}});
  for (const Json& summary : summaries) {
    const Json& bytes = field(summary, "bytes");
    table.add({text(summary, "policy"), to_target(summary),
               shown(number(summary, "seconds"), 1, " s"),
               percent(number(summary, "test_accuracy")), each(list(summary, "steps"), whole),
               wait_shares(summary), staleness(summary), size(number(bytes, "pushed")),
               size(number(bytes, "pulled"))});
  }
  return table.text();
}

}  // namespace paceline::node
