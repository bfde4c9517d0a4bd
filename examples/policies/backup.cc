#include "backup.h"

#include <utility>

#include "paceline/base/text.h"

namespace paceline::sync {

std::string Backup::spec() const { return cat("backup:", spare_); }

Decision Backup::joined(WorkerId worker, Time) {
  began_[worker] = superstep_;
  return {.release = {worker}, .reason = cat("worker ", worker, " joins superstep ", superstep_)};
}

Decision Backup::pushed(const PushId& push, Time) {
  const WorkerId worker = push.worker;
  if (began_[worker] < superstep_) {
    began_[worker] = superstep_;
    return {.drop = {push},
            .release = {worker},
            .reason = cat("worker ", worker, " comes after its barrier: dropped")};
  }
  waiting_.insert(worker);
  pushes_.insert(push);
  return close_if_due(cat("worker ", worker, " waits at the barrier of superstep ", superstep_));
}

Decision Backup::left(WorkerId worker, Time) {
  began_.erase(worker);
  waiting_.erase(worker);
  return close_if_due(cat("worker ", worker, " left"));
}

Decision Backup::close_if_due(std::string reason) {
  const bool is_due = !pushes_.empty() && waiting_.size() + spare_ >= began_.size();
  if (!is_due) return {.reason = std::move(reason)};
  Decision decision{.apply = {{{pushes_.begin(), pushes_.end()}}},
                    .release = {waiting_.begin(), waiting_.end()},
                    .reason = cat("barrier of superstep ", superstep_, ": ", pushes_.size(),
                                  " pushes, ", began_.size() - waiting_.size(), " not waited for")};
  ++superstep_;
  for (const WorkerId worker : waiting_) began_[worker] = superstep_;
  waiting_.clear();
  pushes_.clear();
  return decision;
}

}  // namespace paceline::sync
