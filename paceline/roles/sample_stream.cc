#include "paceline/roles/sample_stream.h"

#include <algorithm>
#include <numeric>

#include "paceline/base/check.h"

namespace paceline::roles {

SampleStream::SampleStream(std::uint64_t seed, std::uint64_t dataset_size, std::uint64_t batch_size,
                           std::uint64_t samples)
    : rng_(seed), dataset_size_(dataset_size), batch_size_(batch_size), samples_(samples) {
  PACELINE_CHECK(dataset_size >= 1 && batch_size >= 1, "a stream of something");
}

std::uint64_t SampleStream::size_of(std::uint64_t batch) const {
  PACELINE_CHECK(batch < batches(), "a batch of this stream");
  return std::min(batch_size_, samples_ - batch * batch_size_);
}

std::vector<std::uint64_t> SampleStream::samples_of(std::uint64_t batch) {
  std::vector<std::uint64_t> samples(size_of(batch));
  std::uint64_t position = batch * batch_size_;
  for (std::uint64_t& sample : samples) {
    sample = order_of(position / dataset_size_)[position % dataset_size_];
    ++position;
  }
  return samples;
}

const std::vector<std::uint64_t>& SampleStream::order_of(std::uint64_t epoch) {
  Epoch& slot = epochs_[epoch % epochs_.size()];
  if (slot.order.empty() || slot.number != epoch) {
    slot.number = epoch;
    slot.order.resize(dataset_size_);
    std::iota(slot.order.begin(), slot.order.end(), std::uint64_t{0});
    Rng rng = rng_.stream("samples", epoch);
    rng.shuffle(std::span(slot.order));
  }
  return slot.order;
}

}  // namespace paceline::roles
