#include "paceline/sim/testing.h"

namespace paceline::sim {
namespace {

// The first seeds of paceline-swarm; CI runs a thousand.
TEST(Swarm, KeepsEveryPromise) {
  std::uint64_t good = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const SimResult result = run(draw_scenario(seed));
    EXPECT_EQ(result.failure, "") << "again: paceline-swarm --seed " << seed << " --verbose";
    if (result.exit_code == 0) ++good;
  }
  EXPECT_GT(good, 120U) << "most scenarios are such that the run can end well";
}

TEST(Swarm, ASeedGivesTheSameRunTwice) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    EXPECT_EQ(run(draw_scenario(seed)), run(draw_scenario(seed))) << "seed " << seed;
  }
}

}  // namespace
}  // namespace paceline::sim
