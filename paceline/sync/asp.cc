#include "paceline/sync/asp.h"

#include "paceline/base/text.h"

namespace paceline::sync {

Decision ASP::joined(WorkerId worker, Time) {
  return {.release = {worker}, .reason = cat("worker ", worker, " joins")};
}

Decision ASP::pushed(const PushId& push, Time) {
  return {.apply = {{{push}}},
          .release = {push.worker},
          .reason = cat("worker ", push.worker, " goes on: asp never waits")};
}

Decision ASP::left(WorkerId worker, Time) { return {.reason = cat("worker ", worker, " left")}; }

}  // namespace paceline::sync
