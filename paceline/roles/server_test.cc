#include "paceline/roles/server.h"

#include "paceline/roles/testing.h"

namespace paceline::roles {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PushId push(std::uint32_t worker, Step step, Incarnation life = 1) {
  return {WorkerId{worker}, life, step};
}

// A server of two floats, {1, 2}, with plain SGD, at second 0.
class ServerTest : public ::testing::Test {
 protected:
  ServerTest() : server_({.coordinator = "c", .address = "s", .life = 5}, pool_) {
    step(Started{});
    step(PeerUp{kCoordinator});
    step(from(kCoordinator,
              wire::Configure{
                  .count = 2, .optimizer = "sgd", .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8}));
    step(from(worker_node({0}), wire::Initialise{}, payload_of({1, 2})));
  }
  Outputs step(const Input& input, Time now = Time{}) { return server_.step(now, input); }
  Outputs give(const PushId& id, std::vector<float> gradient) {
    return step(from(worker_node(id.worker), wire::Push{id}, payload_of(gradient)));
  }
  Outputs decide(wire::Decide decide) { return step(from(kCoordinator, std::move(decide))); }
  std::vector<float> parameters() const {
    return {server_.parameters().begin(), server_.parameters().end()};
  }

  HeapPool pool_;
  Server server_;
};

TEST_F(ServerTest, AcknowledgesAPushReportsItAndAppliesItWhenTold) {
  const Outputs outputs = give(push(0, 0), {4, 8});
  EXPECT_THAT(sent<wire::PushAck>(outputs), ElementsAre(wire::PushAck{push(0, 0)}));
  EXPECT_THAT(sent<wire::Held>(outputs), ElementsAre(wire::Held{push(0, 0)}));
  EXPECT_THAT(parameters(), ElementsAre(1, 2));
  const Outputs done = decide({.number = 1, .updates = {{{push(0, 0)}, 0.25F}}});
  EXPECT_THAT(parameters(), ElementsAre(0, 0));
  EXPECT_THAT(sent<wire::Decided>(done), ElementsAre(wire::Decided{1, 0}));
  EXPECT_EQ(server_.version(), 1U);
  EXPECT_EQ(server_.held(), 0U);
}

TEST_F(ServerTest, TheMeanIsOneUpdate) {
  give(push(0, 0), {4, 0});
  give(push(1, 0), {0, 4});
  decide({.number = 1, .updates = {{{push(0, 0), push(1, 0)}, 0.5F}}});
  EXPECT_THAT(parameters(), ElementsAre(0, 1));
  EXPECT_EQ(server_.version(), 1U);
}

TEST_F(ServerTest, ARepeatedPushIsAcknowledgedAndNeverHeldTwice) {
  give(push(0, 0), {4, 8});
  EXPECT_EQ(sent<wire::PushAck>(give(push(0, 0), {4, 8})).size(), 1U);
  EXPECT_EQ(server_.held(), 1U);
  decide({.number = 1, .updates = {{{push(0, 0)}, 1}}});
  EXPECT_EQ(sent<wire::PushAck>(give(push(0, 0), {4, 8})).size(), 1U) << "it is decided";
  EXPECT_EQ(server_.held(), 0U);
  EXPECT_THAT(sent<wire::Decided>(decide({.number = 1})), ElementsAre(wire::Decided{1, 2}));
}

TEST_F(ServerTest, DecisionsAreCarriedOutInOrderEachOnce) {
  give(push(0, 0), {1, 1});
  give(push(1, 0), {1, 1});
  const wire::Decide first{.number = 1, .updates = {{{push(0, 0)}, 1}}};
  const wire::Decide second{.number = 2, .updates = {{{push(1, 0)}, 1}}};
  decide(second);
  EXPECT_EQ(server_.decided(), 0U) << "the first is missing";
  decide(first);
  decide(first);
  decide(second);
  decide(second);
  EXPECT_THAT(parameters(), ElementsAre(-1, 0));
  EXPECT_EQ(server_.version(), 2U);
}

TEST_F(ServerTest, ADroppedPushThatComesLateIsNotHeld) {
  decide({.number = 1, .drop = {push(0, 3)}});
  const Outputs late = give(push(0, 3), {1, 1});
  EXPECT_EQ(sent<wire::PushAck>(late).size(), 1U);
  EXPECT_TRUE(sent<wire::Held>(late).empty());
  EXPECT_EQ(server_.held(), 0U);
}

TEST_F(ServerTest, APushOfAnEarlierLifeThatIsHeldIsNotTakenForDecided) {
  give(push(0, 9, 1), {1, 1});
  give(push(0, 0, 2), {1, 1});
  decide({.number = 1, .updates = {{{push(0, 0, 2)}, 1}}});
  const Outputs asked = step(from(worker_node({0}), wire::PushQuery{push(0, 9, 1)}));
  EXPECT_EQ(sent<wire::PushAck>(asked).size(), 1U);
  decide({.number = 2, .updates = {{{push(0, 9, 1)}, 1}}});
  EXPECT_EQ(server_.version(), 2U);
}

TEST_F(ServerTest, SaysWhatItMissesAndRefusesTheWrongSize) {
  const Outputs asked = step(from(worker_node({0}), wire::PushQuery{push(0, 0)}));
  EXPECT_EQ(sent<wire::PushMissing>(asked).size(), 1U);
  const Outputs refused = give(push(0, 0), {1, 2, 3});
  ASSERT_EQ(sent<wire::PushRefused>(refused).size(), 1U);
  EXPECT_THAT(sent<wire::PushRefused>(refused)[0].why, HasSubstr("12 bytes, this shard has 8"));
}

TEST_F(ServerTest, OfOneWorkerItHoldsNoMoreThanItSays) {
  for (Step s = 0; s < Server::kHeldPerWorker; ++s) give(push(0, s), {1, 1});
  EXPECT_TRUE(give(push(0, 9), {1, 1}).empty()) << "not acknowledged";
  EXPECT_EQ(server_.held(), Server::kHeldPerWorker);
  EXPECT_FALSE(give(push(1, 0), {1, 1}).empty());
}

TEST_F(ServerTest, APushForAnotherWorkerAndAForeignDecisionAreIgnored) {
  EXPECT_TRUE(step(from(worker_node({1}), wire::Push{push(0, 0)}, payload_of({1, 1}))).empty());
  give(push(0, 0), {1, 1});
  step(from(worker_node({0}), wire::Decide{.number = 1, .updates = {{{push(0, 0)}, 1}}}));
  step(from(worker_node({0}), wire::Finish{}));
  EXPECT_EQ(server_.decided(), 0U);
}

TEST_F(ServerTest, ServesTheReleasedAndThoseWhoAskAgainForThatRelease) {
  const Outputs outputs = decide({.number = 1, .recipients = {{worker_node({0}), 1, 4}}});
  EXPECT_THAT(sent<wire::Parameters>(outputs), ElementsAre(wire::Parameters{1, 4, 0}));
  EXPECT_EQ(sent<wire::Parameters>(step(from(worker_node({0}), wire::Pull{1, 4}))).size(), 1U);
  EXPECT_TRUE(step(from(worker_node({0}), wire::Pull{1, 3})).empty());
  EXPECT_TRUE(step(from(worker_node({1}), wire::Pull{1, 4})).empty());
}

TEST_F(ServerTest, WhatWasSentDoesNotChangeWhenTheShardMoves) {
  const Outputs outputs = decide({.number = 1, .recipients = {{worker_node({0}), 1, 0}}});
  const Payload payload = all_of<Send>(outputs)[0].payload;
  give(push(0, 0), {1, 1});
  decide({.number = 2, .updates = {{{push(0, 0)}, 1}}});
  EXPECT_THAT(floats(payload), ElementsAre(1, 2));
}

TEST_F(ServerTest, OnlyTheFirstParametersCount) {
  step(from(worker_node({1}), wire::Initialise{}, payload_of({7, 7})));
  EXPECT_THAT(parameters(), ElementsAre(1, 2));
}

TEST_F(ServerTest, RepeatsWhatItHoldsEverLessOftenAndOnANewLink) {
  give(push(0, 0), {1, 1});
  int reports = 0;
  for (int ms = 500; ms <= 30'000; ms += 500) {
    reports += static_cast<int>(
        sent<wire::Held>(step(TimerFired{TimerId::Tick}, milliseconds(ms))).size());
    step(from(kCoordinator, wire::Ping{}), milliseconds(ms));
  }
  EXPECT_GE(reports, 4);
  EXPECT_LE(reports, 7);
  EXPECT_EQ(sent<wire::Held>(step(PeerUp{kCoordinator}, seconds(30))).size(), 1U);
}

TEST_F(ServerTest, GivesUpWithoutTheCoordinator) {
  std::optional<Stop> stop;
  Time now{};
  while (!stop && now < seconds(100)) {
    now += milliseconds(500);
    stop = stop_of(step(TimerFired{TimerId::Tick}, now));
  }
  ASSERT_TRUE(stop.has_value());
  EXPECT_EQ(stop->exit_code, 4);
  EXPECT_NEAR(to_seconds(now), 30, 1);
}

TEST_F(ServerTest, AnUpdateOfWhatIsNotHereEndsIt) {
  const auto stop = stop_of(decide({.number = 1, .updates = {{{push(0, 0)}, 1}}}));
  ASSERT_TRUE(stop.has_value());
  EXPECT_EQ(stop->exit_code, 1);
}

}  // namespace
}  // namespace paceline::roles
