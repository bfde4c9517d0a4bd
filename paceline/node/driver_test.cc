#include "paceline/node/driver.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "paceline/base/hash.h"
#include "paceline/base/mutex.h"
#include "paceline/base/random.h"
#include "paceline/base/text.h"
#include "paceline/net/pool.h"
#include "paceline/optim/mean.h"
#include "paceline/roles/coordinator.h"
#include "paceline/roles/decision_json.h"
#include "paceline/roles/evaluator.h"
#include "paceline/roles/sample_stream.h"
#include "paceline/roles/server.h"
#include "paceline/roles/worker.h"
#include "paceline/sync/registry.h"

// Whole runs in one process: each role on a loop and a thread of its own, over Unix sockets. What
// they compute is a least-squares fit, so that no LibTorch is needed.
namespace paceline::node {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::size_t kParameters = 33;  // not a multiple of the servers
constexpr std::size_t kSamples = 120;
constexpr auto kLong = std::chrono::seconds(120);  // far above what a run takes

struct Problem {
  std::vector<std::vector<float>> x;
  std::vector<float> y;
  std::vector<float> truth;

  Problem() : truth(kParameters) {
    Rng rng(7);
    for (float& value : truth) value = static_cast<float>(rng.unit()) - 0.5F;
    for (std::size_t i = 0; i < kSamples; ++i) {
      auto& row = x.emplace_back(kParameters);
      float sum = 0;
      for (std::size_t p = 0; p < kParameters; ++p) {
        row[p] = static_cast<float>(rng.unit()) - 0.5F;
        sum += row[p] * truth[p];
      }
      y.push_back(sum);
    }
  }
};
const Problem& problem() {
  static const Problem instance;
  return instance;
}

template <typename T>
std::vector<T> flat_of(const std::vector<std::span<T>>& shards) {
  std::vector<T> flat;
  for (const auto shard : shards) flat.insert(flat.end(), shard.begin(), shard.end());
  return flat;
}

// `gate`: each gradient waits for it, if there is one.
class Fit final : public roles::GradientSource {
 public:
  explicit Fit(std::shared_future<void> gate = {}) : gate_(std::move(gate)) {}
  std::uint64_t parameter_count() const override { return kParameters; }
  void initial_parameters(std::span<float> parameters) override {
    for (std::size_t p = 0; p < parameters.size(); ++p)
      parameters[p] = static_cast<float>(p) * 0.01F;
  }
  Result<roles::GradientResult> gradient(const roles::GradientTask& task) override {
    if (gate_.valid()) gate_.wait();
    std::vector<float> w;
    for (const auto shard : task.parameters) w.insert(w.end(), shard.begin(), shard.end());
    if (w.size() != kParameters) return fail(Code::InvalidArgument, "wrong size");
    std::vector<float> gradient(kParameters, 0);
    const auto n = static_cast<float>(task.samples.size());
    float loss = 0;
    for (const std::uint64_t i : task.samples) {
      const auto& row = problem().x[i];
      float error = -problem().y[i];
      for (std::size_t p = 0; p < kParameters; ++p) error += row[p] * w[p];
      loss += error * error / n;
      for (std::size_t p = 0; p < kParameters; ++p) gradient[p] += 2 * error * row[p] / n;
    }
    std::size_t at = 0;
    for (const auto shard : task.gradient) {
      for (float& value : shard) value = gradient[at++];
    }
    return roles::GradientResult{loss};
  }

 private:
  std::shared_future<void> gate_;
};

class Distance final : public roles::Evaluation {
 public:
  std::uint64_t parameter_count() const override { return kParameters; }
  Result<roles::EvaluationResult> evaluate(std::span<const float> parameters) override {
    double distance = 0;
    for (std::size_t p = 0; p < kParameters; ++p) {
      const double d = static_cast<double>(parameters[p] - problem().truth[p]);
      distance += d * d;
    }
    return roles::EvaluationResult{1 / (1 + distance), distance};
  }
};

fs::path temporary_folder() {
  std::string name = "/tmp/paceline-test-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) std::abort();
  return name;
}

// One role on its own thread.
class Live {
 public:
  Live(NodeId self, Effects effects) : self_(self) {
    effects.log = [this](roles::Level, const std::string& text) {
      {
        const MutexLock lock(mutex_);
        log_ += text + "\n";
      }
      logged_.notify_all();
    };
    net::TransportOptions options{.self = self, .job = "job", .secret = {}, .tls = {}};
    driver_.emplace(loop_, options, pool_, std::move(effects));
  }
  ~Live() {
    if (thread_.joinable()) thread_.join();
  }
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  std::string listen(const fs::path& folder) {
    const auto address = driver_->listen(cat("unix:", (folder / to_string(self_)).string()));
    EXPECT_TRUE(address);
    return address.value_or("");
  }
  template <typename Role>
  void start(std::unique_ptr<Role> role) {
    auto promise = std::make_shared<std::promise<roles::Stop>>();
    stopped_ = promise->get_future();
    std::shared_ptr<Role> shared = std::move(role);
    role_ = shared;
    thread_ = std::thread([this, promise, shared] {
      promise->set_value(driver_->run(
          [&](Time now, const roles::Input& input) { return shared->step(now, input); }));
    });
  }
  roles::Stop stop() {
    if (stopped_.wait_for(kLong) != std::future_status::ready) {
      ADD_FAILURE() << to_string(self_) << " does not end; its log:\n" << log();
      std::abort();
    }
    return stopped_.get();
  }
  std::string log() {
    const MutexLock lock(mutex_);
    return log_;
  }
  void wait_for_log(const std::string& text) {
    const auto until = std::chrono::steady_clock::now() + kLong;
    const MutexLock lock(mutex_);
    while (log_.find(text) == std::string::npos) {
      ASSERT_NE(logged_.wait_until(mutex_, until), std::cv_status::timeout) << log_;
    }
  }
  // As kill -9 would: it says nothing to anybody.
  void vanish() {
    loop_.stop();
    stop();
    thread_.join();
    driver_.reset();
  }
  Driver& driver() { return *driver_; }
  net::Pool& pool() { return pool_; }

 private:
  NodeId self_;
  Mutex mutex_;
  Condition logged_;
  std::string log_ PACELINE_GUARDED_BY(mutex_);
  net::Pool pool_;
  net::EventLoop loop_;
  std::optional<Driver> driver_;
  std::shared_ptr<void> role_;
  std::shared_future<roles::Stop> stopped_;
  std::thread thread_;
};

struct RunOptions {
  std::string policy = "bsp";
  std::uint32_t workers = 3;
  std::uint32_t servers = 2;
  std::uint64_t samples = 600;
  std::string decisions_file;  // empty: in the folder
  std::shared_future<void> gate;
  bool evaluator = true;
};

class Cluster {
 public:
  explicit Cluster(const RunOptions& options) : options_(options), folder_(temporary_folder()) {
    const std::string decisions = options.decisions_file.empty()
                                      ? (folder_ / "decisions.jsonl").string()
                                      : options.decisions_file;
    recorder_.emplace(*Recorder::create(decisions, (folder_ / "metrics.jsonl").string(),
                                        (folder_ / "trace.json").string()));
    roles::CoordinatorOptions wanted;
    wanted.workers = options.workers;
    wanted.servers = options.servers;
    wanted.evaluator = options.evaluator;
    wanted.samples = options.samples;
    wanted.batch_size = 4;
    wanted.lr = 0.1;
    wanted.eval_every_samples = 200;
    coordinator_ = std::make_unique<Live>(kCoordinator, Effects{.recorder = &*recorder_});
    auto role = std::make_unique<roles::Coordinator>(wanted, *sync::make_policy(options.policy));
    stats_of_ = role.get();
    address_ = coordinator_->listen(folder_);
    coordinator_->start(std::move(role));
    for (std::uint32_t s = 0; s < options.servers; ++s) start_server(s);
    for (std::uint32_t w = 0; w < options.workers; ++w) start_worker(w);
    if (options.evaluator) start_evaluator();
  }
  ~Cluster() {
    servers_.clear();
    workers_.clear();
    evaluator_.reset();
    coordinator_.reset();
    fs::remove_all(folder_);
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  roles::Stop end() { return coordinator_->stop(); }
  const roles::RunStats& stats() const { return stats_of_->stats(); }  // after end()
  Live& coordinator() { return *coordinator_; }
  Live& server(std::size_t s) { return *servers_[s]; }
  Live& worker(std::size_t w) { return *workers_[w]; }
  Live& evaluator() { return *evaluator_; }

  std::vector<std::string> lines(const std::string& name) const {
    std::ifstream file(folder_ / name);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  std::string text(const std::string& name) const {
    std::string text;
    for (const auto& line : lines(name)) text += line + "\n";
    return text;
  }

 private:
  void start_server(std::uint32_t s) {
    auto& live = servers_.emplace_back(std::make_unique<Live>(server_node(s), Effects{}));
    const std::string address = live->listen(folder_);
    roles::ServerOptions options{
        .index = s, .coordinator = address_, .address = address, .life = s + 1};
    live->start(std::make_unique<roles::Server>(options, live->pool()));
  }
  void start_worker(std::uint32_t w) {
    sources_.push_back(std::make_unique<Fit>(options_.gate));
    auto& live = workers_.emplace_back(
        std::make_unique<Live>(worker_node({w}), Effects{.source = sources_.back().get()}));
    roles::WorkerOptions options{.id = {w},
                                 .coordinator = address_,
                                 .life = w + 1,
                                 .parameter_count = kParameters,
                                 .dataset_size = kSamples};
    live->start(std::make_unique<roles::Worker>(options, live->pool()));
  }
  void start_evaluator() {
    evaluator_ = std::make_unique<Live>(kEvaluator, Effects{.evaluation = &distance_});
    roles::EvaluatorOptions options{.coordinator = address_, .parameter_count = kParameters};
    evaluator_->start(std::make_unique<roles::Evaluator>(options));
  }

  RunOptions options_;
  fs::path folder_;
  std::string address_;
  std::optional<Recorder> recorder_;
  Distance distance_;
  std::vector<std::unique_ptr<Fit>> sources_;
  std::unique_ptr<Live> coordinator_;
  std::vector<std::unique_ptr<Live>> servers_;
  std::vector<std::unique_ptr<Live>> workers_;
  std::unique_ptr<Live> evaluator_;
  const roles::Coordinator* stats_of_ = nullptr;
};

class EveryPolicy : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryPolicy, ARunAppliesItsBudgetAndEverybodyGoesHome) {
  Cluster run({.policy = GetParam()});
  EXPECT_EQ(run.end().exit_code, 0) << run.coordinator().log();
  for (std::size_t w = 0; w < 3; ++w) EXPECT_EQ(run.worker(w).stop().exit_code, 0);
  for (std::size_t s = 0; s < 2; ++s) EXPECT_EQ(run.server(s).stop().exit_code, 0);
  EXPECT_EQ(run.evaluator().stop().exit_code, 0);
  const roles::RunStats& stats = run.stats();
  EXPECT_EQ(stats.samples, 600U);
  EXPECT_EQ(stats.applied, 150U);
  EXPECT_EQ(stats.param_sha256.size(), 64U);
  EXPECT_TRUE(stats.failures.empty());
  EXPECT_GT(stats.train_loss, 0);
  ASSERT_FALSE(stats.evaluations.empty());
  std::vector<float> first(kParameters);
  Fit().initial_parameters(first);
  EXPECT_GT(stats.evaluations.back().accuracy, Distance().evaluate(first)->accuracy);
}

INSTANTIATE_TEST_SUITE_P(Sync, EveryPolicy,
                         ::testing::Values("bsp", "asp", "ssp:3", "dssp:3-15", "dssp_literal:3-15",
                                           "elastic_bsp:15"));

// The parameters that one thread gets which sums the same batches in rank order.
std::string serial_sha256(const RunOptions& options) {
  Fit source;
  std::vector<float> parameters(kParameters);
  source.initial_parameters(parameters);
  auto optimizer = *optim::make_optimizer({}, kParameters);
  roles::SampleStream stream(1, kSamples, 4, options.samples);
  for (std::uint64_t batch = 0; batch < stream.batches(); batch += options.workers) {
    std::vector<std::vector<float>> gradients;
    for (std::uint64_t w = 0; w < options.workers; ++w) {
      gradients.emplace_back(kParameters);
      roles::GradientTask task{stream.samples_of(batch + w), {parameters}, {gradients.back()}};
      EXPECT_TRUE(source.gradient(task));
    }
    const std::vector<std::span<const float>> views(gradients.begin(), gradients.end());
    std::vector<float> mean(kParameters);
    optim::mean_into(mean, views);
    optimizer->step(parameters, mean, 0.1F);
  }
  return sha256_hex(std::as_bytes(std::span(parameters)));
}

TEST(Driver, BspMakesTheVeryBitsOfOneThreadWhateverTheServers) {
  for (const std::uint32_t servers : {1U, 2U, 3U}) {
    const RunOptions options{.servers = servers};
    Cluster run(options);
    ASSERT_EQ(run.end().exit_code, 0) << run.coordinator().log();
    EXPECT_EQ(run.stats().param_sha256, serial_sha256(options)) << servers << " servers";
  }
}

TEST(Driver, TheRunsFilesAreWholeWhenItEnds) {
  Cluster run({.policy = "elastic_bsp:5"});
  ASSERT_EQ(run.end().exit_code, 0);
  std::uint64_t applied = 0;
  for (const std::string& line : run.lines("decisions.jsonl")) {
    const auto decision = roles::parse_decision(line);
    ASSERT_TRUE(decision) << line;
    for (const auto& apply : decision->decision.apply) applied += apply.pushes.size();
  }
  EXPECT_EQ(applied, run.stats().applied);
  EXPECT_FALSE(run.lines("metrics.jsonl").empty());
  for (const std::string& line : run.lines("metrics.jsonl")) {
    EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  }
  const auto trace = nlohmann::json::parse(run.text("trace.json"));
  std::size_t steps = 0;
  std::size_t evaluations = 0;
  for (const auto& event : trace) {
    if (event.at("ph") != "X") continue;
    EXPECT_GE(event.at("dur").get<double>(), 0);
    const auto name = event.at("name").get<std::string>();
    steps += name.starts_with("step ") ? 1 : 0;
    evaluations += name.starts_with("version ") ? 1 : 0;
  }
  EXPECT_GE(steps, run.stats().applied);
  EXPECT_EQ(evaluations, run.stats().evaluations.size());
}

TEST(Driver, AVanishedWorkerIsMissedAndTheOthersFinish) {
  for (const std::string policy : {"bsp", "ssp:3", "elastic_bsp:15"}) {
    std::promise<void> gate;
    Cluster run({.policy = policy, .gate = gate.get_future().share()});
    // All gradients wait at the gate; worker 1 goes before any is done.
    run.coordinator().wait_for_log("training begins");
    std::thread opens([&] { gate.set_value(); });
    run.worker(1).vanish();
    opens.join();
    EXPECT_EQ(run.end().exit_code, 0) << run.coordinator().log();
    ASSERT_EQ(run.stats().failures.size(), 1U) << policy;
    EXPECT_EQ(run.stats().failures[0].node, worker_node({1}));
    EXPECT_EQ(run.stats().samples, 600U);
  }
}

TEST(Driver, AStopFromOutsideEndsARunInTheMiddle) {
  std::promise<void> gate;
  Cluster run({.gate = gate.get_future().share()});
  run.coordinator().wait_for_log("training begins");
  run.coordinator().driver().post(roles::StopRequested{130, "Ctrl+C"});
  EXPECT_EQ(run.end().exit_code, 130);
  EXPECT_EQ(run.end().why, "Ctrl+C");
  // The workers' loops end although their gradients are still under way.
  for (std::size_t w = 0; w < 3; ++w) {
    EXPECT_EQ(run.worker(w).stop().exit_code, 0);
  }
  gate.set_value();
}

TEST(Driver, ALostServerEndsTheRunAndIsNamed) {
  std::promise<void> gate;
  Cluster run({.gate = gate.get_future().share()});
  run.coordinator().wait_for_log("training begins");
  run.coordinator().driver().post(
      roles::ProcessDied{server_node(1), 0, 9, "killed by signal 9 (SIGKILL)"});
  const roles::Stop stop = run.end();
  EXPECT_EQ(stop.exit_code, 4);
  EXPECT_THAT(stop.why, HasSubstr("server 1"));
  gate.set_value();
}

// The compute thread has room for one job beside the one under way: of four, two at least come back
// as refused while the outputs of the same step are still being carried out.
TEST(Driver, NothingReentersAndNothingFollowsAStop) {
  std::promise<void> gate;
  Fit source(gate.get_future().share());
  net::Pool pool;
  net::EventLoop loop;
  std::vector<std::string> seen;
  int depth = 0;
  {
    Driver driver(loop, {.self = worker_node({0}), .job = "job", .secret = {}, .tls = {}}, pool,
                  {.source = &source,
                   .log = [&](roles::Level, const std::string& text) { seen.push_back(text); }});
    const roles::Stop stop = driver.run([&](Time, const roles::Input& input) {
      EXPECT_EQ(depth++, 0);
      roles::Outputs outputs;
      if (std::holds_alternative<roles::Started>(input)) {
        for (Step step = 0; step < 4; ++step) outputs.emplace_back(roles::Compute{.step = step});
        outputs.emplace_back(roles::Log{roles::Level::Info, "last output"});
      } else {
        EXPECT_FALSE(std::get<roles::GradientComputed>(input).error.empty());
        seen.push_back("refused");
        outputs.emplace_back(roles::Stop{3, "enough"});
      }
      --depth;
      return outputs;
    });
    EXPECT_EQ(stop.exit_code, 3);
    gate.set_value();
  }
  EXPECT_THAT(seen, ::testing::ElementsAre("last output", "refused"));
}

TEST(Driver, AGradientThatFailsIsToldWithItsReason) {
  Fit source;
  net::Pool pool;
  net::EventLoop loop;
  Driver driver(loop, {.self = worker_node({0}), .job = "job", .secret = {}, .tls = {}}, pool,
                {.source = &source, .log = [](roles::Level, const std::string&) {}});
  const roles::Stop stop = driver.run([&](Time, const roles::Input& input) {
    roles::Outputs outputs;
    if (const auto* computed = std::get_if<roles::GradientComputed>(&input)) {
      outputs.emplace_back(roles::Stop{4, computed->error});
    } else {
      outputs.emplace_back(roles::Compute{.step = 0});  // without parameters
    }
    return outputs;
  });
  EXPECT_EQ(stop.why, "wrong size");
}

// A driver with a step of the test's own.
struct Bare {
  explicit Bare(NodeId self, Recorder* recorder = nullptr)
      : driver(loop, {.self = self, .job = "job", .secret = {}, .tls = {}}, pool,
               {.recorder = recorder, .log = [](roles::Level, const std::string&) {}}) {}
  net::Pool pool;
  net::EventLoop loop;
  Driver driver;
};

TEST(Driver, FiresTimersAndWhatIsToBeDoneAgainAndAgain) {
  Bare bare(kCoordinator);
  int calls = 0;
  bare.driver.every(std::chrono::milliseconds(1), [&] {
    if (++calls == 3) bare.driver.post(roles::StopRequested{0, "third call"});
  });
  bool fired = false;
  const roles::Stop stop = bare.driver.run([&](Time now, const roles::Input& input) {
    roles::Outputs outputs;
    if (std::holds_alternative<roles::Started>(input)) {
      outputs.emplace_back(roles::SetTimer{roles::TimerId::StepFloor, now});
    } else if (const auto* timer = std::get_if<roles::TimerFired>(&input)) {
      EXPECT_EQ(timer->id, roles::TimerId::StepFloor);
      fired = true;
    } else {
      outputs.emplace_back(roles::Stop{0, std::get<roles::StopRequested>(input).why});
    }
    return outputs;
  });
  EXPECT_EQ(stop.why, "third call");
  EXPECT_TRUE(fired);
}

TEST(Driver, WhatWasSentBeforeAStopArrives) {
  const fs::path folder = temporary_folder();
  Bare server(server_node(0));
  const auto address = server.driver.listen(cat("unix:", (folder / "s").string()));
  ASSERT_TRUE(address);
  constexpr std::size_t kBytes = 8U << 20U;  // more than a socket takes at once
  std::thread worker_thread([&] {
    Bare worker(worker_node({0}));
    worker.driver.run([&](Time, const roles::Input& input) {
      roles::Outputs outputs;
      if (std::holds_alternative<roles::Started>(input)) {
        outputs.emplace_back(roles::Connect{server_node(0), *address});
      } else if (std::holds_alternative<roles::PeerUp>(input)) {
        outputs.emplace_back(
            roles::Send{server_node(0), wire::Initialise{}, worker.pool.take(kBytes)});
        outputs.emplace_back(roles::Stop{0, "sent"});
      }
      return outputs;
    });
  });
  std::size_t received = 0;
  const roles::Stop stop = server.driver.run([&](Time, const roles::Input& input) {
    if (const auto* message = std::get_if<roles::Received>(&input)) {
      received = size_of(message->payload);
      return roles::Outputs{roles::Stop{0, "received"}};
    }
    if (std::holds_alternative<roles::PeerDown>(input)) {
      return roles::Outputs{roles::Stop{4, "lost"}};
    }
    return roles::Outputs{};
  });
  worker_thread.join();
  EXPECT_EQ(stop.why, "received");
  EXPECT_EQ(received, kBytes);
  fs::remove_all(folder);
}

TEST(Driver, AFullDiskIsToldToTheRoleAtOnce) {
  const fs::path folder = temporary_folder();
  auto recorder = Recorder::create("/dev/full", (folder / "m").string(), (folder / "t").string());
  ASSERT_TRUE(recorder);
  Bare bare(kCoordinator, &*recorder);
  const roles::Stop stop = bare.driver.run([&](Time, const roles::Input& input) {
    roles::Outputs outputs;
    if (const auto* asked = std::get_if<roles::StopRequested>(&input)) {
      outputs.emplace_back(roles::Stop{asked->exit_code, asked->why});
    } else {
      outputs.emplace_back(  // more than is gathered
          roles::Record{roles::Record::File::Decisions, std::string(1U << 20U, 'x')});
    }
    return outputs;
  });
  EXPECT_EQ(stop.exit_code, 5);
  EXPECT_THAT(stop.why, HasSubstr("/dev/full"));
  fs::remove_all(folder);
}

TEST(Driver, AFileThatCannotBeWrittenEndsTheRunWithTheMachinesCode) {
  Cluster run({.decisions_file = "/dev/full"});
  const roles::Stop stop = run.end();
  EXPECT_EQ(stop.exit_code, 5);
  EXPECT_THAT(stop.why, HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace paceline::node
