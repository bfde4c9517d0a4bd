#include <algorithm>
#include <cmath>
#include <cstring>

#include "paceline/base/check.h"
#include "paceline/base/text.h"
#include "paceline/sim/checkers.h"

namespace paceline::sim {
namespace {

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

UpdateChecker::UpdateChecker(const Scenario& scenario, roles::GradientSource& source)
    : scenario_(scenario), parameters_(scenario.parameter_count) {
  const std::uint32_t servers = scenario.run.servers;
  for (std::uint32_t s = 0; s <= servers; ++s) {
    cuts_.push_back(scenario.parameter_count * s / servers);
  }
  source.initial_parameters(parameters_);
  velocity_.resize(parameters_.size());
  if (scenario.run.optimizer.name != "sgd") {
    adam_ = std::move(*optim::make_optimizer(scenario.run.optimizer, parameters_.size()));
  }
  if (scenario.run.momentum_scale == optim::MomentumScale::ClosedLoop && !adam_ &&
      scenario.run.optimizer.momentum > 0) {
    for (std::uint32_t s = 0; s < servers; ++s) {
      loops_.emplace_back(scenario.run.optimizer.momentum, scenario.run.optimizer.nesterov,
                          shard_of(parameters_, s));
    }
  }
  versions_[0] = parameters_;
  moments_.push_back({0, parameters_});
  decided_.resize(servers);
}

std::span<const float> UpdateChecker::shard_of(const std::vector<float>& parameters,
                                               std::uint32_t server) const {
  return std::span(parameters).subspan(cuts_[server], cuts_[server + 1] - cuts_[server]);
}

// ---- leases ----

std::string UpdateChecker::released(WorkerId worker, const wire::Release& release) {
  const PushId push{worker, release.incarnation, release.step};
  const auto [lease, is_new] = leases_.try_emplace(push);
  if (!is_new) {
    if (lease->second.release != release)
      return cat("promise 6: two releases as ", to_string(push));
    return {};
  }
  lease->second.release = release;
  lease->second.gradient.resize(scenario_.run.servers);
  lease->second.arrived.resize(scenario_.run.servers);
  if (release.version != version_) {
    return cat("promise 2: ", to_string(push), " is released from version ", release.version,
               ", the newest is ", version_);
  }
  if (scenario_.policy == "bsp" && scenario_.is_calm() &&
      release.batch != release.step * scenario_.run.workers + worker.value) {
    return cat("promise 4: ", to_string(push), " has batch ", release.batch,
               ", not that of its rank in the superstep");
  }
  if (applied_.contains(release.batch)) {
    return cat("promise 6: batch ", release.batch, " is applied and leased again");
  }
  const auto [holder, is_free] = holder_.try_emplace(release.batch, push);
  if (!is_free) {
    return cat("promise 6: batch ", release.batch, " is leased to ", to_string(push),
               " while it is with ", to_string(holder->second));
  }
  const auto [samples, is_first] = samples_of_.try_emplace(release.batch, release.samples);
  if (!is_first && samples->second != release.samples) {
    return cat("promise 6: batch ", release.batch, " has other samples than before");
  }
  return {};
}

std::string UpdateChecker::computes(WorkerId worker, const roles::Compute& compute,
                                    bool may_be_torn) {
  // The newest release of that worker and step is the only one that it may work on.
  const Lease* lease = nullptr;
  for (auto it = leases_.lower_bound(PushId{worker, 0, 0});
       it != leases_.end() && it->first.worker == worker; ++it) {
    if (it->first.step == compute.step) lease = &it->second;
  }
  if (lease == nullptr) {
    return cat("promise 1: worker ", worker, " computes step ", compute.step, " without a release");
  }
  for (std::uint32_t s = 0; s < scenario_.run.servers; ++s) {
    const auto values = floats(compute.parameters[s]);
    bool is_known = false;
    for (auto it = versions_.lower_bound(lease->release.version); it != versions_.end(); ++it) {
      is_known = is_known || same_bits(values, shard_of(it->second, s));
      if (!may_be_torn || is_known) break;
    }
    // A life that has ended may be computing for its older release: then the release is not its.
    if (!is_known && lease->release.samples == compute.samples) {
      return cat("promise 2: worker ", worker, " computes step ", compute.step,
                 " with parameters of shard ", s, " that are not of version ",
                 lease->release.version);
    }
  }
  return {};
}

std::string UpdateChecker::pushed(std::uint32_t server, const PushId& push, const Payload& payload,
                                  const roles::Compute& computed) {
  const auto found = leases_.find(push);
  if (found == leases_.end()) return cat("promise 1: a push without release: ", to_string(push));
  Lease& lease = found->second;
  if (computed.step != push.step || computed.samples != lease.release.samples) {
    return cat("promise 2: the gradient of ", to_string(push), " is of another batch");
  }
  if (!same_bits(floats(payload), floats(Payload(computed.gradient[server])))) {
    return cat("promise 2: the gradient of ", to_string(push), " is not what was computed");
  }
  Payload& kept = lease.gradient[server];
  if (kept && !same_bits(floats(kept), floats(payload))) {
    return cat("promise 2: two different gradients as ", to_string(push));
  }
  kept = payload;
  return {};
}

void UpdateChecker::arrived(std::uint32_t server, const PushId& push) {
  if (const auto lease = leases_.find(push); lease != leases_.end()) {
    lease->second.arrived[server] = true;
  }
}

std::string UpdateChecker::complete(const PushId& push) const {
  const auto lease = leases_.find(push);
  const bool is_complete =
      lease != leases_.end() && std::ranges::all_of(lease->second.arrived, std::identity{});
  if (is_complete) return {};
  return cat("promise 2: the policy is told of ", to_string(push), " before all servers hold it");
}

// ---- decisions ----

std::string UpdateChecker::decide(const wire::Decide& decide) {
  if (decide.number == 0 || decide.number > decides_.size() + 1) {
    return cat("promise 2: decision ", decide.number, " after ", decides_.size());
  }
  if (decide.number <= decides_.size()) {
    if (decides_[decide.number - 1] == decide) return {};
    return cat("promise 2: decision ", decide.number, " is not what it was");
  }
  decides_.push_back(decide);
  for (const wire::Update& update : decide.updates) {
    if (std::string wrong = apply(update); !wrong.empty()) return wrong;
  }
  for (const PushId& push : decide.drop) {
    Lease& lease = leases_[push];
    if (lease.is_applied) return cat("promise 2: dropped after it was applied: ", to_string(push));
    lease.is_dropped = true;
    dropped_.insert(push);
    holder_.erase(lease.release.batch);
  }
  moments_.push_back({version_, parameters_});
  return {};
}

std::string UpdateChecker::apply(const wire::Update& update) {
  if (!std::ranges::is_sorted(update.pushes)) return "promise 4: an update not in rank order";
  for (const PushId& push : update.pushes) {
    const auto lease = leases_.find(push);
    if (lease == leases_.end()) return cat("promise 2: applied unasked: ", to_string(push));
    const Version from = lease->second.release.version;
    staleness_.push_back(static_cast<double>(version_ - from));
    behind_.push_back(static_cast<double>(pushes_at_[version_] - pushes_at_[from]));
  }
  if (std::string wrong = check_rule(update); !wrong.empty()) return wrong;
  std::vector<float> sum;
  for (const PushId& push : update.pushes) {
    if (std::string wrong = complete(push); !wrong.empty()) return wrong;
    Lease& lease = leases_.at(push);
    if (lease.is_applied || lease.is_dropped) {
      return cat("promise 2: applied ", lease.is_dropped ? "after it was dropped" : "twice", ": ",
                 to_string(push));
    }
    lease.is_applied = true;
    applied_.insert(lease.release.batch);
    holder_.erase(lease.release.batch);
    samples_ += lease.release.samples.size();
    std::vector<float> gradient;
    for (const Payload& part : lease.gradient) {
      gradient.insert(gradient.end(), floats(part).begin(), floats(part).end());
    }
    if (sum.empty()) {
      sum = gradient;
    } else {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
    }
  }
  const auto count = static_cast<float>(update.pushes.size());
  if (update.pushes.size() > 1) {
    for (float& value : sum) value /= count;
  }
  move(sum, update);
  pushes_at_.push_back(pushes_at_.back() + update.pushes.size());
  versions_[++version_] = parameters_;
  return {};
}

void UpdateChecker::move(const std::vector<float>& mean, const wire::Update& update) {
  if (adam_) return adam_->step(parameters_, mean, update.lr);
  for (std::uint32_t s = 0; s < scenario_.run.servers; ++s) move_shard(s, mean, update);
}

void UpdateChecker::move_shard(std::uint32_t server, const std::vector<float>& mean,
                               const wire::Update& update) {
  const optim::OptimizerConfig& rule = scenario_.run.optimizer;
  const float lr = update.lr;
  const auto momentum = static_cast<float>(rule.momentum);
  const auto decay = static_cast<float>(rule.weight_decay);
  std::optional<wire::Momentum> scaled = update.momentum;
  if (!loops_.empty()) {
    if (const auto found = loops_[server].momentum()) {
      scaled = {found->carried, found->displaced, found->kept, found->entered};
    }
  }
  for (std::size_t i = cuts_[server]; i < cuts_[server + 1]; ++i) {
    const float d = mean[i] + decay * parameters_[i];
    if (scaled) {
      const float v = velocity_[i];
      velocity_[i] = scaled->kept * v + scaled->entered * d;
      parameters_[i] -= lr * (scaled->carried * v + scaled->displaced * d);
      continue;
    }
    velocity_[i] = momentum * velocity_[i] + d;
    parameters_[i] -= lr * (rule.nesterov ? d + momentum * velocity_[i] : velocity_[i]);
  }
  if (loops_.empty()) return;
  std::optional<Version> from;
  if (update.pushes.size() == 1) from = leases_.at(update.pushes.front()).release.version;
  loops_[server].note(shard_of(mean, server), from, lr, shard_of(parameters_, server));
}

namespace {

// Of the last hundred or so, from the first on.
double recent_mean(const std::vector<double>& values) {
  double mean = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    mean += (values[i] - mean) / static_cast<double>(std::min<std::size_t>(i + 1, 100));
  }
  return mean;
}

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b) + 1e-12; }

}  // namespace

// Not as optim/ computes it: two lone updates after each other, told by what each of them moves.
// A gradient g moves lr g / (1 - momentum) in all, whatever comes after it; by the end of its own
// update that much less what a velocity still brings.
bool UpdateChecker::is_rule_for(const wire::Update& update, double base, double workers) const {
  const roles::CoordinatorOptions& run = scenario_.run;
  const auto m = static_cast<double>(update.pushes.size());
  const double rate = run.lr_scale == optim::LrScale::PerUpdate ? 1 : m / workers;
  if (update.lr != static_cast<float>(base * rate)) return false;
  const double momentum = run.optimizer.momentum;
  const bool is_scaled = run.optimizer.name == "sgd" && momentum > 0 &&
                         run.momentum_scale != optim::MomentumScale::None && loops_.empty();
  if (!is_scaled) return !update.momentum;
  double kept = std::exp(std::log(momentum) * m / workers);
  double late = 0;
  if (run.momentum_scale == optim::MomentumScale::Staleness) {
    kept = std::max(0.0, 1 - (1 - momentum) * (1 + recent_mean(staleness_)));
  } else if (run.momentum_scale == optim::MomentumScale::Backdated) {
    late = optim::kBackdating * recent_mean(behind_) / workers;
  }
  const float usual = static_cast<float>(momentum);
  wire::Momentum rule{.carried = usual, .kept = usual};
  if (update.momentum) {
    rule = *update.momentum;
  } else if (run.optimizer.nesterov) {
    rule = {.carried = usual * usual, .displaced = 1 + usual, .kept = usual};
  }
  // What a velocity of 1 is owed, at the schedule's rate 1: as the usual rule would bring it.
  const double ahead = run.optimizer.nesterov ? momentum : 0;  // of it the parameters have already
  const double owed = momentum / (1 - momentum) - ahead;
  const double of_velocity = static_cast<double>(rule.carried) * rate;
  const double of_gradient = static_cast<double>(rule.displaced) * rate;
  const double left =
      std::exp(std::log(momentum) * late) * kept;  // of a gradient, after its update
  const double entered = left * rate / momentum;
  return is_near(static_cast<double>(rule.kept), kept) &&
         is_near(static_cast<double>(rule.entered), entered) &&
         is_near(of_velocity, owed * (1 - kept)) &&
         is_near(of_gradient, rate / (1 - momentum) - entered * owed);
}

// The mean of m pushes of n live workers: n is somewhere from 1 to all.
std::string UpdateChecker::check_rule(const wire::Update& update) const {
  const double share = static_cast<double>(samples_) / static_cast<double>(scenario_.run.samples);
  const double base = optim::lr_at(scenario_.run.schedule, scenario_.run.lr, share);
  const bool calm = scenario_.is_calm();
  const std::uint32_t least = calm ? scenario_.run.workers : 1;
  for (std::uint32_t n = least; n <= scenario_.run.workers; ++n) {
    if (is_rule_for(update, base, n)) return {};
  }
  // A worker that was the last may have left.
  if (!calm && is_rule_for(update, base, static_cast<double>(update.pushes.size()))) return {};
  return cat("promise 2: an update with the learning rate ", update.lr, ", base ", base,
             update.momentum ? cat(", momentum ", update.momentum->kept) : std::string());
}

// ---- servers ----

std::string UpdateChecker::served(std::uint32_t server, const wire::Parameters& head,
                                  const Payload& payload) {
  const auto version = versions_.find(head.version);
  if (version == versions_.end() ||
      !same_bits(floats(payload), shard_of(version->second, server))) {
    return cat("promise 2: server ", server, " sends other parameters than those of version ",
               head.version);
  }
  return {};
}

std::string UpdateChecker::stepped(const roles::Server& server, std::uint32_t index) {
  const std::uint64_t decided = server.decided();
  if (decided == decided_[index]) return {};
  if (decided < decided_[index]) return cat("promise 2: server ", index, " goes back");
  if (decided >= moments_.size()) return cat("promise 2: server ", index, " is ahead of decisions");
  decided_[index] = decided;
  const Moment& moment = moments_[decided];
  if (server.version() != moment.version) {
    return cat("promise 2: server ", index, " has version ", server.version(), " after decision ",
               decided, ", not ", moment.version);
  }
  if (!same_bits(server.parameters(), shard_of(moment.parameters, index))) {
    return cat("promise 2: the parameters of server ", index, " after decision ", decided,
               " are not those of the oracle");
  }
  return {};
}

// ---- the end ----

std::string UpdateChecker::at_end(const roles::RunStats& stats,
                                  const std::vector<float>& parameters) const {
  if (!same_bits(parameters, parameters_)) {
    return "promise 2: the parameters at the end are not those of the oracle";
  }
  if (stats.version != version_) return "promise 2: the version at the end is another";
  if (stats.samples != samples_) return "promise 6: the samples are miscounted";
  const std::uint64_t pushes = applied_.size();
  std::uint64_t stale = 0;
  for (const auto& [staleness, count] : stats.staleness) stale += count;
  if (stats.applied != pushes || stale != pushes) return "promise 6: the pushes are miscounted";
  if (stats.target_reached && scenario_.run.stop_at_target) return {};
  const std::uint64_t batch = scenario_.run.batch_size;
  const std::uint64_t batches = (scenario_.run.samples + batch - 1) / batch;
  if (pushes != batches || samples_ != scenario_.run.samples) {
    return cat("promise 6: ", pushes, " of ", batches, " batches and ", samples_, " of ",
               scenario_.run.samples, " samples are applied");
  }
  return check_stream();
}

// Each epoch of the stream trains every sample once.
std::string UpdateChecker::check_stream() const {
  std::uint64_t position = 0;
  std::vector<bool> seen(scenario_.dataset_size);
  for (const auto& [batch, samples] : samples_of_) {
    if (batch * scenario_.run.batch_size != position) return "promise 6: a batch is missing";
    for (const std::uint64_t sample : samples) {
      if (position % scenario_.dataset_size == 0) seen.assign(scenario_.dataset_size, false);
      if (sample >= seen.size() || seen[sample]) {
        return cat("promise 6: sample ", sample, " twice in an epoch");
      }
      seen[sample] = true;
      ++position;
    }
  }
  return {};
}

}  // namespace paceline::sim
