#pragma once

#include <optional>

#include "paceline/base/result.h"
#include "paceline/base/worker_table.h"
#include "paceline/sync/policy.h"

namespace paceline::sync {

// What all policies have in common: which events make sense. A policy derives from it and sees only
// those, so it holds its own rule and nothing else.
//
// Invariants, in every policy:
//   (1) an event that makes no sense gives an empty decision and changes nothing;
//   (2) a worker is released only while it is in and has no release open; a push or a leave uses
//       the release up;
//   (3) no push reaches a policy twice: each is newer (incarnation, then step) than all before it
//       of the same worker, over all its lives;
//   (4) releases come out by worker id;
//   (5) time handed on does not go back and stays in [0, kLatest], whatever the events say, so that
//       a policy may add a prediction to it.
// Memory: one entry a worker id ever seen.
class PolicyBase : public SyncPolicy {
 public:
  struct Answer {
    Decision decision;
    Status kept;  // Error: the policy said no why, or broke (2). Nothing may be asked after one
  };

  // Aborts where try_step() has an error: a live run must not go on with a broken policy.
  Decision step(const Event& event) final;
  // For policies under test, and those written in a language that has exceptions.
  Answer try_step(const Event& event);

 protected:
  // `now` is checked; the worker was not in, has an open release, was in. Each must give a reason.
  virtual Decision joined(WorkerId worker, Time now) = 0;
  virtual Decision pushed(const PushId& push, Time now) = 0;
  virtual Decision left(WorkerId worker, Time now) = 0;

 private:
  struct Member {
    bool in = false;
    bool released = false;
    bool has_pushed = false;
    PushId last;  // the newest push, if has_pushed
  };

  // Nothing if the event makes no sense.
  std::optional<Decision> accept(const Joined& event, Time now);
  std::optional<Decision> accept(const Pushed& event, Time now);
  std::optional<Decision> accept(const Left& event, Time now);
  Status open_releases(const Decision& decision);

  Time now_{};
  WorkerTable<Member> members_;
};

}  // namespace paceline::sync
