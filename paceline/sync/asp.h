#pragma once

#include <string>

#include "paceline/sync/policy_base.h"

namespace paceline::sync {

// Asynchronous Parallel: each push is applied at once and its worker goes on at once.
//
// Source: Dean et al., "Large Scale Distributed Deep Networks" (Downpour SGD), NIPS 2012.
//
// Invariant: (1) no worker ever waits; nothing bounds how far apart two workers are.
// Cost: O(log n) an event.
class ASP final : public PolicyBase {
 public:
  std::string spec() const override { return "asp"; }

 private:
  Decision joined(WorkerId worker, Time now) override;
  Decision pushed(const PushId& push, Time now) override;
  Decision left(WorkerId worker, Time now) override;
};

}  // namespace paceline::sync
