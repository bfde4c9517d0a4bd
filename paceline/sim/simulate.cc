#include "paceline/sim/simulate.h"

#include "paceline/sim/bowl.h"
#include "paceline/sim/cluster.h"

namespace paceline::sim {

SimResult run(const Scenario& scenario, const SimOptions& options) {
  Bowl bowl(scenario.parameter_count);
  Cluster cluster(scenario, options, options.source != nullptr ? *options.source : bowl);
  return cluster.run();
}

}  // namespace paceline::sim
