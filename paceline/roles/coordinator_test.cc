#include "paceline/roles/coordinator.h"

#include "paceline/roles/testing.h"
#include "paceline/sync/registry.h"

namespace paceline::roles {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two servers and `workers` workers, spoken for by the test.
class CoordinatorTest : public ::testing::Test {
 protected:
  void make(const std::string& policy, std::uint32_t workers = 2, std::uint64_t samples = 12) {
    options_.workers = workers;
    options_.servers = 2;
    options_.samples = samples;
    options_.batch_size = 2;
    coordinator_.emplace(options_, *sync::make_policy(policy));
    step(Started{});
  }
  Outputs step(const Input& input) { return coordinator_->step(now_, input); }
  Outputs say(NodeId node, wire::Message message) { return step(from(node, std::move(message))); }

  void servers_in() {
    for (std::uint32_t s = 0; s < 2; ++s) {
      step(PeerUp{server_node(s)});
      say(server_node(s), wire::Register{10 + s, "s"});
    }
  }
  Outputs join(std::uint32_t worker, std::uint64_t life = 1, std::uint64_t attempt = 1) {
    step(PeerUp{worker_node({worker})});
    return say(worker_node({worker}), wire::Join{life, attempt, 10, 100});
  }
  // All in; the outputs of the start.
  Outputs start() {
    servers_in();
    for (std::uint32_t w = 0; w < options_.workers; ++w) join(w, 100 + w);
    for (std::uint32_t s = 0; s < 2; ++s) say(server_node(s), wire::Initialised{});
    Outputs outputs;
    for (std::uint32_t w = 0; w < options_.workers; ++w) {
      outputs = say(worker_node({w}), wire::Ready{Incarnation{1} + w});
    }
    return outputs;
  }
  Outputs held(const PushId& push) {
    say(server_node(0), wire::Held{push});
    return say(server_node(1), wire::Held{push});
  }
  const RunStats& stats() const { return coordinator_->stats(); }

  CoordinatorOptions options_;
  std::optional<Coordinator> coordinator_;
  Time now_{};
};

TEST_F(CoordinatorTest, CutsTheParametersOverTheServersAndAsksOneToInitialise) {
  make("bsp");
  servers_in();
  const auto welcomes = sent<wire::Welcome>(join(0));
  ASSERT_FALSE(welcomes.empty());
  EXPECT_TRUE(welcomes[0].initialise);
  EXPECT_THAT(welcomes[0].shards,
              ElementsAre(wire::Shard{0, "s", 0, 5}, wire::Shard{1, "s", 5, 5}));
  EXPECT_FALSE(sent<wire::Welcome>(join(1))[0].initialise);
}

TEST_F(CoordinatorTest, ReleasesTheFirstSuperstepInRankOrder) {
  make("bsp", 3);
  const auto releases = sent<wire::Release>(start());
  ASSERT_THAT(releases, SizeIs(3));
  for (std::uint64_t w = 0; w < 3; ++w) {
    EXPECT_EQ(releases[w].batch, w);
    EXPECT_EQ(releases[w].incarnation, w + 1);
    EXPECT_THAT(releases[w].samples, SizeIs(2));
  }
  EXPECT_EQ(stats().phase, "training");
}

TEST_F(CoordinatorTest, StartsNothingBeforeEveryServerHasItsFirstParameters) {
  make("bsp");
  servers_in();
  join(0);
  join(1, 2);
  say(worker_node({0}), wire::Ready{1});
  say(server_node(0), wire::Initialised{});
  EXPECT_THAT(sent<wire::Release>(say(worker_node({1}), wire::Ready{2})), IsEmpty());
  EXPECT_THAT(sent<wire::Release>(say(server_node(1), wire::Initialised{})), SizeIs(2));
}

TEST_F(CoordinatorTest, StartsWithAsManyWorkersAsItIsToldAndTheOthersJoin) {
  options_.start_workers = 2;
  make("asp", 4);
  servers_in();
  for (std::uint32_t w = 0; w < 3; ++w) join(w, 100 + w);
  for (std::uint32_t s = 0; s < 2; ++s) say(server_node(s), wire::Initialised{});
  EXPECT_THAT(sent<wire::Release>(say(worker_node({2}), wire::Ready{3})), IsEmpty());
  EXPECT_THAT(sent<wire::Release>(say(worker_node({0}), wire::Ready{1})), SizeIs(2));
  EXPECT_EQ(stats().phase, "training");
  EXPECT_THAT(sent<wire::Release>(say(worker_node({1}), wire::Ready{2})), SizeIs(1));
}

// Workers that were never awaited are not late; without the option they are.
TEST_F(CoordinatorTest, WhoeverIsNotAwaitedIsNotLate) {
  for (const std::uint32_t start_workers : {0U, 2U}) {
    now_ = Time{};
    options_.start_workers = start_workers;
    make("asp", 3);
    servers_in();
    join(0);
    for (std::uint32_t s = 0; s < 2; ++s) say(server_node(s), wire::Initialised{});
    say(worker_node({0}), wire::Ready{1});
    now_ = seconds(61);
    for (std::uint32_t s = 0; s < 2; ++s) say(server_node(s), wire::Pong{});
    say(worker_node({0}), wire::Pong{});
    step(TimerFired{TimerId::Tick});
    EXPECT_EQ(stats().phase, "training");
    EXPECT_THAT(stats().failures, SizeIs(start_workers == 0 ? 2 : 0));
  }
}

// Rates of a half, as each push is one of two workers'; the second comes one push late.
TEST_F(CoordinatorTest, AnUpdateSaysWhatBecomesOfTheMomentum) {
  options_.optimizer.momentum = 0.9;
  for (const auto scale : {optim::MomentumScale::None, optim::MomentumScale::Backdated}) {
    options_.momentum_scale = scale;
    make("asp", 2);
    start();
    const auto momentum_of = [&](const PushId& push) {
      return sent<wire::Decide>(held(push)).at(0).updates.at(0).momentum;
    };
    const auto first = momentum_of({{0}, 1, 0});
    const auto second = momentum_of({{1}, 2, 0});
    if (scale == optim::MomentumScale::None) {
      EXPECT_EQ(first, std::nullopt);
      EXPECT_EQ(second, std::nullopt);
      continue;
    }
    EXPECT_FLOAT_EQ(first->kept, 0.9486833F);
    EXPECT_FLOAT_EQ(first->entered, 0.9486833F / 0.9F / 2);
    // Half a push behind in the mean, of two workers, threefold: 0.9^(3/4).
    EXPECT_FLOAT_EQ(second->entered, 0.9486833F / 0.9F / 2 * 0.9240211F);
  }
}

TEST_F(CoordinatorTest, UnderBspTheMomentumIsTheConfiguredOne) {
  options_.optimizer.momentum = 0.9;
  options_.momentum_scale = optim::MomentumScale::Backdated;
  make("bsp", 2);
  start();
  held({{0}, 1, 0});
  const auto decides = sent<wire::Decide>(held({{1}, 2, 0}));
  ASSERT_EQ(decides.at(0).updates.at(0).pushes.size(), 2U);
  EXPECT_EQ(decides[0].updates[0].momentum, std::nullopt);
}

// The gap right after a push, to the slowest that is in; a joiner begins where the slowest is.
TEST_F(CoordinatorTest, TheGreatestGapOfTheClocks) {
  options_.start_workers = 2;
  make("asp", 3, 100);
  start();
  held({{0}, 1, 0});
  held({{0}, 1, 1});
  EXPECT_EQ(stats().clock_gap_max, 2U);
  for (Step step = 0; step < 6; ++step) held({{1}, 2, step});  // 6 : 2
  EXPECT_EQ(stats().clock_gap_max, 6U) << "worker 2 is at 0";
  say(worker_node({2}), wire::Goodbye{});
  join(2, 200);
  say(worker_node({2}), wire::Ready{4});
  for (Step step = 6; step < 8; ++step) held({{1}, 2, step});  // 8 : 2 : 2
  EXPECT_EQ(stats().clock_gap_max, 6U);
  held({{2}, 4, 0});
  held({{1}, 2, 8});  // 9 : 3 : 2
  EXPECT_EQ(stats().clock_gap_max, 7U);
}

TEST_F(CoordinatorTest, DecisionsAreRecordedOnlyIfAskedFor) {
  make("asp", 1);
  EXPECT_THAT(all_of<Record>(start()), SizeIs(1));
  options_.record_decisions = false;
  make("asp", 1);
  EXPECT_THAT(all_of<Record>(start()), IsEmpty());
}

TEST_F(CoordinatorTest, OpenWaitsCountWhenAsked) {
  make("bsp");
  start();
  now_ = seconds(1);
  held({{0}, 1, 0});
  EXPECT_EQ(stats().workers[0].waited, Duration{});
  EXPECT_EQ(coordinator_->stats_at(seconds(5)).workers[0].waited, seconds(4));
  now_ = seconds(6);
  held({{1}, 2, 0});
  EXPECT_EQ(stats().workers[0].waited, seconds(5));
  EXPECT_EQ(coordinator_->stats_at(seconds(9)).workers[0].waited, seconds(5));
}

TEST_F(CoordinatorTest, AWorkerThatJoinsAnewBeforeItWasMissedHasLeft) {
  make("bsp");
  start();
  const auto decides = sent<wire::Decide>(say(worker_node({1}), wire::Join{101, 2, 10, 100}));
  ASSERT_FALSE(decides.empty());
  EXPECT_THAT(decides[0].drop, ElementsAre(PushId{{1}, 2, 0}));
  const auto releases = sent<wire::Release>(say(worker_node({1}), wire::Ready{3}));
  ASSERT_THAT(releases, SizeIs(1));
  EXPECT_EQ(releases[0].batch, 1U);
}

TEST_F(CoordinatorTest, APushCountsOnceWhenAllServersHoldIt) {
  make("asp");
  start();
  const PushId push{{0}, 1, 0};
  EXPECT_THAT(sent<wire::Decide>(say(server_node(0), wire::Held{push})), IsEmpty());
  EXPECT_THAT(sent<wire::Decide>(say(server_node(0), wire::Held{push})), IsEmpty());
  const auto decides = sent<wire::Decide>(say(server_node(1), wire::Held{push}));
  ASSERT_THAT(decides, SizeIs(2)) << "one for each server";
  EXPECT_THAT(decides[0].updates[0].pushes, ElementsAre(push));
  EXPECT_EQ(decides[0].updates[0].lr, 0.05F) << "0.1 for one of two";
  EXPECT_THAT(sent<wire::Decide>(held(push)), IsEmpty());
  EXPECT_EQ(stats().version, 1U);
  EXPECT_THAT(sent<wire::Decide>(held({{0}, 7, 0})), IsEmpty()) << "of no life that there is";
}

TEST_F(CoordinatorTest, TheBarrierIsOneUpdateInRankOrder) {
  make("bsp");
  start();
  EXPECT_THAT(sent<wire::Decide>(held({{1}, 2, 0})), IsEmpty());
  now_ += seconds(2);
  const Outputs outputs = held({{0}, 1, 0});
  const auto decide = sent<wire::Decide>(outputs).at(0);
  EXPECT_THAT(decide.updates.at(0).pushes, ElementsAre(PushId{{0}, 1, 0}, PushId{{1}, 2, 0}));
  EXPECT_EQ(decide.updates.at(0).lr, 0.1F);
  EXPECT_THAT(decide.recipients, SizeIs(2));
  EXPECT_THAT(sent<wire::Release>(outputs), SizeIs(2));
  EXPECT_EQ(stats().barriers, 1U);
  EXPECT_EQ(stats().workers[1].waited, seconds(2));
  EXPECT_EQ(stats().workers[0].waited, seconds(0));
}

TEST_F(CoordinatorTest, RepeatsADecisionUntilItIsDone) {
  make("asp");
  start();
  held({{0}, 1, 0});
  const std::uint64_t number = coordinator_->decisions();
  say(server_node(0), wire::Decided{number, 0});
  now_ += seconds(2);
  EXPECT_THAT(receivers<wire::Decide>(step(TimerFired{TimerId::Tick})),
              ::testing::Each(server_node(1)));
  say(server_node(1), wire::Decided{number, 3});
  now_ += seconds(2);
  EXPECT_THAT(sent<wire::Decide>(step(TimerFired{TimerId::Tick})), IsEmpty());
  EXPECT_EQ(stats().repeated, 3U);
}

TEST_F(CoordinatorTest, ALostWorkersBatchGoesToSomebodyElse) {
  make("asp");
  start();
  const Outputs outputs = step(PeerDown{worker_node({1}), "reset"});
  EXPECT_THAT(sent<wire::Decide>(outputs).at(0).drop, ElementsAre(PushId{{1}, 2, 0}));
  ASSERT_THAT(stats().failures, SizeIs(1));
  EXPECT_EQ(stats().failures[0].cause, "connection");
  EXPECT_EQ(stats().leases_lost, 1U);
  const Outputs next = held({{0}, 1, 0});
  EXPECT_EQ(sent<wire::Release>(next).at(0).batch, 1U);
  EXPECT_EQ(sent<wire::Decide>(next).at(0).updates.at(0).lr, 0.1F) << "it is alone now";
}

TEST_F(CoordinatorTest, ACompletePushCountsThoughItsWorkerDied) {
  make("bsp");
  start();
  held({{1}, 2, 0});
  step(PeerDown{worker_node({1}), "reset"});
  EXPECT_EQ(stats().leases_lost, 0U);
  const auto decide = sent<wire::Decide>(held({{0}, 1, 0})).at(0);
  EXPECT_THAT(decide.updates.at(0).pushes, SizeIs(2));
}

TEST_F(CoordinatorTest, ABrokenLinkAndTheDeathBehindItAreOneFailureTheNextOneAnother) {
  make("asp");
  start();
  const NodeId one = worker_node({1});
  step(PeerDown{one, "reset"});
  step(ProcessDied{.node = one, .signal = 9, .cause = "killed"});
  ASSERT_THAT(stats().failures, SizeIs(1));
  EXPECT_EQ(stats().failures[0].signal, 9);
  EXPECT_EQ(stats().failures[0].text, "killed (reset)");
  join(1, 200);
  step(ProcessDied{.node = one, .exit_code = 3, .cause = "no data"});
  step(PeerDown{one, "reset"});
  ASSERT_THAT(stats().failures, SizeIs(2));
  EXPECT_EQ(stats().failures[1].exit_code, 3);
}

TEST_F(CoordinatorTest, TheEarlierLifeIsToldSoAndChangesNothing) {
  make("asp");
  start();
  step(PeerDown{worker_node({1}), "reset"});
  join(1, 101, 2);
  const Outputs outputs = say(worker_node({1}), wire::Ask{2, 0});
  EXPECT_THAT(sent<wire::Expelled>(outputs), SizeIs(1));
  EXPECT_EQ(sent<wire::Expelled>(outputs)[0].incarnation, 2U);
  EXPECT_THAT(sent<wire::Release>(outputs), IsEmpty());
}

TEST_F(CoordinatorTest, RefusesWhoDoesNotFit) {
  make("bsp");
  servers_in();
  join(0);
  const auto why = [&](NodeId node, wire::Join join) {
    const auto refusals = sent<wire::Expelled>(say(node, join));
    return refusals.empty() || refusals[0].incarnation != 0 ? "" : refusals[0].why;
  };
  EXPECT_THAT(why(worker_node({1}), {2, 1, 11, 100}), HasSubstr("11 parameters"));
  EXPECT_THAT(why(worker_node({1}), {2, 1, 10, 99}), HasSubstr("99 samples"));
  EXPECT_THAT(why(worker_node({2}), {2, 1, 10, 100}), HasSubstr("2 workers"));
  join(0, 50);
  EXPECT_THAT(why(worker_node({0}), {1, 2, 10, 100}), HasSubstr("another process"));
}

TEST_F(CoordinatorTest, EndsWithTheParametersOfTheLastVersionOnAllShards) {
  make("asp", 1, 2);
  start();
  const Outputs last = held({{0}, 1, 0});
  EXPECT_EQ(stats().phase, "finishing");
  EXPECT_THAT(sent<wire::Decide>(last), SizeIs(4)) << "the update, and who gets the end";
  const auto give = [&](std::uint32_t s, Version version) {
    return step(from(server_node(s), wire::Parameters{0, 1, version}, payload_of({1})));
  };
  give(0, 1);
  EXPECT_FALSE(stop_of(give(1, 0)).has_value()) << "an old version";
  const Outputs end = give(1, 1);
  ASSERT_TRUE(stop_of(end).has_value());
  EXPECT_EQ(stop_of(end)->exit_code, 0);
  EXPECT_THAT(all_of<Final>(end).at(0).parameters, SizeIs(2));
  EXPECT_THAT(sent<wire::Finish>(end), SizeIs(3));
  EXPECT_THAT(stats().param_sha256, SizeIs(64));
}

TEST_F(CoordinatorTest, AServerThatIsGoneIsNamedAfterItsGrace) {
  make("asp");
  start();
  step(PeerDown{server_node(1), "reset"});
  std::optional<Stop> stop;
  while (!stop && now_ < seconds(20)) {
    now_ += milliseconds(250);
    stop = stop_of(step(TimerFired{TimerId::Tick}));
  }
  ASSERT_TRUE(stop.has_value());
  EXPECT_EQ(stop->exit_code, 4);
  EXPECT_THAT(stop->why, HasSubstr("server 1"));
  EXPECT_NEAR(to_seconds(now_), to_seconds(options_.server_grace), 0.6);
}

TEST_F(CoordinatorTest, AServerThatComesBackEmptyEndsTheRun) {
  make("asp");
  start();
  EXPECT_EQ(stop_of(say(server_node(1), wire::Register{99, "s"}))->exit_code, 4);
}

TEST_F(CoordinatorTest, ExitCodesOfWorkersComeThrough) {
  for (const int code : {3, 5, 1}) {
    make("asp", 1);
    start();
    const Outputs end =
        step(ProcessDied{.node = worker_node({0}), .exit_code = code, .cause = "x"});
    EXPECT_EQ(stop_of(end)->exit_code, code == 1 ? 4 : code);
    EXPECT_THAT(stop_of(end)->why, HasSubstr("worker 0: x"));
  }
}

TEST_F(CoordinatorTest, WorkersThatEndInOrderBeforeTheyJoinAreNotWaitedFor) {
  make("bsp");
  for (const std::uint32_t w : {0U, 1U}) {
    step(ProcessDied{.node = kEvaluator, .cause = "exit code 0"});
    const Outputs out = step(ProcessDied{.node = worker_node({w}), .cause = "exit code 0"});
    ASSERT_EQ(stop_of(out).has_value(), w == 1);
    if (w == 0) continue;
    EXPECT_EQ(stop_of(out)->exit_code, 4);
    EXPECT_THAT(stop_of(out)->why, HasSubstr("worker 1: exit code 0"));
  }
}

TEST_F(CoordinatorTest, OnlyServersReportPushesAndOnlyTheLauncherIsBelieved) {
  make("asp");
  start();
  const PushId push{{0}, 1, 0};
  say(worker_node({0}), wire::Held{push});
  say(worker_node({1}), wire::Held{push});
  EXPECT_EQ(stats().version, 0U);
  EXPECT_THAT(say(worker_node({0}), wire::Finish{}), IsEmpty());
}

}  // namespace
}  // namespace paceline::roles
