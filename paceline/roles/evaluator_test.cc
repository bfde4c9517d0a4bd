#include "paceline/roles/evaluator.h"

#include "paceline/roles/testing.h"

namespace paceline::roles {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// An evaluator of a run with two servers of one float each, welcomed.
class EvaluatorTest : public ::testing::Test {
 protected:
  EvaluatorTest() : evaluator_({.coordinator = "c", .life = 3, .parameter_count = 2}) {
    step(Started{});
    step(PeerUp{kCoordinator});
    step(from(kCoordinator,
              wire::Welcome{.attempt = 1, .shards = {{0, "a", 0, 1}, {1, "b", 1, 1}}}));
  }
  Outputs step(const Input& input) { return evaluator_.step(now_, input); }
  Outputs evaluate(std::uint64_t number) {
    return step(from(kCoordinator, wire::Evaluate{number, 10 * number}));
  }
  Outputs parameters(std::uint32_t server, std::uint64_t number) {
    return step(
        from(server_node(server), wire::Parameters{0, number, 10 * number}, payload_of({1})));
  }

  Evaluator evaluator_;
  Time now_{};
};

TEST_F(EvaluatorTest, ParametersMayComeBeforeTheQuestion) {
  EXPECT_THAT(parameters(0, 1), IsEmpty());
  EXPECT_THAT(parameters(1, 1), IsEmpty());
  EXPECT_THAT(all_of<Measure>(evaluate(1)), SizeIs(1));
}

TEST_F(EvaluatorTest, MeasuresOneAfterTheOtherAndAnswersAgainWhenAsked) {
  for (const std::uint64_t number : {1U, 2U}) {
    evaluate(number);
    parameters(0, number);
    EXPECT_THAT(all_of<Measure>(parameters(1, number)), SizeIs(number == 1 ? 1 : 0));
  }
  const Outputs outputs = step(Measured{.number = 1, .accuracy = 0.5});
  EXPECT_THAT(sent<wire::Evaluated>(outputs), ElementsAre(wire::Evaluated{1, 10, 0.5, 0}));
  EXPECT_THAT(all_of<Measure>(outputs), SizeIs(1));
  EXPECT_THAT(sent<wire::Evaluated>(evaluate(1)), SizeIs(1));
}

TEST_F(EvaluatorTest, PullsWhatIsMissing) {
  evaluate(1);
  parameters(0, 1);
  now_ += seconds(2);
  EXPECT_THAT(receivers<wire::Pull>(step(TimerFired{TimerId::Tick})), ElementsAre(server_node(1)));
}

TEST_F(EvaluatorTest, AFailedMeasurementEndsIt) {
  evaluate(1);
  parameters(0, 1);
  parameters(1, 1);
  const Outputs outputs = step(Measured{.number = 1, .error = "no data"});
  EXPECT_EQ(stop_of(outputs)->exit_code, 4);
  EXPECT_THAT(sent<wire::Failed>(outputs), SizeIs(1));
}

}  // namespace
}  // namespace paceline::roles
