#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "paceline/base/text.h"
#include "paceline/sync/registry.h"
#include "paceline/sync/transcript.h"
#include "paceline/sync/zipline.h"
#include "python/errors.h"
#include "python/module.h"
#include "python/policy.h"

namespace nb = nanobind;

namespace paceline::python {
namespace {

constexpr std::size_t kRemembered = 20;  // events, for the note at an exception

// As paceline/sync.py has them: PushId, and a Decision's fields in order.
using PushTuple = std::tuple<std::uint32_t, Incarnation, Step>;
using DecisionTuple = std::tuple<std::vector<std::vector<PushTuple>>, std::vector<PushTuple>,
                                 std::vector<std::uint32_t>, std::string>;

PushId from_python(const PushTuple& push) {
  return {WorkerId{std::get<0>(push)}, std::get<1>(push), std::get<2>(push)};
}
PushTuple to_python(const PushId& push) { return {push.worker.value, push.incarnation, push.step}; }

std::vector<PushId> from_python(const std::vector<PushTuple>& pushes) {
  std::vector<PushId> out;
  for (const PushTuple& push : pushes) out.push_back(from_python(push));
  return out;
}
std::vector<PushTuple> to_python(const std::vector<PushId>& pushes) {
  std::vector<PushTuple> out;
  for (const PushId& push : pushes) out.push_back(to_python(push));
  return out;
}

sync::Decision from_python(DecisionTuple answer) {
  auto& [apply, drop, release, reason] = answer;
  sync::Decision decision{.drop = from_python(drop), .reason = std::move(reason)};
  for (const auto& pushes : apply) decision.apply.push_back({from_python(pushes)});
  for (const std::uint32_t worker : release) decision.release.push_back(WorkerId{worker});
  return decision;
}
DecisionTuple to_python(const sync::Decision& decision) {
  DecisionTuple out;
  auto& [apply, drop, release, reason] = out;
  for (const sync::Apply& update : decision.apply) apply.push_back(to_python(update.pushes));
  drop = to_python(decision.drop);
  for (const WorkerId worker : decision.release) release.push_back(worker.value);
  reason = decision.reason;
  return out;
}

Time time_of(double seconds) {
  if (std::isnan(seconds)) throw nb::value_error("now is not a number; give seconds");
  constexpr double kMost = 9.2e9;  // the range of int64 nanoseconds
  return from_seconds(std::clamp(seconds, -kMost, kMost));
}

// Divided, not multiplied by 1e-9: 5.01 and not 5.010000000000001.
double seconds_of(Time time) { return static_cast<double>(time.count()) / 1e9; }

sync::Event event_of(const std::string& kind, const PushTuple& push, double now) {
  const PushId id = from_python(push);
  if (kind == "pushed") return {time_of(now), sync::Pushed{id}};
  if (kind == "left") return {time_of(now), sync::Left{id.worker}};
  return {time_of(now), sync::Joined{id.worker}};
}

std::vector<nb::dict> entries() {
  std::vector<nb::dict> all;
  for (const sync::PolicyEntry& entry : sync::policies()) {
    nb::dict fields;
    fields["name"] = entry.name;
    fields["spec"] = entry.spec;
    fields["example"] = entry.example;
    fields["doc"] = entry.doc;
    fields["source"] = entry.source;
    fields["file"] = entry.file;
    all.push_back(fields);
  }
  return all;
}

using Chosen = std::tuple<double, double, double, std::vector<std::uint32_t>>;

Chosen choose(std::span<const std::span<const double>> rows) {
  if (Status ends = sync::check_ends(rows); !ends) raise(ends.error());
  auto superstep = sync::zipline(rows);
  return {superstep.barrier, superstep.wait, superstep.total_wait, std::move(superstep.index)};
}

Chosen choose_matrix(nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> ends) {
  std::vector<std::span<const double>> rows;
  for (std::size_t row = 0; row < ends.shape(0); ++row) {
    rows.emplace_back(ends.data() + row * ends.shape(1), ends.shape(1));
  }
  return choose(rows);
}

Chosen choose_rows(const std::vector<std::vector<double>>& ends) {
  const std::vector<std::span<const double>> rows(ends.begin(), ends.end());
  return choose(rows);
}

}  // namespace

// ---- rules in Python ----

std::string PythonRule::spec() const { return nb::cast<std::string>(rule_.attr("spec")); }

sync::Decision PythonRule::joined(WorkerId worker, Time now) {
  return ask({now, sync::Joined{worker}}, "_joined", worker.value);
}
sync::Decision PythonRule::pushed(const PushId& push, Time now) {
  return ask({now, sync::Pushed{push}}, "_pushed", push.worker.value, push.incarnation, push.step);
}
sync::Decision PythonRule::left(WorkerId worker, Time now) {
  return ask({now, sync::Left{worker}}, "_left", worker.value);
}

template <typename... Arguments>
sync::Decision PythonRule::ask(const sync::Event& event, const char* method,
                               Arguments... arguments) {
  events_.push_back(event);
  if (events_.size() > kRemembered) events_.pop_front();
  try {
    const nb::object answer = rule_.attr(method)(arguments..., seconds_of(event.now));
    return from_python(nb::cast<DecisionTuple>(answer));
  } catch (nb::python_error& error) {
    if (nb::hasattr(error.value(), "add_note")) error.value().attr("add_note")(told());
    throw;
  }
}

std::string PythonRule::told() const {
  std::string text = "the last events that the policy was told of:";
  for (const sync::Event& event : events_) text += cat("\n    ", to_string(event));
  return text;
}

sync::Decision WatchedRule::step(const sync::Event& event) {
  sync::Decision decision = rule_.try_step(event).decision;
  if (Status kept = watch_.see(event, decision); !kept) {
    Error error = kept.error();
    error.what = cat("policy '", spec(), "' breaks the contract: ", error.what, "\n",
                     sync::exchange_text(to_string(event), decision));
    error.fix = "paceline.sync.check_contract() shows the shortest conversation that does";
    raise_contract(error);
  }
  return decision;
}

std::unique_ptr<sync::SyncPolicy> adopt(nb::object made, bool watched) {
  if (nb::isinstance<nb::str>(made)) {
    return value_of(sync::make_policy(nb::cast<std::string>(made)));
  }
  if (watched) return std::make_unique<WatchedRule>(std::move(made));
  return std::make_unique<PythonRule>(std::move(made));
}

void bind_sync(nb::module_& module) {
  nb::class_<sync::SyncPolicy>(module, "Machine")
      .def_prop_ro("spec", &sync::SyncPolicy::spec)
      .def("step", [](sync::SyncPolicy& machine, const std::string& kind, const PushTuple& push,
                      double now) { return to_python(machine.step(event_of(kind, push, now))); });
  module.def("adopt", [](nb::object made) { return adopt(std::move(made), true); });
  module.def("policies", &entries);
  module.def("split_policies",
             [](const std::string& list) { return value_of(sync::split_policies(list)); });
  module.def("zipline", &choose_matrix);
  module.def("zipline", &choose_rows);
  module.def("event_text", [](const std::string& kind, const PushTuple& push, double now) {
    return to_string(event_of(kind, push, now));
  });
  module.def("decision_text",
             [](DecisionTuple decision) { return to_string(from_python(std::move(decision))); });
  module.def("check_contract", [](nb::callable make, std::uint64_t seed, std::size_t events) {
    const Status kept = sync::check_contract([&] { return adopt(make(), false); }, seed, events);
    if (!kept) raise_contract(kept.error());
  });
}

}  // namespace paceline::python
