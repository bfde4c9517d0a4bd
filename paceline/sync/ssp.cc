#include "paceline/sync/ssp.h"

#include "paceline/base/text.h"

namespace paceline::sync {

std::string SSP::spec() const { return cat("ssp:", staleness_); }

Decision SSP::joined(WorkerId worker, Time) {
  const Step clock = clocks_.join(worker);
  return {.release = {worker},
          .reason = cat("worker ", worker, " joins at clock ", clock, ", the slowest")};
}

Decision SSP::pushed(const PushId& push, Time) {
  const WorkerId worker = push.worker;
  const Step clock = clocks_.advance(worker);
  held_.insert(worker, clock);
  Decision decision{.apply = {{{push}}}};
  release_held(decision);
  decision.reason = cat("worker ", worker, held_.contains(worker, clock) ? " waits" : " goes on",
                        ": clock ", clock, " is ", clocks_.gap(worker), " ahead of worker ",
                        clocks_.slowest(), ", bound ", staleness_);
  return decision;
}

Decision SSP::left(WorkerId worker, Time) {
  held_.erase(worker, clocks_.of(worker));
  clocks_.leave(worker);
  Decision decision;
  release_held(decision);
  decision.reason = cat("worker ", worker, " left and counts no more; ", decision.release.size(),
                        " workers go on for it");
  return decision;
}

void SSP::release_held(Decision& decision) {
  held_.let_go(clocks_, staleness_, [&](WorkerId worker) { decision.release.push_back(worker); });
}

}  // namespace paceline::sync
