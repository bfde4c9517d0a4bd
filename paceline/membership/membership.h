#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "paceline/base/ids.h"
#include "paceline/base/time.h"

namespace paceline::membership {

// Who is in the run. A worker's place keeps its id; each of its lives has an incarnation of its
// own, so that what an earlier life sent is recognised.
//
// Invariants:
//   (1) incarnations are handed out in rising order, each once, over all workers;
//   (2) the generation grows with each admission and each leave, and never otherwise;
//   (3) a process whose place another one took never gets it back: two processes started for one
//       place do not take turns.
class Membership {
 public:
  enum class Verdict : std::uint8_t {
    Admitted,  // a new life
    Repeated,  // the request of the life that is in, again
    Stale,     // an earlier request of the process that is in, late
    Replaced,  // that process lost its place to another one
  };
  struct Admission {
    Verdict verdict = Verdict::Stale;
    Incarnation incarnation = 0;  // of the life that is in; 0 if Stale or Replaced
  };

  // worker: below the number of workers of the run; there is a place for each up to the highest.
  // life: drawn by the process when it started; attempt: grows with each of its requests to come
  // in. A member that is still in is taken to have left if the request is a new one.
  Admission admit(WorkerId worker, std::uint64_t life, std::uint64_t attempt, Time now);

  // False if it was not in.
  bool leave(WorkerId worker);

  bool is_in(WorkerId worker) const { return incarnation(worker) != 0; }
  // The life that is in; 0: none.
  Incarnation incarnation(WorkerId worker) const;
  bool is_current(WorkerId worker, Incarnation incarnation) const {
    return incarnation != 0 && this->incarnation(worker) == incarnation;
  }

  std::vector<WorkerId> members() const;  // by id
  std::size_t count() const { return count_; }
  Generation generation() const { return generation_; }

  void heard(WorkerId worker, Time now);
  // Members that were not heard of for longer than `limit`, by id.
  std::vector<WorkerId> silent(Time now, Duration limit) const;
  // When the member was heard of that was so least recently; `now` if nobody is in.
  Time oldest_heard(Time now) const;

 private:
  struct Place {
    Incarnation incarnation = 0;  // 0: nobody is in
    std::uint64_t life = 0;
    std::uint64_t attempt = 0;
    Time heard{};
    std::vector<std::uint64_t> replaced;  // lives that lost this place; the last kReplacedKept
  };
  static constexpr std::size_t kReplacedKept = 16;

  const Place* find(WorkerId worker) const {
    return worker.value < places_.size() ? &places_[worker.value] : nullptr;
  }

  std::vector<Place> places_;  // [workers], as far as one has asked
  std::size_t count_ = 0;      // members
  Incarnation last_incarnation_ = 0;
  Generation generation_ = 0;
};

}  // namespace paceline::membership
