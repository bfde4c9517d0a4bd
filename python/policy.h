#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include <nanobind/nanobind.h>

#include "paceline/sync/contract.h"
#include "paceline/sync/policy_base.h"

namespace paceline::python {

// A rule written in Python: an object with `spec` and paceline/sync.py's `_joined`, `_pushed` and
// `_left`, which give a decision as a tuple. What they raise is thrown as nanobind::python_error,
// with a note of the events that led to it. The interpreter's lock must be held.
class PythonRule final : public sync::PolicyBase {
 public:
  explicit PythonRule(nanobind::object rule) : rule_(std::move(rule)) {}
  std::string spec() const override;

 private:
  sync::Decision joined(WorkerId worker, Time now) override;
  sync::Decision pushed(const PushId& push, Time now) override;
  sync::Decision left(WorkerId worker, Time now) override;

  template <typename... Arguments>
  sync::Decision ask(const sync::Event& event, const char* method, Arguments... arguments);
  std::string told() const;

  nanobind::object rule_;
  std::deque<sync::Event> events_;  // the last kRemembered
};

// The same, but what breaks the contract is thrown as paceline.ContractError instead of ending the
// process.
class WatchedRule final : public sync::SyncPolicy {
 public:
  explicit WatchedRule(nanobind::object rule) : rule_(std::move(rule)) {}
  std::string spec() const override { return rule_.spec(); }
  sync::Decision step(const sync::Event& event) override;

 private:
  PythonRule rule_;
  sync::ContractWatch watch_;
};

// made: what paceline/sync.py's factories give: a spelling of the registry, or a rule.
// watched: for callers that do not check the contract themselves.
std::unique_ptr<sync::SyncPolicy> adopt(nanobind::object made, bool watched);

}  // namespace paceline::python
