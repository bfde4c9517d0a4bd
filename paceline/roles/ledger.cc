#include "paceline/roles/ledger.h"

#include "paceline/base/check.h"

namespace paceline::roles {

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
  leased_.insert(batch);
  return batch;
}

void Ledger::give_back(std::uint64_t batch) {
  PACELINE_CHECK(leased_.erase(batch) == 1, "only a leased batch is given back");
  returned_.insert(batch);
  ++returned_total_;
}

void Ledger::applied(std::uint64_t batch) {
  PACELINE_CHECK(leased_.erase(batch) == 1, "only a leased batch is applied, and once");
  ++applied_;
}

}  // namespace paceline::roles
