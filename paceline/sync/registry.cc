#include "paceline/sync/registry.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "paceline/base/text.h"
#include "paceline/sync/asp.h"
#include "paceline/sync/bsp.h"
#include "paceline/sync/dssp.h"
#include "paceline/sync/dssp_literal.h"
#include "paceline/sync/elastic_bsp.h"
#include "paceline/sync/limits.h"
#include "paceline/sync/ssp.h"

namespace paceline::sync {
namespace {

using Made = Result<std::unique_ptr<SyncPolicy>>;

template <typename Policy>
Made make_plain(std::string_view name, std::string_view options) {
  if (!options.empty()) {
    return fail(Code::InvalidArgument,
                cat("policy '", name, "' takes no options, not '", options, "'"),
                cat("write '", name, "'"));
  }
  return std::make_unique<Policy>();
}

Error with_fix(Error error, std::string fix) {
  error.fix = std::move(fix);
  return error;
}

Result<std::uint64_t> parse_bound(std::string_view spec, std::string_view what,
                                  std::string_view text, std::uint64_t low, std::uint64_t high) {
  const std::optional<std::uint64_t> value = parse_uint(text);
  if (!value || *value < low || *value > high) {
    return fail(Code::InvalidArgument, cat("policy '", spec, "': ", what, " is '", text,
                                           "', not a whole number from ", low, " to ", high));
  }
  return *value;
}

Made make_ssp(std::string_view options) {
  const std::string spec = cat("ssp:", options);
  if (options.empty()) {
    return fail(Code::InvalidArgument, "policy 'ssp' needs its bound",
                "write 'ssp:3' (steps that a worker may be ahead of the slowest)");
  }
  const auto staleness = parse_bound(spec, "its bound", options, 0, kMaxStaleness);
  if (!staleness)
    return fail(with_fix(staleness.error(), "write for example 'ssp:3'; 'asp' has no bound"));
  return std::make_unique<SSP>(*staleness);
}

template <typename Policy>
Made make_dssp(std::string_view name, std::string_view options) {
  const std::string spec = options.empty() ? std::string(name) : cat(name, ":", options);
  const std::string fix = cat("write '", name, ":3-15' (lower and upper bound in steps)");
  const std::size_t dash = options.find('-');
  if (dash == std::string_view::npos) {
    return fail(Code::InvalidArgument, cat("policy '", spec, "' needs a range of two bounds"), fix);
  }
  const auto low = parse_bound(spec, "the lower bound", options.substr(0, dash), 0, kMaxAhead);
  if (!low) return fail(with_fix(low.error(), fix));
  const auto high = parse_bound(spec, "the upper bound", options.substr(dash + 1), 0, kMaxAhead);
  if (!high) return fail(with_fix(high.error(), fix));
  if (*low > *high) {
    return fail(
        Code::InvalidArgument,
        cat("policy '", spec, "': the lower bound ", *low, " is above the upper bound ", *high),
        cat("write '", name, ":", *high, "-", *low, "'"));
  }
  return std::make_unique<Policy>(*low, *high);
}

Made make_elastic_bsp(std::string_view options) {
  const std::string fix = "write for example 'elastic_bsp:15' or 'elastic_bsp:15,predictor=last'";
  ElasticBSP::Options made;
  if (options.empty()) return std::make_unique<ElasticBSP>(made);
  const std::string spec = cat("elastic_bsp:", options);
  bool first = true;
  for (const std::string_view option : split(options, ',')) {
    if (option == "predictor=last") {
      made.predictor = ElasticBSP::Predictor::Last;
    } else if (option == "predictor=mean") {
      made.predictor = ElasticBSP::Predictor::Mean;
    } else if (option == "points=paper") {
      made.points = ElasticBSP::Points::Paper;
    } else if (option == "points=future") {
      made.points = ElasticBSP::Points::Future;
    } else if (first && option.find('=') == std::string_view::npos) {
      const auto lookahead = parse_bound(spec, "its lookahead", option, 1, kMaxAhead);
      if (!lookahead) return fail(with_fix(lookahead.error(), fix));
      made.lookahead = static_cast<std::uint32_t>(*lookahead);
    } else {
      return fail(
          Code::InvalidArgument, cat("policy '", spec, "': option '", option, "' is unknown"),
          "known: a lookahead first, predictor=mean, predictor=last, points=future, points=paper");
    }
    first = false;
  }
  return std::make_unique<ElasticBSP>(made);
}

std::vector<PolicyEntry> make_entries() {
  return {
      {"bsp", "bsp", "bsp",
       "Every worker makes one push a superstep; their mean is one update. Nobody is ever ahead.",
       "Valiant 1990", "paceline/sync/bsp.cc",
       [](std::string_view options) { return make_plain<BSP>("bsp", options); }},
      {"asp", "asp", "asp",
       "Each push is applied at once and its worker goes on at once. Nobody ever waits.",
       "Dean et al. 2012", "paceline/sync/asp.cc",
       [](std::string_view options) { return make_plain<ASP>("asp", options); }},
      {"ssp", "ssp:S", "ssp:3",
       cat("As asp, but nobody starts a step while more than S steps ahead of the slowest worker. "
           "S: 0 "
           "to ",
           kMaxStaleness, "."),
       "Ho et al. 2013", "paceline/sync/ssp.cc", make_ssp},
      {"dssp", "dssp:L-U", "dssp:3-15",
       cat("As ssp:L, but the fastest worker may run on above L, for as long as its and the "
           "slowest "
           "worker's pace say that waiting later is shorter; never above U. 0 <= L <= U <= ",
           kMaxAhead, "."),
       "Zhao et al. 2019 (ICDCS), bounded as its theorem asks", "paceline/sync/dssp.cc",
       [](std::string_view options) { return make_dssp<DSSP>("dssp", options); }},
      {"dssp_literal", "dssp_literal:L-U", "dssp_literal:3-15",
       "DSSP by its printed text, to reproduce the paper: U bounds one grant, not the gap, which "
       "may "
       "grow without end.",
       "Zhao et al. 2019 (ICDCS), Algorithms 1 and 2", "paceline/sync/dssp_literal.cc",
       [](std::string_view options) { return make_dssp<DSSPLiteral>("dssp_literal", options); }},
      {"elastic_bsp", "elastic_bsp[:R][,predictor=mean|last][,points=future|paper]",
       "elastic_bsp:15",
       cat("Supersteps in which each worker makes as many steps as fit, so that all reach the "
           "barrier "
           "at about the same time. R: steps looked ahead, 1 to ",
           kMaxAhead,
           ", 15 if not given. predictor: a step's time is the running mean of all before (mean) "
           "or the "
           "last one (last). points: predictions begin with the push to come (future) or the one "
           "just "
           "made, as in the authors' code (paper)."),
       "Zhao et al. 2019 (ICDM)", "paceline/sync/elastic_bsp.cc", make_elastic_bsp},
  };
}

const std::vector<PolicyEntry>& entries() {
  static const std::vector<PolicyEntry> all = make_entries();
  return all;
}

const PolicyEntry* find(std::string_view name) {
  for (const PolicyEntry& entry : entries()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

tl::unexpected<Error> unknown(std::string_view name) {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : entries()) names.push_back(entry.name);
  const std::string near = nearest(name, names);
  return fail(Code::InvalidArgument,
              name.empty() ? std::string("a policy's name is missing")
                           : cat("policy '", name, "' is unknown"),
              near.empty() ? cat("known: ", join(names))
                           : cat("did you mean '", near, "'? known: ", join(names)));
}

std::string_view name_of(std::string_view spec) { return spec.substr(0, spec.find(':')); }

}  // namespace

std::span<const PolicyEntry> policies() { return entries(); }

Result<std::unique_ptr<SyncPolicy>> make_policy(std::string_view spec) {
  const std::string_view name = name_of(spec);
  const PolicyEntry* entry = find(name);
  if (entry == nullptr) return unknown(name);
  if (name.size() == spec.size()) return entry->make({});
  const std::string_view options = spec.substr(name.size() + 1);
  if (options.empty()) {
    return fail(Code::InvalidArgument, cat("policy '", spec, "': nothing stands behind the colon"),
                cat("write '", entry->example, "'"));
  }
  return entry->make(options);
}

Result<std::vector<std::string>> split_policies(std::string_view list) {
  std::vector<std::string> specs;
  for (const std::string_view part : split(list, ',')) {
    const std::string_view text = trim(part);
    const std::string_view name = name_of(text);
    const bool starts = find(name) != nullptr;
    const bool continues = !starts && text.find('=') != std::string_view::npos && !specs.empty();
    if (starts) {
      specs.emplace_back(text);
    } else if (continues) {
      std::string& before = specs.back();
      before += cat(before.find(':') == std::string::npos ? ":" : ",", text);
    } else {
      return unknown(name);
    }
  }
  return specs;
}

}  // namespace paceline::sync
