// advise: which policy for this cluster, and why.

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "paceline/base/text.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/comparison_report.h"
#include "paceline/cli/laboratory.h"
#include "paceline/cli/output.h"
#include "paceline/node/run_folder.h"
#include "paceline/node/table.h"
#include "paceline/sim/advise.h"
#include "paceline/sync/registry.h"

namespace paceline::cli {
namespace {

using Json = nlohmann::ordered_json;
using node::Table;
using sim::Advice;
using sim::Ranked;

// Ten blurred classes that a small network learns in a few hundred steps.
constexpr const char* kTask = R"(
[model]
name = "mlp_small"
[data]
name = "synthetic"
[train]
samples = 160000
batch_size = 32
target_accuracy = 0.88
eval_every_samples = 800
[optimizer]
lr = 0.4
momentum = 0.0
schedule = { name = "cosine", warmup = 0.05 }
)";

Result<Advice> advised(const AdviseArgs& args, const Laboratory& laboratory) {
  std::vector<std::string> policies = sim::usual_candidates();
  if (!args.compare.empty()) {
    auto given = sync::split_policies(args.compare);
    if (!given) {
      Error error = given.error();
      error.where = "--compare";
      return fail(std::move(error));
    }
    policies = std::move(*given);
  }
  if (args.target && !(*args.target > 0 && *args.target <= 1)) {
    return fail(Code::InvalidArgument, cat("an accuracy of ", *args.target), "above 0, at most 1",
                "--target");
  }
  auto experiment = make_experiment(args, laboratory, kTask);
  if (!experiment) return fail(experiment.error());
  for (const std::string& policy : policies) experiment->candidates.push_back({.policy = policy});
  if (args.target) experiment->training->run.target_accuracy = args.target;
  experiment->timeline = !args.report.empty();
  auto advice = sim::advise(*experiment, make_machine(args));
  if (advice && !args.report.empty()) {
    const std::string html = comparison_html(advice->comparison);
    if (auto ok = node::write_file(args.report, html); !ok) return fail(ok.error());
  }
  return advice;
}

Json to_json(const Ranked& each) {
  const auto if_reached = [&](double value) { return each.reached > 0 ? Json(value) : Json(); };
  return {
      {"policy", each.policy},
      {"seeds", each.seeds},
      {"reached", each.reached},
      {"seconds_to_target", if_reached(each.seconds)},
      {"spread", each.reached > 0 ? Json::array({each.seconds_low, each.seconds_high}) : Json()},
      {"relative", each.relative > 0 ? Json(each.relative) : Json()},
      {"samples_to_target", if_reached(each.samples_to_target)},
      {"test_accuracy", each.test_accuracy},
      {"steps_per_second", each.steps_per_second},
      {"wait_share_mean", each.wait_share},
      {"staleness_p95", each.staleness_p95}};
}

Json to_json(const Advice& advice) {
  Json ranking = Json::array();
  for (const Ranked& each : advice.ranking) ranking.push_back(to_json(each));
  return {{"cluster", advice.cluster},
          {"policy", advice.ranking.front().policy},
          {"target_accuracy", advice.target},
          {"target_is_ours", advice.target_is_ours},
          {"why", advice.why},
          {"certainty", sim::to_string(advice.certainty)},
          {"how_sure", advice.how_sure},
          {"lead", advice.lead},
          {"ranking", std::move(ranking)},
          {"runs", advice.runs},
          {"compute_seconds", advice.compute_seconds}};
}

std::string table_of(const Advice& advice) {
  using Align = Table::Align;
  Table table({{"policy"},
               {cat("s to ", fixed(advice.target, 3)), Align::Right},
               {"range", Align::Right},
               {"of the first's", Align::Right},
               {"seeds", Align::Right},
               {"accuracy", Align::Right},
               {"steps/s", Align::Right},
               {"waiting", Align::Right},
               {"staleness p95", Align::Right}});
  for (const Ranked& each : advice.ranking) {
    const bool reached = each.reached > 0;
    table.add({each.policy, reached ? fixed(each.seconds, 1) : "never",
               reached ? cat(fixed(each.seconds_low, 1), " to ", fixed(each.seconds_high, 1)) : "",
               each.relative > 0 ? fixed(each.relative, 2) : "",
               each.reached == each.seeds ? cat(each.seeds) : cat(each.reached, " of ", each.seeds),
               fixed(each.test_accuracy, 4), fixed(each.steps_per_second, 3),
               cat(fixed(100 * each.wait_share, 1), " %"), cat(each.staleness_p95)});
  }
  return table.text();
}

}  // namespace

int cmd_advise(const AdviseArgs& args, const Laboratory& laboratory) {
  const auto advice = advised(args, laboratory);
  if (!advice) return report_error(advice.error(), args.json);
  if (args.json) {
    Json json = to_json(*advice);
    json["report"] = args.report.empty() ? Json() : Json(args.report);
    print_json(json);
    return 0;
  }
  if (advice->certainty == sim::Certainty::None) {
    print(cat("On ", advice->cluster, " nothing reaches the target.\n\n"));
  } else {
    print(cat("On ", advice->cluster, " take ", advice->ranking.front().policy, " (",
              sim::to_string(advice->certainty), ").\n\n"));
  }
  print(wrapped(cat(advice->why, " ", advice->how_sure), 0));
  print(cat("\n", table_of(*advice)));
  if (!args.report.empty()) print(cat("\nreport: ", args.report, "\n"));
  return 0;
}

}  // namespace paceline::cli
