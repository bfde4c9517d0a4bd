#include <algorithm>

#include "paceline/base/text.h"
#include "paceline/sim/checkers.h"

namespace paceline::sim {

SyncChecker::SyncChecker(const std::string& spec) : name_(spec.substr(0, spec.find(':'))) {
  if (name_ != "ssp" && name_ != "dssp" && name_ != "dssp_literal") return;
  const std::string bounds = spec.substr(spec.find(':') + 1);
  const auto parts = split(bounds, '-');
  low_ = parse_uint(parts.front()).value_or(0);
  high_ = parse_uint(parts.back()).value_or(0);
  is_bounded_ = name_ != "dssp_literal";
}

std::string SyncChecker::check(const roles::DecisionLine& line) {
  std::string wrong = check_event(line);
  if (wrong.empty() && name_ == "bsp") wrong = check_bsp(line);
  if (wrong.empty() && name_ == "elastic_bsp") wrong = check_elastic(line);
  if (wrong.empty() && name_ != "bsp" && name_ != "elastic_bsp") wrong = check_gap(line);
  if (!wrong.empty()) return cat("promise 1 (sync, ", name_, "): ", wrong);
  for (const WorkerId id : line.decision.release) {
    const auto worker = workers_.find(id);
    if (worker == workers_.end()) {
      return cat("promise 1: worker ", id, " is released and is not in");
    }
    if (worker->second.released) return cat("promise 1: worker ", id, " is released twice");
    worker->second.released = true;
  }
  return {};
}

std::string SyncChecker::check_event(const roles::DecisionLine& line) {
  if (const auto* joined = std::get_if<sync::Joined>(&line.event.what)) {
    if (workers_.contains(joined->worker)) return cat("worker ", joined->worker, " joins twice");
    const Step clock = workers_.empty() ? 0 : min_clock();
    workers_[joined->worker].clock = clock;
    if (std::ranges::find(line.decision.release, joined->worker) == line.decision.release.end()) {
      return cat("worker ", joined->worker, " joins and is not released");
    }
  } else if (const auto* left = std::get_if<sync::Left>(&line.event.what)) {
    if (workers_.erase(left->worker) == 0) return cat("worker ", left->worker, " leaves twice");
  } else {
    const PushId push = std::get<sync::Pushed>(line.event.what).push;
    const auto worker = workers_.find(push.worker);
    if (worker == workers_.end()) return cat("a push of one that is not in: ", to_string(push));
    if (!worker->second.released) return cat("a push that nobody released: ", to_string(push));
    const auto [newest, is_first] = newest_.try_emplace(push.worker, push);
    if (!is_first && push <= newest->second) return cat("an old push: ", to_string(push));
    newest->second = push;
    worker->second.released = false;
    worker->second.last = push;
    ++worker->second.clock;
    ++worker->second.pushes;
  }
  return {};
}

Step SyncChecker::min_clock() const {
  return std::ranges::min_element(workers_, {}, [](const auto& w) { return w.second.clock; })
      ->second.clock;
}

// The waiting pushes become one update, in rank order, and everybody goes on: now, or not at all.
std::string SyncChecker::check_barrier(const sync::Decision& decision) {
  const bool is_due = !buffer_.empty() && std::ranges::all_of(workers_, [](const auto& worker) {
    return worker.second.waiting;
  });
  const std::vector<PushId> together(buffer_.begin(), buffer_.end());
  const bool is_made = !decision.apply.empty() && decision.apply.back().pushes == together;
  if (is_due != (is_made && !buffer_.empty())) {
    return cat("a barrier is ", is_due ? "" : "not ", "due with ", buffer_.size(),
               " pushes waiting: ", decision.reason);
  }
  if (!is_due) return {};
  if (decision.release.size() != workers_.size()) return "a barrier does not release everybody";
  for (auto& [id, worker] : workers_) {
    if (std::ranges::count(together, id, &PushId::worker) == 0) {
      return cat("the barrier is made without a push of worker ", id);
    }
    worker.pushes = worker.quota = 0;
    worker.waiting = false;
  }
  buffer_.clear();
  planned_ = false;
  return {};
}

std::string SyncChecker::check_bsp(const roles::DecisionLine& line) {
  if (const auto* pushed = std::get_if<sync::Pushed>(&line.event.what)) {
    buffer_.insert(pushed->push);
    workers_.at(pushed->push.worker).waiting = true;
  }
  if (line.decision.apply.size() > 1) return "more than one update at once";
  const bool is_join = std::holds_alternative<sync::Joined>(line.event.what);
  if (is_join && line.decision.release.size() != 1) return "a join releases others";
  std::string wrong = check_barrier(line.decision);
  if (wrong.empty() && !is_join && !buffer_.empty() && !line.decision.release.empty()) {
    wrong = "somebody goes on before the barrier";
  }
  if (wrong.empty() && !buffer_.empty() && !line.decision.apply.empty()) {
    wrong = "something is applied before the barrier";
  }
  return wrong;
}

std::string SyncChecker::check_elastic(const roles::DecisionLine& line) {
  const sync::Decision& decision = line.decision;
  if (const auto* pushed = std::get_if<sync::Pushed>(&line.event.what)) {
    Worker& worker = workers_.at(pushed->push.worker);
    const bool is_alone = !decision.apply.empty() &&
                          decision.apply.front().pushes == std::vector{pushed->push} &&
                          !(planned_ && worker.quota == worker.pushes);
    const bool others_wait = std::ranges::all_of(
        workers_, [](const auto& w) { return w.second.quota == 0 || w.second.waiting; });
    const bool is_last =
        planned_ && (worker.quota > 0 ? worker.pushes >= worker.quota : others_wait);
    if (is_last) {
      buffer_.insert(pushed->push);
      worker.waiting = true;
    } else if (!is_alone) {
      return cat(to_string(pushed->push), " is not applied when it comes, and is not the last");
    }
  }
  const bool all_monitored = !workers_.empty() && std::ranges::all_of(workers_, [](const auto& w) {
    return w.second.pushes >= 2;
  });
  const bool has_plan = decision.reason.find("pushes to make:") != std::string::npos;
  if (!planned_ && has_plan != all_monitored)
    return cat("a plan too early or late: ", decision.reason);
  if (planned_ && has_plan) return "a plan in the middle of a superstep";
  if (has_plan) {
    planned_ = true;
    if (std::string wrong = read_quotas(decision.reason); !wrong.empty()) return wrong;
  }
  const std::string wrong = check_barrier(decision);
  if (workers_.empty()) planned_ = false;
  return wrong;
}

std::string SyncChecker::read_quotas(const std::string& reason) {
  std::size_t at = reason.find("pushes to make:");
  for (auto& [id, worker] : workers_) {
    const std::string name = cat(" worker ", id, " ");
    const std::size_t begin = reason.find(name, at);
    if (begin == std::string::npos) return cat("no quota for worker ", id);
    const std::size_t digits = begin + name.size();
    const std::size_t end = reason.find_first_not_of("0123456789", digits);
    const auto quota = parse_uint(std::string_view(reason).substr(
        digits, (end == std::string::npos ? reason.size() : end) - digits));
    if (!quota || *quota == 0) return cat("the quota of worker ", id, " is none");
    worker.quota = worker.pushes + *quota;
  }
  return {};
}

// asp, ssp, dssp: each push is an update of its own, and what counts is the gap to the slowest.
std::string SyncChecker::check_gap(const roles::DecisionLine& line) {
  const sync::Decision& decision = line.decision;
  const auto* pushed = std::get_if<sync::Pushed>(&line.event.what);
  if (pushed == nullptr && !decision.apply.empty()) return "an update without a push";
  if (pushed != nullptr &&
      (decision.apply.size() != 1 || decision.apply.front().pushes != std::vector{pushed->push})) {
    return cat(to_string(pushed->push), " is not applied alone and at once");
  }
  const auto goes_on = [&](WorkerId id) {
    return std::ranges::find(decision.release, id) != decision.release.end();
  };
  for (const auto& [id, worker] : workers_) {
    const Step gap = worker.clock - min_clock();
    if (is_bounded_ && gap > high_ + 1) return cat("worker ", id, " is ", gap, " steps ahead");
    if (worker.released) continue;
    if (is_bounded_ && gap > high_ && goes_on(id)) {
      return cat("worker ", id, " goes on ", gap, " steps ahead");
    }
    const bool must_go_on = name_ == "asp" || gap <= low_;
    if (must_go_on && !goes_on(id)) return cat("worker ", id, " is held ", gap, " steps ahead");
    const bool must_wait = name_ == "ssp" && gap > low_;
    if (must_wait && goes_on(id)) return cat("worker ", id, " goes on ", gap, " steps ahead");
  }
  return {};
}

}  // namespace paceline::sim
