#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "paceline/base/random.h"

namespace paceline::roles {

// The one stream of samples of a run: epoch after epoch, each a shuffle of the training set drawn
// from (seed, epoch), cut into batches. Cost: O(dataset) when a batch needs an epoch that is not
// among the last two used.
class SampleStream {
 public:
  // dataset_size, batch_size: >= 1. samples: where the stream ends; the last batch may be short.
  SampleStream(std::uint64_t seed, std::uint64_t dataset_size, std::uint64_t batch_size,
               std::uint64_t samples);

  std::uint64_t batches() const { return (samples_ + batch_size_ - 1) / batch_size_; }
  // Samples in that batch. batch: < batches().
  std::uint64_t size_of(std::uint64_t batch) const;
  // Indices into the training set.
  std::vector<std::uint64_t> samples_of(std::uint64_t batch);

 private:
  struct Epoch {
    std::uint64_t number = 0;
    std::vector<std::uint64_t> order;  // empty: not drawn yet
  };
  const std::vector<std::uint64_t>& order_of(std::uint64_t epoch);

  Rng rng_;
  std::uint64_t dataset_size_;
  std::uint64_t batch_size_;
  std::uint64_t samples_;
  std::array<Epoch, 2> epochs_;  // by number modulo two
};

}  // namespace paceline::roles
