#include "paceline/sim/advise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "paceline/base/text.h"
#include "paceline/sim/compare_json.h"

namespace paceline::sim {
namespace {

constexpr double kBelowBsp = 0.01;
constexpr double kAlike = 0.02;  // less apart is not apart
constexpr std::uint64_t kSecondRound = 3;
constexpr std::size_t kFinalists = 3;

using Outcomes = std::map<std::string, PolicyOutcome>;  // by spelling

// Candidates that are tried with the seeds from `from` on, up to `to`.
Status run_round(const Experiment& experiment, const Machine& machine,
                 std::vector<Candidate> candidates, std::uint64_t from, std::uint64_t to,
                 Outcomes& outcomes) {
  if (from >= to || candidates.empty()) return {};
  Experiment part = experiment;
  part.candidates = std::move(candidates);
  part.first_seed = experiment.first_seed + from;
  part.seeds = to - from;
  auto comparison = compare(part, machine);
  if (!comparison) return fail(comparison.error());
  for (PolicyOutcome& policy : comparison->policies) {
    PolicyOutcome& known = outcomes[policy.policy];
    known.policy = policy.policy;
    for (Outcome& outcome : policy.outcomes) known.outcomes.push_back(std::move(outcome));
    if (from == 0) known.timeline = std::move(policy.timeline);
  }
  return {};
}

double final_accuracy(const PolicyOutcome& policy) {
  return spread_of(policy, [](const Outcome& o) { return o.test_accuracy; }).mean;
}

double target_of(const Experiment& experiment, const Outcomes& outcomes) {
  if (const auto& set = experiment.training->run.target_accuracy) return *set;
  double best = 0;
  for (const auto& [name, policy] : outcomes) best = std::max(best, final_accuracy(policy));
  const auto bsp = outcomes.find("bsp");
  return (bsp != outcomes.end() ? final_accuracy(bsp->second) : best) - kBelowBsp;
}

Ranked rank(const PolicyOutcome& policy, double target) {
  const Spread seconds = spread_of(policy, [&](const Outcome& outcome) -> std::optional<double> {
    const auto first = first_at(outcome, target);
    return first ? std::optional(to_seconds(first->at)) : std::nullopt;
  });
  const Spread samples = spread_of(policy, [&](const Outcome& outcome) -> std::optional<double> {
    const auto first = first_at(outcome, target);
    return first ? std::optional(static_cast<double>(first->samples)) : std::nullopt;
  });
  const auto mean = [&](const auto& figure) { return spread_of(policy, figure).mean; };
  return {.policy = policy.policy,
          .seeds = policy.outcomes.size(),
          .reached = seconds.count,
          .seconds = seconds.mean,
          .seconds_low = seconds.low,
          .seconds_high = seconds.high,
          .samples_to_target = samples.mean,
          .test_accuracy = final_accuracy(policy),
          .steps_per_second = mean([](const Outcome& o) { return steps_per_second(o); }),
          .wait_share = mean([](const Outcome& o) { return o.wait_share_mean; }),
          .staleness_p95 = static_cast<std::uint64_t>(std::llround(mean([](const Outcome& o) {
            return static_cast<double>(roles::quantile(o.staleness, 0.95));
          })))};
}

// Those that always reach the target by time, then those that mostly do, then by accuracy.
bool is_better(const Ranked& a, const Ranked& b) {
  const auto share = [](const Ranked& r) {
    return static_cast<double>(r.reached) / static_cast<double>(r.seeds);
  };
  if (share(a) != share(b)) return share(a) > share(b);
  if (a.reached == 0) return a.test_accuracy > b.test_accuracy;
  return a.seconds < b.seconds;
}

std::vector<Ranked> ranking_of(const Outcomes& outcomes, double target) {
  std::vector<Ranked> ranking;
  for (const auto& [name, policy] : outcomes) ranking.push_back(rank(policy, target));
  std::ranges::stable_sort(ranking, [](const Ranked& a, const Ranked& b) {
    if (a.seeds != b.seeds) return a.seeds > b.seeds;  // it was worth more tries
    return is_better(a, b);
  });
  return ranking;
}

double seconds_of(const roles::EvaluationStats& first) { return to_seconds(first.at); }
double samples_of(const roles::EvaluationStats& first) {
  return static_cast<double>(first.samples);
}

// In the order of the ranking; outcomes are gone then.
Comparison comparison_of(const Experiment& experiment, const Advice& advice, Outcomes outcomes) {
  Comparison all{.cluster = advice.cluster,
                 .workers = static_cast<std::uint32_t>(experiment.cluster.workers.size()),
                 .servers = experiment.cluster.servers,
                 .first_seed = experiment.first_seed,
                 .seeds = experiment.seeds,
                 .trained = true,
                 .target_accuracy = advice.target};
  for (const Ranked& each : advice.ranking) {
    PolicyOutcome& policy = all.policies.emplace_back(std::move(outcomes.at(each.policy)));
    for (Outcome& outcome : policy.outcomes) {
      const auto first = first_at(outcome, advice.target);
      outcome.seconds_to_target = first ? std::optional(to_seconds(first->at)) : std::nullopt;
    }
  }
  return all;
}

// What `other` needed over what `best` did, in all seeds in which both reached the target; 0: none.
double relative_to(const PolicyOutcome& best, const PolicyOutcome& other, double target,
                   double (*need)(const roles::EvaluationStats&)) {
  double ours = 0;
  double theirs = 0;
  for (std::size_t s = 0; s < std::min(best.outcomes.size(), other.outcomes.size()); ++s) {
    const auto a = first_at(best.outcomes[s], target);
    const auto b = first_at(other.outcomes[s], target);
    if (!a || !b) continue;
    ours += need(*a);
    theirs += need(*b);
  }
  return ours > 0 ? theirs / ours : 0;
}

std::vector<Candidate> best_of(const Experiment& experiment, const Outcomes& outcomes,
                               double target, std::size_t count) {
  const std::vector<Ranked> ranking = ranking_of(outcomes, target);
  std::vector<Candidate> best;
  for (std::size_t i = 0; i < std::min(count, ranking.size()); ++i) {
    const auto same = [&](const Candidate& c) { return c.make && c.policy == ranking[i].policy; };
    const auto own = std::ranges::find_if(experiment.candidates, same);
    best.push_back(own != experiment.candidates.end() ? *own
                                                      : Candidate{.policy = ranking[i].policy});
  }
  return best;
}

// ---- words ----

std::string per_cent(double share) {
  const double value = 100 * share;
  return cat(fixed(value, std::abs(value) < 10 ? 1 : 0), " %");
}
std::string seconds_text(double seconds) {
  return cat(fixed(seconds, seconds < 100 ? 1 : 0), " s");
}

const Ranked* find(const std::vector<Ranked>& ranking, std::string_view policy) {
  const auto found = std::ranges::find(ranking, policy, &Ranked::policy);
  return found == ranking.end() ? nullptr : &*found;
}

std::string first_sentence(const Advice& advice, const Ranked& other) {
  const Ranked& best = advice.ranking.front();
  std::string text =
      cat(best.policy, " reaches ", fixed(advice.target, 3), " in ", seconds_text(best.seconds));
  if (other.reached > 0) {
    text += cat("; on the same seeds ", other.policy, " takes ", fixed(other.relative, 2),
                " times as long");
  } else {
    text += cat(", ", other.policy, " never");
  }
  return text + cat(": it makes ", fixed(best.steps_per_second, 2), " steps a second against ",
                    fixed(other.steps_per_second, 2), ", its workers wait ",
                    per_cent(best.wait_share), " of the time against ", per_cent(other.wait_share),
                    ".");
}

// What the speed costs in samples, or what the fastest pays for being so.
std::string second_sentence(const Advice& advice, const Outcomes& outcomes) {
  const Ranked& best = advice.ranking.front();
  const Ranked& fastest = std::ranges::max(advice.ranking, {}, &Ranked::steps_per_second);
  const std::string ages =
      cat("95 % of its gradients are at most ", best.staleness_p95, " versions old");
  const auto more_samples = [&](const Ranked& more, const Ranked& than) {
    return relative_to(outcomes.at(than.policy), outcomes.at(more.policy), advice.target,
                       samples_of) -
           1;
  };
  if (fastest.steps_per_second > best.steps_per_second * 1.005) {
    const double more = more_samples(fastest, best);
    const std::string cost = fastest.reached == 0 ? "does not reach the target"
                             : more > 0.001       ? cat("needs ", per_cent(more), " more samples")
                                                  : std::string("gains nothing by it");
    return cat("The fastest, ", fastest.policy, ", makes ", fixed(fastest.steps_per_second, 2),
               " steps a second but ", cost, ": 95 % of its gradients are at most ",
               fastest.staleness_p95, " versions old, of ", best.policy, "'s ", best.staleness_p95,
               ".");
  }
  const Ranked* bsp = find(advice.ranking, "bsp");
  if (bsp == nullptr || bsp == &best || bsp->reached == 0) {
    return cat("Nothing makes more steps a second, and ", ages, ".");
  }
  const double more = more_samples(best, *bsp);
  return cat("No other makes more steps a second; ", ages, ", which costs ",
             more > 0.005 ? cat(per_cent(more), " more samples than bsp needs")
                          : std::string("no more samples than bsp needs"),
             ".");
}

std::uint64_t wins(const PolicyOutcome& best, const PolicyOutcome& second, double target) {
  std::uint64_t count = 0;
  for (std::size_t s = 0; s < std::min(best.outcomes.size(), second.outcomes.size()); ++s) {
    const auto ours = first_at(best.outcomes[s], target);
    const auto theirs = first_at(second.outcomes[s], target);
    if (ours && (!theirs || ours->at < theirs->at)) ++count;
  }
  return count;
}

void judge(Advice& advice, const Outcomes& outcomes) {
  const Ranked& best = advice.ranking.front();
  if (best.reached == 0) {
    advice.why = cat("Nothing reaches ", fixed(advice.target, 3), " within the budget; ",
                     best.policy, " comes nearest, with ", fixed(best.test_accuracy, 3),
                     ". More samples, another rate or a lower target would tell more.");
    advice.how_sure = "Not at all: the order is by accuracy.";
    return;
  }
  const Ranked* bsp = find(advice.ranking, "bsp");
  const bool bsp_is_worse = bsp != nullptr && bsp != &best;
  if (advice.ranking.size() > 1) {
    advice.why = first_sentence(advice, bsp_is_worse ? *bsp : advice.ranking[1]);
    advice.why += " " + second_sentence(advice, outcomes);
  } else {
    advice.why = cat("Only ", best.policy, " was tried.");
    advice.how_sure = "There is nothing to compare with.";
    advice.certainty = Certainty::Open;
    return;
  }
  const Ranked& second = advice.ranking[1];
  if (second.reached == 0) {
    const bool always = best.seeds > 1 && best.reached == best.seeds;
    advice.certainty = always ? Certainty::Sure : Certainty::Likely;
    advice.how_sure = cat("The second, ", second.policy, ", does not reach the target at all.");
    return;
  }
  advice.lead = second.relative - 1;
  const std::uint64_t seeds = std::min(best.seeds, second.seeds);
  const std::uint64_t won =
      wins(outcomes.at(best.policy), outcomes.at(second.policy), advice.target);
  const bool differs = seeds > 1 && advice.lead >= kAlike;
  const bool is_apart = best.reached == best.seeds && best.seconds_high < second.seconds_low;
  advice.certainty = differs && is_apart               ? Certainty::Sure
                     : differs && 5 * won >= 4 * seeds ? Certainty::Likely
                                                       : Certainty::Open;
  const std::string rivalry =
      second.reached * best.seeds < best.reached * second.seeds
          ? cat("reaches the target in ", second.reached, " of ", second.seeds,
                " seeds, the first in ", best.reached, " of ", best.seeds)
          : cat("takes ", per_cent(advice.lead), " longer on the same seeds");
  advice.how_sure =
      cat("The second, ", second.policy, ", ", rivalry, "; the first was faster in ", won, " of ",
          seeds, " seeds, and took ", seconds_text(best.seconds_low), " to ",
          seconds_text(best.seconds_high), " against ", seconds_text(second.seconds_low), " to ",
          seconds_text(second.seconds_high), ".");
}

}  // namespace

std::string_view to_string(Certainty certainty) {
  switch (certainty) {
    case Certainty::Sure:
      return "sure";
    case Certainty::Likely:
      return "likely";
    case Certainty::Open:
      return "open";
    case Certainty::None:
      return "none";
  }
  return "";
}

std::vector<std::string> usual_candidates() {
  return {"bsp",       "asp",           "ssp:3",          "ssp:15",
          "dssp:3-15", "elastic_bsp:4", "elastic_bsp:15", "elastic_bsp:60"};
}

std::optional<roles::EvaluationStats> first_at(const Outcome& outcome, double accuracy) {
  for (const roles::EvaluationStats& each : outcome.evaluations) {
    if (each.accuracy >= accuracy) return each;
  }
  return std::nullopt;
}

Result<Advice> advise(const Experiment& experiment, const Machine& machine) {
  Advice advice{.cluster = experiment.cluster.name};
  Outcomes outcomes;
  // One spelt in two ways would be tried twice with each seed.
  std::vector<Candidate> candidates;
  std::set<std::string> known;
  for (const Candidate& candidate : experiment.candidates) {
    auto spelling = spelling_of(candidate);
    if (!spelling) return fail(spelling.error());
    if (known.insert(*spelling).second) candidates.push_back(candidate);
  }
  const std::size_t count = candidates.size();
  const std::uint64_t seeds = experiment.seeds;
  if (auto ok = run_round(experiment, machine, candidates, 0, 1, outcomes); !ok) {
    return fail(ok.error());
  }
  advice.target_is_ours = !experiment.training->run.target_accuracy;
  advice.target = target_of(experiment, outcomes);
  const std::uint64_t middle = std::min(kSecondRound, seeds);
  const std::size_t half = std::max(kFinalists, (count + 1) / 2);
  auto better = best_of(experiment, outcomes, advice.target, half);
  if (auto ok = run_round(experiment, machine, std::move(better), 1, middle, outcomes); !ok) {
    return fail(ok.error());
  }
  auto finalists = best_of(experiment, outcomes, advice.target, kFinalists);
  if (auto ok = run_round(experiment, machine, std::move(finalists), middle, seeds, outcomes);
      !ok) {
    return fail(ok.error());
  }
  advice.ranking = ranking_of(outcomes, advice.target);
  for (Ranked& each : advice.ranking) {
    each.relative = relative_to(outcomes.at(advice.ranking.front().policy),
                                outcomes.at(each.policy), advice.target, seconds_of);
  }
  for (const auto& [name, policy] : outcomes) {
    for (const Outcome& outcome : policy.outcomes) {
      ++advice.runs;
      advice.compute_seconds += outcome.compute_seconds;
    }
  }
  judge(advice, outcomes);
  advice.comparison = comparison_of(experiment, advice, std::move(outcomes));
  return advice;
}

}  // namespace paceline::sim
