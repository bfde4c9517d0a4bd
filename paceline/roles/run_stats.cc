#include "paceline/roles/run_stats.h"

namespace paceline::roles {

std::uint64_t quantile(const std::map<std::uint64_t, std::uint64_t>& histogram, double share) {
  std::uint64_t total = 0;
  for (const auto& [value, count] : histogram) total += count;
  std::uint64_t seen = 0;
  for (const auto& [value, count] : histogram) {
    seen += count;
    if (static_cast<double>(seen) >= share * static_cast<double>(total)) return value;
  }
  return 0;
}

}  // namespace paceline::roles
