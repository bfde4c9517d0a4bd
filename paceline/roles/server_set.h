#pragma once

#include <cstdint>
#include <vector>

namespace paceline::roles {

// Which of a run's servers; up to 64 of them without memory of its own.
class ServerSet {
 public:
  explicit ServerSet(std::size_t servers)
      : missing_(servers), more_(servers > kFirst ? servers - kFirst : 0) {}

  // index: below the number of servers.
  void insert(std::uint32_t index) {
    if (index >= kFirst) {
      missing_ -= more_[index - kFirst] ? 0 : 1;
      more_[index - kFirst] = true;
    } else {
      const std::uint64_t bit = std::uint64_t{1} << index;
      missing_ -= (first_ & bit) != 0 ? 0 : 1;
      first_ |= bit;
    }
  }
  bool has_all() const { return missing_ == 0; }

 private:
  static constexpr std::size_t kFirst = 64;
  std::size_t missing_;
  std::uint64_t first_ = 0;
  std::vector<bool> more_;
};

}  // namespace paceline::roles
