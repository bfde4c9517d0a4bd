#include "paceline/roles/worker.h"

#include "paceline/roles/testing.h"

namespace paceline::roles {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Worker 0 of a run with two servers of one float each.
class WorkerTest : public ::testing::Test {
 protected:
  WorkerTest() { make(options()); }
  void make(const WorkerOptions& options) {
    worker_.emplace(options, pool_);
    step(Started{});
    joined_ = step(PeerUp{kCoordinator});
  }
  static WorkerOptions options() {
    return {.coordinator = "c", .life = 9, .parameter_count = 2, .dataset_size = 10};
  }
  Outputs step(const Input& input) { return worker_->step(now_, input); }
  Outputs welcome(Incarnation life, bool initialise = false, std::uint64_t attempt = 1) {
    return step(from(kCoordinator, wire::Welcome{.attempt = attempt,
                                                 .incarnation = life,
                                                 .shards = {{0, "s0", 0, 1}, {1, "s1", 1, 1}},
                                                 .initialise = initialise}));
  }
  Outputs servers_up() {
    step(PeerUp{server_node(0)});
    return step(PeerUp{server_node(1)});
  }
  Outputs release(Step s, Incarnation life = 1) {
    return step(from(kCoordinator,
                     wire::Release{.incarnation = life, .step = s, .batch = s, .samples = {s}}));
  }
  Outputs parameters(std::uint32_t server, Step s, Incarnation life = 1) {
    return step(from(server_node(server), wire::Parameters{life, s, s}, payload_of({1})));
  }
  // Up to the gradient of step 0 asked for.
  Outputs computing() {
    welcome(1);
    servers_up();
    release(0);
    parameters(0, 0);
    return parameters(1, 0);
  }
  Outputs tick() { return step(TimerFired{TimerId::Tick}); }

  HeapPool pool_;
  std::optional<Worker> worker_;
  Time now_{};
  Outputs joined_;
};

TEST_F(WorkerTest, JoinsConnectsAndIsReadyWhenAllServersAreThere) {
  EXPECT_THAT(sent<wire::Join>(joined_), ElementsAre(wire::Join{9, 1, 2, 10}));
  EXPECT_THAT(all_of<Connect>(welcome(1)), SizeIs(2));
  EXPECT_TRUE(sent<wire::Ready>(step(PeerUp{server_node(0)})).empty());
  EXPECT_THAT(sent<wire::Ready>(step(PeerUp{server_node(1)})), ElementsAre(wire::Ready{1}));
}

TEST_F(WorkerTest, ComputesOnceTheReleaseAndAllShardsAreThereInAnyOrder) {
  welcome(1);
  servers_up();
  EXPECT_TRUE(parameters(1, 0).empty()) << "before its release: kept";
  release(0);
  const auto computes = all_of<Compute>(parameters(0, 0));
  ASSERT_THAT(computes, SizeIs(1));
  EXPECT_THAT(computes[0].samples, ElementsAre(0));
  EXPECT_TRUE(all_of<Compute>(release(0)).empty()) << "repeated";
  EXPECT_TRUE(all_of<Compute>(parameters(0, 0)).empty()) << "repeated";
}

TEST_F(WorkerTest, PushesToAllServersAndAsksThoseThatDoNotAnswer) {
  computing();
  const Outputs pushed = step(GradientComputed{.step = 0, .loss = 2});
  EXPECT_THAT(receivers<wire::Push>(pushed), ElementsAre(server_node(0), server_node(1)));
  ASSERT_THAT(sent<wire::Progress>(pushed), SizeIs(1));
  EXPECT_EQ(sent<wire::Progress>(pushed)[0].loss, 2);
  const PushId push{{0}, 1, 0};
  step(from(server_node(0), wire::PushAck{push}));
  now_ += seconds(2);
  const Outputs asked = tick();
  EXPECT_THAT(receivers<wire::PushQuery>(asked), ElementsAre(server_node(1)));
  EXPECT_THAT(sent<wire::Ask>(asked), ElementsAre(wire::Ask{1, 1}));
  EXPECT_THAT(receivers<wire::Push>(step(from(server_node(1), wire::PushMissing{push}))),
              ElementsAre(server_node(1)));
  EXPECT_TRUE(step(from(server_node(0), wire::PushMissing{push})).empty()) << "it said it has it";
}

TEST_F(WorkerTest, RepeatsEverLessOften) {
  computing();
  step(GradientComputed{.step = 0});
  int questions = 0;
  for (int i = 0; i < 58; ++i) {
    now_ += milliseconds(500);
    step(from(kCoordinator, wire::Ping{}));
    questions += static_cast<int>(sent<wire::Ask>(tick()).size());
  }
  EXPECT_GE(questions, 4);
  EXPECT_LE(questions, 7);
}

TEST_F(WorkerTest, AskedToInitialiseItDoesSoEvenIfItIsReady) {
  welcome(1);
  EXPECT_THAT(sent<wire::Ready>(servers_up()), SizeIs(1));
  const Outputs outputs = welcome(1, true);
  EXPECT_THAT(all_of<MakeInitial>(outputs), SizeIs(1));
  EXPECT_THAT(receivers<wire::Initialise>(outputs), SizeIs(2));
  EXPECT_TRUE(all_of<MakeInitial>(welcome(1, true)).empty()) << "it is on its way";
  step(from(server_node(0), wire::Initialised{}));
  step(from(server_node(1), wire::Initialised{}));
  EXPECT_TRUE(all_of<MakeInitial>(welcome(1, true)).empty()) << "it is done";
}

TEST_F(WorkerTest, ReadyOnlyWhenItsFirstParametersAreAcknowledged) {
  welcome(1, true);
  EXPECT_TRUE(sent<wire::Ready>(servers_up()).empty());
  EXPECT_TRUE(sent<wire::Ready>(step(from(server_node(0), wire::Initialised{}))).empty());
  EXPECT_THAT(sent<wire::Ready>(step(from(server_node(1), wire::Initialised{}))), SizeIs(1));
}

TEST_F(WorkerTest, ExpelledItJoinsAnewAndForgetsItsGradient) {
  computing();
  const Outputs again = step(from(kCoordinator, wire::Expelled{1, "silence"}));
  EXPECT_THAT(sent<wire::Join>(again), ElementsAre(wire::Join{9, 2, 2, 10}));
  EXPECT_TRUE(step(GradientComputed{.step = 0}).empty()) << "of the life before";
  welcome(4, false, 2);
  EXPECT_TRUE(step(from(kCoordinator, wire::Expelled{1, "late"})).empty());
  release(0, 4);
  parameters(0, 0, 4);
  EXPECT_THAT(all_of<Compute>(parameters(1, 0, 4)), SizeIs(1));
}

TEST_F(WorkerTest, AReleaseOfAnotherLifeIsIgnored) {
  welcome(4);
  servers_up();
  release(0, 1);
  parameters(0, 0, 4);
  EXPECT_TRUE(all_of<Compute>(parameters(1, 0, 4)).empty());
  EXPECT_EQ(all_of<Compute>(release(0, 4)).size(), 1U);
}

TEST_F(WorkerTest, APushOfTheLifeBeforeIsForgotten) {
  computing();
  step(GradientComputed{.step = 0});
  step(from(kCoordinator, wire::Expelled{1, "silence"}));
  welcome(4, false, 2);
  now_ += seconds(5);
  step(from(kCoordinator, wire::Ping{}));
  EXPECT_TRUE(sent<wire::PushQuery>(tick()).empty());
  EXPECT_TRUE(step(from(server_node(0), wire::PushMissing{{{0}, 1, 0}})).empty());
}

TEST_F(WorkerTest, ANewLifeWaitsForTheGradientThatIsStillBeingComputed) {
  computing();
  step(PeerDown{kCoordinator, "reset"});
  step(PeerUp{kCoordinator});
  welcome(4, false, 2);
  release(0, 4);
  parameters(0, 0, 4);
  EXPECT_TRUE(all_of<Compute>(parameters(1, 0, 4)).empty());
  const Outputs after = step(GradientComputed{.step = 0});
  EXPECT_TRUE(sent<wire::Push>(after).empty());
  EXPECT_THAT(all_of<Compute>(after), SizeIs(1));
}

TEST_F(WorkerTest, HoldsAGradientBackUntilTheStepFloor) {
  WorkerOptions slow = options();
  slow.step_floor = milliseconds(180);
  make(slow);
  computing();
  now_ += milliseconds(60);
  const Outputs computed = step(GradientComputed{.step = 0});
  EXPECT_TRUE(sent<wire::Push>(computed).empty());
  ASSERT_THAT(all_of<SetTimer>(computed), SizeIs(1));
  EXPECT_EQ(all_of<SetTimer>(computed)[0].at, milliseconds(180));
  EXPECT_TRUE(sent<wire::Push>(step(TimerFired{TimerId::StepFloor})).empty()) << "too early";
  now_ = milliseconds(180);
  EXPECT_THAT(sent<wire::Push>(step(TimerFired{TimerId::StepFloor})), SizeIs(2));
}

TEST_F(WorkerTest, EndsWithTheRightCode) {
  EXPECT_EQ(stop_of(step(from(kCoordinator, wire::Finish{"done"})))->exit_code, 0);
  EXPECT_TRUE(tick().empty()) << "nothing after the end";
}

TEST_F(WorkerTest, ARefusalIsForGood) {
  const auto stop = stop_of(step(from(kCoordinator, wire::Expelled{0, "another model"})));
  ASSERT_TRUE(stop.has_value());
  EXPECT_EQ(stop->exit_code, 4);
  EXPECT_THAT(stop->why, HasSubstr("another model"));
}

TEST_F(WorkerTest, AFailedGradientEndsItAndTheCoordinatorIsTold) {
  computing();
  const Outputs outputs = step(GradientComputed{.step = 0, .error = "out of memory"});
  ASSERT_TRUE(stop_of(outputs).has_value());
  ASSERT_THAT(sent<wire::Failed>(outputs), SizeIs(1));
  EXPECT_THAT(sent<wire::Failed>(outputs)[0].why, HasSubstr("out of memory"));
}

TEST_F(WorkerTest, OnlyTheCoordinatorCommands) {
  welcome(1);
  servers_up();
  for (const wire::Message& message :
       {wire::Message(wire::Finish{}), wire::Message(wire::Expelled{}),
        wire::Message(wire::Release{.incarnation = 1, .samples = {1}})}) {
    EXPECT_TRUE(step(from(server_node(0), message)).empty());
  }
}

}  // namespace
}  // namespace paceline::roles
