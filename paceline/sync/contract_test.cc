// What policy.h promises of every policy in the registry, whatever events come.
#include <limits>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include "paceline/sync/registry.h"
#include "paceline/sync/testing.h"

namespace paceline::sync {
namespace {

using namespace testing;
using ::testing::IsEmpty;
using ::testing::Not;

class SyncPolicyContract : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<SyncPolicy> make() const { return *make_policy(GetParam()); }
};

TEST_P(SyncPolicyContract, JunkGivesAnEmptyDecisionAndChangesNothing) {
  const auto clean = make();
  const auto dirty = make();
  const auto both = [&](const Event& event) {
    const Decision decision = clean->step(event);
    EXPECT_EQ(dirty->step(event), decision);
    EXPECT_THAT(decision.reason, Not(IsEmpty()));
  };
  const auto junk = [&](const Event& event) { EXPECT_EQ(dirty->step(event), Decision{}); };
  junk(push(0, 0, 900));
  junk(leave(0, 900));
  both(join(0));
  both(join(1));
  junk(join(0, 900));
  junk(leave(2, 900));
  junk(push(2, 0, 900));
  both(push(0, 5, 2));
  junk(push(0, 5, 900));     // repeated
  junk(push(0, 4, 900));     // older
  junk(push(0, 9, 900, 0));  // of an older life
  both(push(1, 0, 3));
  both(push(0, 6, 4));
  both(leave(0, 4));
  junk(leave(0, 900));
  junk(push(0, 7, 900));
  both(join(0, 5));
  junk(push(0, 6, 900));  // applied before it left
  both(push(0, 7, 9));
  both(push(1, 1, 11));
}

TEST_P(SyncPolicyContract, EveryPushIsAppliedOnceAndReleasesGoToThoseWhoMayHaveThem) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto policy = make();
    RandomEvents events(Rng(seed).stream(GetParam()), 5);
    std::set<PushId> accepted, done;
    std::map<WorkerId, bool> open;  // of who is in: has a release
    for (int i = 0; i < 150; ++i) {
      const Event event = events.next();
      const Decision decision = policy->step(event);
      events.observe(event, decision);
      if (decision.reason.empty()) {
        ASSERT_EQ(decision, Decision{});
        continue;
      }
      if (const auto* pushed = std::get_if<Pushed>(&event.what)) {
        ASSERT_TRUE(open.at(pushed->push.worker));
        open[pushed->push.worker] = false;
        accepted.insert(pushed->push);
      } else if (const auto* joined = std::get_if<Joined>(&event.what)) {
        ASSERT_TRUE(open.emplace(joined->worker, false).second);
      } else {
        ASSERT_EQ(open.erase(std::get<Left>(event.what).worker), 1u);
      }
      for (const Apply& apply : decision.apply) {
        ASSERT_FALSE(apply.pushes.empty());
        ASSERT_TRUE(std::is_sorted(apply.pushes.begin(), apply.pushes.end()));
        for (const PushId& push : apply.pushes) {
          ASSERT_TRUE(accepted.contains(push));
          ASSERT_TRUE(done.insert(push).second) << to_string(push);
        }
      }
      for (const PushId& push : decision.drop) {
        ASSERT_TRUE(accepted.contains(push));
        ASSERT_TRUE(done.insert(push).second) << to_string(push);
      }
      ASSERT_TRUE(std::is_sorted(decision.release.begin(), decision.release.end()));
      for (const WorkerId worker : decision.release) {
        ASSERT_TRUE(open.contains(worker) && !open.at(worker)) << "worker " << worker.value;
        open[worker] = true;
      }
      const bool somebody = std::any_of(open.begin(), open.end(), [](auto& w) { return w.second; });
      ASSERT_TRUE(open.empty() || somebody) << "all wait, seed " << seed << ", event " << i;
      if (open.empty()) {
        ASSERT_EQ(done, accepted) << "pushes lost when the last worker left";
      }
    }
  }
}

// From any state, if all that are released push, and again, everybody gets on.
TEST_P(SyncPolicyContract, EverybodyGetsOnWhenAllPush) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto policy = make();
    RandomEvents events(Rng(seed).stream(GetParam()), 4);
    std::set<WorkerId> in, open;
    std::map<WorkerId, Step> pushes;
    const auto perform = [&](const Event& event) {
      const Decision decision = policy->step(event);
      events.observe(event, decision);
      if (decision.reason.empty()) return;
      if (const auto* pushed = std::get_if<Pushed>(&event.what)) {
        open.erase(pushed->push.worker);
        ++pushes[pushed->push.worker];
      } else if (const auto* joined = std::get_if<Joined>(&event.what)) {
        in.insert(joined->worker);
      } else {
        in.erase(std::get<Left>(event.what).worker);
        open.erase(std::get<Left>(event.what).worker);
      }
      open.insert(decision.release.begin(), decision.release.end());
    };
    for (int i = 0; i < 60; ++i) perform(events.next());
    const auto before = pushes;
    for (std::int64_t round = 0; round < 400; ++round) {
      const std::set<WorkerId> now = open;
      for (const WorkerId worker : now) {
        const auto step = static_cast<Step>(round);
        perform(push(worker.value, step, 1000 + 10 * round, 1000));
      }
    }
    for (const WorkerId worker : in) {
      const auto it = before.find(worker);
      EXPECT_GE(pushes[worker], (it == before.end() ? 0 : it->second) + 2) << "seed " << seed;
    }
  }
}

// Times at the ends of their range, in any order: no overflow (ubsan sees one), no endless work.
TEST_P(SyncPolicyContract, HostileTimesAreHarmless) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    const auto policy = make();
    RandomEvents events(rng.stream(GetParam()), 3);
    for (int i = 0; i < 40; ++i) {
      Event event = events.next();
      const std::vector<std::int64_t> times{least, 0, 1, i, most / 4 * (i / 20), most};
      // `most` late only: after it time stands still.
      event.now = Time{times[rng.below(i < 30 ? 5 : 6)]};
      events.observe(event, policy->step(event));
    }
  }
}

TEST_P(SyncPolicyContract, TheSameEventsGiveTheSameDecisions) {
  const auto a = make();
  const auto b = make();
  RandomEvents events(Rng(11), 4);
  for (int i = 0; i < 500; ++i) {
    const Event event = events.next();
    const Decision decision = a->step(event);
    ASSERT_EQ(b->step(event), decision);
    events.observe(event, decision);
  }
}

TEST_P(SyncPolicyContract, ItsSpecMakesItAgain) {
  EXPECT_EQ(make()->spec(), GetParam());
  EXPECT_EQ((*make_policy(make()->spec()))->spec(), GetParam());
}

std::vector<std::string> specs() {
  std::vector<std::string> all{"ssp:0",         "dssp:0-0",
                               "dssp:1-2",      "dssp_literal:0-4",
                               "elastic_bsp:1", "elastic_bsp:3,predictor=last,points=paper"};
  for (const PolicyEntry& entry : policies()) all.push_back(entry.example);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Registry, SyncPolicyContract, ::testing::ValuesIn(specs()),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace paceline::sync
