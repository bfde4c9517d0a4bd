#include "paceline/roles/ledger.h"

#include "paceline/base/check.h"

namespace paceline::roles {
namespace {

constexpr std::uint64_t kBits = 64;  // of a word

}  // namespace

void Ledger::take(std::uint64_t batch) {
  const std::uint64_t word = batch / kBits;
  if (leased_.empty()) first_word_ = word;
  for (; word < first_word_; --first_word_) leased_.push_front(0);
  while (word - first_word_ >= leased_.size()) leased_.push_back(0);
  leased_[word - first_word_] |= std::uint64_t{1} << batch % kBits;
  ++leased_count_;
}

bool Ledger::end_lease(std::uint64_t batch) {
  const std::uint64_t word = batch / kBits;
  if (word < first_word_ || word - first_word_ >= leased_.size()) return false;
  const std::uint64_t bit = std::uint64_t{1} << batch % kBits;
  std::uint64_t& bits = leased_[word - first_word_];
  if ((bits & bit) == 0) return false;
  bits &= ~bit;
  --leased_count_;
  for (; !leased_.empty() && leased_.front() == 0; ++first_word_) leased_.pop_front();
  return true;
}

std::optional<std::uint64_t> Ledger::lease() {
  std::uint64_t batch = 0;
  if (!returned_.empty()) {
    batch = *returned_.begin();
    returned_.erase(returned_.begin());
  } else if (next_ < batches_) {
    batch = next_++;
  } else {
    return std::nullopt;
  }
  take(batch);
  return batch;
}

void Ledger::give_back(std::uint64_t batch) {
  PACELINE_CHECK(end_lease(batch), "only a leased batch is given back");
  returned_.insert(batch);
  ++returned_total_;
}

void Ledger::applied(std::uint64_t batch) {
  PACELINE_CHECK(end_lease(batch), "only a leased batch is applied, and once");
  ++applied_;
}

}  // namespace paceline::roles
