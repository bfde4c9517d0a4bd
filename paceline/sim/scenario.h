#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "paceline/base/ids.h"
#include "paceline/base/time.h"
#include "paceline/roles/coordinator.h"
#include "paceline/sim/speed.h"

namespace paceline::sim {

// `of` times in `in`. Chance is integers only, so that a seed means the same run everywhere.
struct Ratio {
  std::uint64_t of = 0;
  std::uint64_t in = 1;
};

struct NetworkOptions {
  Duration latency = std::chrono::microseconds(200);  // one way
  Duration jitter{};                                  // uniformly up to that much more
  std::uint64_t bytes_per_second = 0;                 // of each direction of a link; 0: no bound
  // Of single messages. A live link (TCP) does none of this while it is up, but what it loses when
  // it breaks looks the same; the roles are to survive all of it.
  Ratio loss;
  Ratio duplication;
  Ratio reordering;  // overtaken by later ones for up to `reordering_delay`
  Duration reordering_delay = std::chrono::milliseconds(50);
};

// A worker's links, whoever is at the other end, where they are not as NetworkOptions say.
struct LinkOptions {
  Duration latency{};                  // one way
  std::uint64_t bytes_per_second = 0;  // of each direction; 0: no bound
};

// For a time nothing gets from `from` to `to`: it waits, and if it waits for roles::kLinkTimeout,
// the link breaks.
struct Cut {
  NodeId from;
  NodeId to;
  bool both_ways = true;
  Time begin{};
  Time end{};
};

struct Fault {
  enum class Kind : std::uint8_t {
    Kill,       // as kill -9
    Pause,      // as SIGSTOP, for `length`: links stay up, nothing is done
    BreakLink,  // to `peer`, once; whoever made it tries again at once
    Twin,       // a second process is started for the same place
    Stop,       // asked to stop, as by Ctrl+C; a worker says goodbye
  };
  Kind kind = Kind::Kill;
  NodeId node;
  // When: in the middle of this worker's `step`th gradient, counted from 0 over all its lives. Or
  // else at that time.
  std::optional<Step> step;
  Time at{};
  std::optional<Duration> restart_after;  // Kill, Stop: it is started again
  Duration length{};                      // Pause
  NodeId peer;                            // BreakLink
};

// The nth message of that type (wire::type_of), counted from 0, is lost on its way.
struct Lose {
  std::uint32_t type = 0;
  std::uint64_t nth = 0;
};

// All that a simulated run depends on.
struct Scenario {
  std::uint64_t seed = 1;  // of the network's and the workers' chance
  std::string policy = "bsp";
  roles::CoordinatorOptions run;
  std::uint64_t parameter_count = 24;
  std::uint64_t dataset_size = 1000;

  std::vector<Speed> speeds;  // [workers]; the last counts for all further ones
  Duration step_floor{};
  Duration evaluation = std::chrono::milliseconds(100);
  Duration retry = std::chrono::seconds(1);
  Duration give_up = std::chrono::seconds(30);
  Duration start_within{};  // processes start at random times up to that
  // [workers], or shorter: when a worker starts. Training does not wait for those who come later
  // than the first ones, unless run.start_workers says how many it waits for.
  std::vector<Duration> start_at;

  NetworkOptions network;
  std::vector<std::optional<LinkOptions>> links;  // [workers], or shorter; null: as `network`
  Duration service_time{};                        // a server's, for a push, one after the other
  // Times its size counts each payload, on the wire and in the stats: as if the model were larger.
  double payload_scale = 1;
  std::vector<Cut> cuts;
  std::vector<Fault> faults;
  std::vector<Lose> losses;
  Time calm_from = std::chrono::hours(24);  // no loss, duplication or reordering from here on
  bool launcher = true;                     // that tells the coordinator when a process dies

  // The faults may be such that no run survives them. Otherwise one that ends with a code other
  // than 0 breaks promise 5.
  bool may_fail = false;
  Time limit = std::chrono::hours(24);
  std::optional<Time> stop_at;  // since the first release: the run is cut there

  // The same workers from begin to end: what is trained depends on the seed alone under bsp
  // (promise 4).
  bool is_calm() const { return faults.empty() && cuts.empty() && start_at.empty(); }
};

// The run of a configuration without faults, so that simulated and live can be compared.
Scenario scenario_of(const roles::CoordinatorOptions& options, std::string policy,
                     std::uint64_t parameter_count, std::uint64_t dataset_size);

// Everything from a seed: sizes, policy, speeds, network, faults, timeouts; which faults are on at
// all is drawn too (swarm testing).
Scenario draw_scenario(std::uint64_t seed);

std::string describe(const Scenario& scenario);

}  // namespace paceline::sim
