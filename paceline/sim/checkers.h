#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "paceline/optim/closed_loop.h"
#include "paceline/optim/optimizer.h"
#include "paceline/roles/decision_json.h"
#include "paceline/roles/gradient_source.h"
#include "paceline/roles/io.h"
#include "paceline/roles/server.h"
#include "paceline/sim/scenario.h"

// What a run promises (design.md, section 3), recomputed from what can be seen of it: messages,
// decisions, parameters. A checker shares no code with what it checks. Each gives the empty text,
// or what is broken.
namespace paceline::sim {

// Promise 1: who may go on, and what is applied, by the policy's definition.
class SyncChecker {
 public:
  explicit SyncChecker(const std::string& spec);
  std::string check(const roles::DecisionLine& line);

 private:
  struct Worker {
    Step clock = 0;
    bool released = false;
    std::uint64_t pushes = 0;  // in this superstep
    std::uint64_t quota = 0;   // 0: none
    bool waiting = false;
    std::optional<PushId> last;
  };
  struct Expected;

  std::string check_event(const roles::DecisionLine& line);
  std::string check_barrier(const sync::Decision& decision);
  std::string check_bsp(const roles::DecisionLine& line);
  std::string check_elastic(const roles::DecisionLine& line);
  std::string check_gap(const roles::DecisionLine& line);
  std::string read_quotas(const std::string& reason);
  Step min_clock() const;

  std::string name_;
  Step low_ = 0;
  Step high_ = 0;
  bool is_bounded_ = false;
  std::map<WorkerId, Worker> workers_;  // those that are in
  std::map<WorkerId, PushId> newest_;
  std::set<PushId> buffer_;
  bool planned_ = false;
};

// Promises 2, 4 and 6: an oracle that carries out the coordinator's decisions with its own
// arithmetic, and knows of each batch where it is.
class UpdateChecker {
 public:
  UpdateChecker(const Scenario& scenario, roles::GradientSource& source);

  std::string decide(const wire::Decide& decide);
  std::string released(WorkerId worker, const wire::Release& release);
  std::string computes(WorkerId worker, const roles::Compute& compute, bool may_be_torn);
  std::string pushed(std::uint32_t server, const PushId& push, const Payload& payload,
                     const roles::Compute& computed);
  void arrived(std::uint32_t server, const PushId& push);
  std::string complete(const PushId& push) const;  // is it, as the policy was told?
  std::string served(std::uint32_t server, const wire::Parameters& head, const Payload& payload);
  std::string stepped(const roles::Server& server, std::uint32_t index);
  std::string at_end(const roles::RunStats& stats, const std::vector<float>& parameters) const;

  const std::set<PushId>& dropped() const { return dropped_; }
  std::uint64_t number() const { return decides_.size(); }

 private:
  struct Lease {
    wire::Release release;
    std::vector<Payload> gradient;  // [servers] as pushed
    std::vector<bool> arrived;      // [servers]
    bool is_applied = false;
    bool is_dropped = false;
  };
  struct Moment {  // after a decision
    Version version = 0;
    std::vector<float> parameters;
  };

  std::string apply(const wire::Update& update);
  void move(const std::vector<float>& mean, const wire::Update& update);
  void move_shard(std::uint32_t server, const std::vector<float>& mean, const wire::Update& update);
  std::string check_rule(const wire::Update& update) const;
  bool is_rule_for(const wire::Update& update, double base, double workers) const;
  std::span<const float> shard_of(const std::vector<float>& parameters, std::uint32_t server) const;
  std::string check_stream() const;

  const Scenario& scenario_;
  std::vector<std::uint64_t> cuts_;  // [servers + 1]: first float of each shard
  std::vector<float> parameters_;
  std::vector<float> velocity_;
  std::unique_ptr<optim::Optimizer> adam_;
  std::vector<optim::ClosedLoop> loops_;  // [servers], if momentum is steered
  Version version_ = 0;
  std::uint64_t samples_ = 0;
  std::vector<std::uint64_t> pushes_at_ = {0};  // [versions] pushes applied up to there
  std::vector<double> staleness_;               // [pushes applied], in updates
  std::vector<double> behind_;                  // the same, in pushes
  std::map<Version, std::vector<float>> versions_;
  std::vector<Moment> moments_;  // by decision number, from 0
  std::vector<wire::Decide> decides_;
  std::map<PushId, Lease> leases_;
  std::map<std::uint64_t, PushId> holder_;  // batch -> who has it
  std::set<std::uint64_t> applied_;         // batches
  std::map<std::uint64_t, std::vector<std::uint64_t>> samples_of_;
  std::set<PushId> dropped_;
  std::vector<std::uint64_t> decided_;  // [servers]: as seen last
};

}  // namespace paceline::sim
