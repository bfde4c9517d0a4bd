#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>

namespace paceline::roles {

// Which batch of the stream is where (promise 6). Each is free, leased to one push, or applied.
//
// Invariants:
//   (1) a batch is applied at most once, and only while it is leased;
//   (2) batches that came back are given out before new ones, the lowest first;
//   (3) free + leased + applied = batches.
class Ledger {
 public:
  explicit Ledger(std::uint64_t batches) : batches_(batches) {}

  // The next batch to compute; none while all are leased or applied.
  std::optional<std::uint64_t> lease();
  bool has_free() const { return !returned_.empty() || next_ < batches_; }
  // The push that had it will never be applied: another may.
  void give_back(std::uint64_t batch);
  void applied(std::uint64_t batch);

  std::uint64_t applied_count() const { return applied_; }
  std::uint64_t leased_count() const { return leased_count_; }
  // Leases that were lost, and their batches given out again.
  std::uint64_t returned_count() const { return returned_total_; }
  bool all_applied() const { return applied_ == batches_; }

 private:
  void take(std::uint64_t batch);
  bool end_lease(std::uint64_t batch);  // false: there is none

  std::uint64_t batches_;
  std::uint64_t next_ = 0;
  std::uint64_t applied_ = 0;
  std::uint64_t returned_total_ = 0;
  // A bit a batch, in words, from the word of the least leased one on: leases end about in the
  // order in which they were given.
  std::deque<std::uint64_t> leased_;
  std::uint64_t first_word_ = 0;
  std::uint64_t leased_count_ = 0;
  std::set<std::uint64_t> returned_;
};

}  // namespace paceline::roles
