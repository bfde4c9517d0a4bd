#include "paceline/sim/compare_json.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace paceline::sim {
namespace {

using Json = nlohmann::ordered_json;
using Figure = std::function<std::optional<double>(const Outcome&)>;

// Whole numbers are printed as such.
Json number(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::trunc(value) == value && std::abs(value) < kExact) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

Json mean_of(const PolicyOutcome& policy, const Figure& figure) {
  const Spread spread = spread_of(policy, figure);
  return spread.count == 0 ? Json(nullptr) : number(spread.mean);
}

Json range_of(const PolicyOutcome& policy, const Figure& figure) {
  const Spread spread = spread_of(policy, figure);
  return spread.count == 0 ? Json(nullptr) : Json::array({number(spread.low), number(spread.high)});
}

Figure quantile(double share) {
  return [share](const Outcome& outcome) {
    return static_cast<double>(roles::quantile(outcome.staleness, share));
  };
}

// A time to target stands for a policy only if every seed has one.
Json seconds_to_target(const PolicyOutcome& policy) {
  const bool all = std::ranges::all_of(policy.outcomes, [](const Outcome& outcome) {
    return outcome.seconds_to_target.has_value();
  });
  return all ? mean_of(policy, [](const Outcome& o) { return o.seconds_to_target; }) : nullptr;
}

template <typename Value>
Json by_worker(const PolicyOutcome& policy, std::vector<Value> Outcome::*figure) {
  Json list = Json::array();
  const std::size_t workers = (policy.outcomes.front().*figure).size();
  for (std::size_t w = 0; w < workers; ++w) {
    list.push_back(mean_of(
        policy, [&](const Outcome& outcome) { return static_cast<double>((outcome.*figure)[w]); }));
  }
  return list;
}

Json by_seed(const PolicyOutcome& policy) {
  Json list = Json::array();
  for (const Outcome& outcome : policy.outcomes) {
    Json evaluations = Json::array();
    for (const roles::EvaluationStats& each : outcome.evaluations) {
      evaluations.push_back({{"seconds", to_seconds(each.at)},
                             {"samples", each.samples},
                             {"test_accuracy", each.accuracy},
                             {"test_loss", each.loss}});
    }
    list.push_back(
        {{"seed", outcome.seed},
         {"seconds", outcome.seconds},
         {"pushes", outcome.pushes},
         {"wait_share_mean", outcome.wait_share_mean},
         {"seconds_to_target",
          outcome.seconds_to_target ? Json(*outcome.seconds_to_target) : Json(nullptr)},
         {"test_accuracy", outcome.test_accuracy ? Json(*outcome.test_accuracy) : Json(nullptr)},
         {"evaluations", std::move(evaluations)}});
  }
  return list;
}

struct Named {
  const char* name;
  Figure figure;
};

// The figures of which the spread is told too.
std::vector<Named> figures() {
  return {
      {"seconds", [](const Outcome& o) { return o.seconds; }},
      {"pushes", [](const Outcome& o) { return static_cast<double>(o.pushes); }},
      {"steps_per_second", [](const Outcome& o) { return steps_per_second(o); }},
      {"wait_share_mean", [](const Outcome& o) { return o.wait_share_mean; }},
      {"clock_gap_max", [](const Outcome& o) { return static_cast<double>(o.clock_gap_max); }},
      {"barriers", [](const Outcome& o) { return static_cast<double>(o.barriers); }},
      {"failures", [](const Outcome& o) { return static_cast<double>(o.failures); }},
      {"test_accuracy", [](const Outcome& o) { return o.test_accuracy; }},
  };
}

double events_per_second(const PolicyOutcome& policy) {
  double events = 0;
  double seconds = 0;
  for (const Outcome& outcome : policy.outcomes) {
    events += static_cast<double>(outcome.events);
    seconds += outcome.compute_seconds;
  }
  return seconds > 0 ? events / seconds : 0;
}

Json to_json(const PolicyOutcome& policy) {
  Json json;
  Json spread;
  json["policy"] = policy.policy;
  for (const Named& each : figures()) {
    json[each.name] = mean_of(policy, each.figure);
    spread[each.name] = range_of(policy, each.figure);
  }
  json["seconds_to_target"] = seconds_to_target(policy);
  spread["seconds_to_target"] =
      range_of(policy, [](const Outcome& o) { return o.seconds_to_target; });
  json["steps"] = by_worker(policy, &Outcome::steps);
  json["wait_share"] = by_worker(policy, &Outcome::wait_share);
  json["staleness"] = {{"p50", mean_of(policy, quantile(0.5))},
                       {"p95", mean_of(policy, quantile(0.95))},
                       {"max", mean_of(policy, quantile(1))}};
  spread["staleness_max"] = range_of(policy, quantile(1));
  const auto bytes = [](std::uint64_t Outcome::*which) {
    return [which](const Outcome& o) { return static_cast<double>(o.*which); };
  };
  json["bytes"] = {{"pushed", mean_of(policy, bytes(&Outcome::pushed_bytes))},
                   {"pulled", mean_of(policy, bytes(&Outcome::pulled_bytes))}};
  json["server_queue"] = {
      {"seconds", mean_of(policy, [](const Outcome& o) { return o.server_queue_seconds; })},
      {"busy_share", mean_of(policy, [](const Outcome& o) { return o.server_busy_share; })}};
  json["events"] = mean_of(policy, [](const Outcome& o) { return static_cast<double>(o.events); });
  json["events_per_second"] = events_per_second(policy);
  json["compute_seconds"] = mean_of(policy, [](const Outcome& o) { return o.compute_seconds; });
  json["spread"] = std::move(spread);
  json["by_seed"] = by_seed(policy);
  const std::string& sha256 = policy.outcomes.front().decisions_sha256;
  json["decisions_sha256"] = sha256.empty() ? Json(nullptr) : Json(sha256);
  return json;
}

}  // namespace

Spread spread_of(const PolicyOutcome& policy, const Figure& figure) {
  Spread spread;
  double sum = 0;
  for (const Outcome& outcome : policy.outcomes) {
    const std::optional<double> value = figure(outcome);
    if (!value) continue;
    spread.low = spread.count == 0 ? *value : std::min(spread.low, *value);
    spread.high = spread.count == 0 ? *value : std::max(spread.high, *value);
    sum += *value;
    ++spread.count;
  }
  if (spread.count != 0) spread.mean = sum / static_cast<double>(spread.count);
  return spread;
}

double steps_per_second(const Outcome& outcome) {
  return outcome.seconds > 0 ? static_cast<double>(outcome.pushes) / outcome.seconds : 0;
}

Json to_json(const Comparison& comparison) {
  double compute_seconds = 0;
  Json policies = Json::array();
  for (const PolicyOutcome& policy : comparison.policies) {
    for (const Outcome& outcome : policy.outcomes) compute_seconds += outcome.compute_seconds;
    policies.push_back(to_json(policy));
  }
  return {{"cluster", comparison.cluster},
          {"workers", comparison.workers},
          {"servers", comparison.servers},
          {"seed", comparison.first_seed},
          {"seeds", comparison.seeds},
          {"compute_seconds", compute_seconds},
          {"target_accuracy",
           comparison.target_accuracy ? Json(*comparison.target_accuracy) : Json(nullptr)},
          {"policies", std::move(policies)}};
}

}  // namespace paceline::sim
