// What policy.h promises of every policy in the registry, whatever events come.
#include "paceline/sync/contract.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include "paceline/base/text.h"
#include "paceline/sync/asp.h"
#include "paceline/sync/policy_base.h"
#include "paceline/sync/registry.h"
#include "paceline/sync/testing.h"
#include "paceline/sync/transcript.h"

namespace paceline::sync {
namespace {

using namespace testing;
using ::testing::AnyOf;
using ::testing::HasSubstr;
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

TEST_P(SyncPolicyContract, IsKept) {
  const Status kept = check_contract([this] { return make(); }, 1, 30'000);
  EXPECT_TRUE(kept.has_value()) << to_string(kept.error());
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

// ---- what the check finds ----

// A good policy whose decisions are tampered with on their way out.
class Tampered final : public SyncPolicy {
 public:
  using Change = std::function<void(const Event&, Decision&)>;
  Tampered(std::string_view spec, Change change)
      : good_(*make_policy(spec)), change_(std::move(change)) {}
  std::string spec() const override { return good_->spec(); }
  Decision step(const Event& event) override {
    Decision decision = good_->step(event);
    change_(event, decision);
    return decision;
  }

 private:
  std::unique_ptr<SyncPolicy> good_;
  Change change_;
};

std::string breach(const std::function<std::unique_ptr<SyncPolicy>()>& make) {
  const Status kept = check_contract(make);
  return kept ? "" : kept.error().what;
}
std::string breach(std::string_view spec, const Tampered::Change& change) {
  return breach([&] { return std::make_unique<Tampered>(spec, change); });
}
std::ptrdiff_t lines(const std::string& text) { return std::ranges::count(text, '\n'); }

TEST(ContractTest, TellsWhatIsBrokenWithAShortConversation) {
  const std::string twice = breach("asp", [](const Event&, Decision& decision) {
    if (!decision.apply.empty()) decision.apply.push_back(decision.apply.front());
  });
  EXPECT_EQ(twice,
            "policy 'asp' breaks the contract: the push of worker 0, step 0 (life 1) is applied "
            "although it was decided before\n"
            "join 0                          -> release 0\n"
            "    worker 0 joins\n"
            "push 0 step=0                   -> apply 0#0; apply 0#0; release 0\n"
            "    worker 0 goes on: asp never waits\n");
}

TEST(ContractTest, FindsWhatAWrongDecisionShows) {
  const auto expect = [](const char* spec, const char* what, const Tampered::Change& change) {
    const std::string found = breach(spec, change);
    EXPECT_THAT(found, HasSubstr(what));
    EXPECT_LT(lines(found), 12) << found;
  };
  expect("asp", "released twice", [](const Event&, Decision& decision) {
    if (decision.release.size() == 1) decision.release.push_back(decision.release.front());
  });
  expect("asp", "is released although it is not in the run",
         [](const Event& e, Decision& decision) {
           if (const auto* left = std::get_if<Left>(&e.what)) {
             if (!decision.reason.empty()) decision.release.push_back(left->worker);
           }
         });
  expect("bsp", "releases are not in order",
         [](const Event&, Decision& decision) { std::ranges::reverse(decision.release); });
  expect("bsp", "not in rank order", [](const Event&, Decision& decision) {
    for (Apply& apply : decision.apply) std::ranges::reverse(apply.pushes);
  });
  expect("bsp", "decided before", [](const Event&, Decision& decision) {
    if (!decision.apply.empty()) decision.drop.push_back(decision.apply.front().pushes.front());
  });
  expect("asp", "although nobody made it", [](const Event&, Decision& decision) {
    for (Apply& apply : decision.apply) ++apply.pushes.front().step;
  });
  expect("asp", "holds no push", [](const Event&, Decision& decision) {
    if (!decision.apply.empty()) decision.apply.emplace_back();
  });
  expect("asp", "without its reason",
         [](const Event&, Decision& decision) { decision.reason.clear(); });
  expect("asp", "makes no sense gives a decision that is not empty", [](const Event&, Decision& d) {
    if (d.reason.empty()) d.reason = "nothing to do";
  });
  expect("asp", "makes no sense gives a decision that is not empty",
         [](const Event& e, Decision& d) {
           const auto* joined = std::get_if<Joined>(&e.what);
           if (joined && d.reason.empty()) d.release.push_back(joined->worker);
         });
  expect("asp", "neither applied nor dropped",
         [](const Event&, Decision& decision) { decision.apply.clear(); });
}

// Rules of one's own, each with one slip, over PolicyBase as users write them.
class Slip : public PolicyBase {
 public:
  std::string spec() const override { return "slip"; }

 protected:
  Decision joined(WorkerId worker, Time) override {
    return {.release = {worker}, .reason = "joins"};
  }
  Decision pushed(const PushId& push, Time) override {
    return {.apply = {{{push}}}, .release = {push.worker}, .reason = "goes on"};
  }
  Decision left(WorkerId, Time) override { return {.reason = "left"}; }
};

// BSP that waits on for who has left.
class WaitsForTheAbsent final : public Slip {
  Decision joined(WorkerId worker, Time) override {
    in_.insert(worker);
    return {.release = {worker}, .reason = "joins"};
  }
  Decision pushed(const PushId& push, Time) override {
    buffer_.insert(push);
    there_.insert(push.worker);
    return barrier();
  }
  Decision left(WorkerId worker, Time) override {
    in_.erase(worker);
    there_.erase(worker);
    return in_.empty() ? barrier() : Decision{.reason = "left"};
  }
  Decision barrier() {
    Decision decision{.reason = "barrier"};
    if (there_.size() < in_.size() || buffer_.empty()) return decision;
    decision.apply.push_back({{buffer_.begin(), buffer_.end()}});
    decision.release.assign(in_.begin(), in_.end());
    buffer_.clear();
    there_.clear();
    return decision;
  }

  std::set<WorkerId> in_, there_;
  std::set<PushId> buffer_;
};

// A barrier that waits for all but one, and forgets the push of who leaves before it.
class ForgetsALastPush final : public Slip {
  Decision joined(WorkerId worker, Time) override {
    in_.insert(worker);
    return {.release = {worker}, .reason = "joins"};
  }
  Decision pushed(const PushId& push, Time) override {
    there_.emplace(push.worker, push);
    return barrier();
  }
  Decision left(WorkerId worker, Time) override {
    in_.erase(worker);
    there_.erase(worker);
    return barrier();
  }
  Decision barrier() {
    Decision decision{.reason = "barrier"};
    if (there_.size() + 1 < in_.size() || there_.empty()) return decision;
    decision.apply.emplace_back();
    for (const auto& [worker, push] : there_) {
      decision.apply[0].pushes.push_back(push);
      decision.release.push_back(worker);
    }
    there_.clear();
    return decision;
  }

  std::set<WorkerId> in_;
  std::map<WorkerId, PushId> there_;
};

// Holds everybody back.
class HangsEveryone final : public Slip {
  Decision pushed(const PushId& push, Time) override {
    return {.apply = {{{push}}}, .reason = "waits"};
  }
};

// Worker 1 goes on only when it is alone; the others run.
class HoldsOneForGood final : public Slip {
  Decision joined(WorkerId worker, Time now) override {
    in_.insert(worker);
    return Slip::joined(worker, now);
  }
  Decision pushed(const PushId& push, Time now) override {
    if (push.worker != WorkerId{1} || in_.size() == 1) return Slip::pushed(push, now);
    held_ = true;
    return {.apply = {{{push}}}, .reason = "waits"};
  }
  Decision left(WorkerId worker, Time) override {
    in_.erase(worker);
    if (worker == WorkerId{1}) held_ = false;
    if (!held_ || in_.size() > 1) return {.reason = "left"};
    held_ = false;
    return {.release = {WorkerId{1}}, .reason = "left"};
  }

  std::set<WorkerId> in_;
  bool held_ = false;
};

// Decides by something that is not in the events.
class ChangesItsMind final : public Slip {
 public:
  explicit ChangesItsMind(bool mind) : mind_(mind) {}

 private:
  Decision pushed(const PushId& push, Time) override {
    if (mind_) return {.drop = {push}, .release = {push.worker}, .reason = "dropped"};
    return {.apply = {{{push}}}, .release = {push.worker}, .reason = "applied"};
  }
  bool mind_;
};

// No PolicyBase: it counts what makes no sense.
class CountsJunk final : public SyncPolicy {
 public:
  std::string spec() const override { return "counts"; }
  Decision step(const Event& event) override {
    ++events_;
    Decision decision = good_.step(event);
    if (!decision.reason.empty()) decision.reason = cat("event ", events_);
    return decision;
  }

 private:
  ASP good_;
  int events_ = 0;
};

// A leave lets worker 0 go on, whoever left.
class ReleasesTwice final : public Slip {
  Decision left(WorkerId, Time) override { return {.release = {WorkerId{0}}, .reason = "left"}; }
};

TEST(ContractTest, FindsSlipsInARuleOfOnesOwn) {
  EXPECT_EQ(breach([] { return std::make_unique<Slip>(); }), "");
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Status kept = check_contract([] { return std::make_unique<WaitsForTheAbsent>(); }, seed);
    ASSERT_FALSE(kept.has_value());
    EXPECT_THAT(kept.error().what,
                HasSubstr("all wait, and nobody may go on\n"
                          "join 0                          -> release 0\n    joins\n"
                          "join 1                          -> release 1\n    joins\n"));
    EXPECT_THAT(kept.error().what, HasSubstr("\nleave "));
  }
  EXPECT_THAT(breach([] { return std::make_unique<ForgetsALastPush>(); }),
              HasSubstr("the last worker left, and the push of worker"));
  EXPECT_THAT(breach([] { return std::make_unique<HangsEveryone>(); }), HasSubstr("all wait"));
  EXPECT_THAT(breach([] { return std::make_unique<HoldsOneForGood>(); }),
              HasSubstr("does not get on: 1 pushes while all that may go on pushed 400 times"));
  EXPECT_THAT(breach([] { return std::make_unique<ReleasesTwice>(); }),
              AnyOf(HasSubstr("released twice"), HasSubstr("not in the run")));
  bool mind = false;
  EXPECT_THAT(breach([&] { return std::make_unique<ChangesItsMind>(mind = !mind); }),
              HasSubstr("the same events give another decision"));
  EXPECT_THAT(breach([] { return std::make_unique<CountsJunk>(); }),
              HasSubstr("an event that makes no sense changed something"));
}

// Tells at its end whether it was asked anything, and everybody left.
class CountsTheDeserted final : public Slip {
 public:
  explicit CountsTheDeserted(int& deserted) : deserted_(deserted) {}
  ~CountsTheDeserted() override { deserted_ += was_asked_ && in_.empty() ? 1 : 0; }

 private:
  Decision joined(WorkerId worker, Time now) override {
    was_asked_ = true;
    in_.insert(worker);
    return Slip::joined(worker, now);
  }
  Decision left(WorkerId worker, Time now) override {
    in_.erase(worker);
    return Slip::left(worker, now);
  }

  int& deserted_;
  bool was_asked_ = false;
  std::set<WorkerId> in_;
};

TEST(ContractTest, AThirdOfTheConversationsEndsWithNobodyLeft) {
  int deserted = 0;
  const auto make = [&] { return std::make_unique<CountsTheDeserted>(deserted); };
  ASSERT_TRUE(check_contract(make, 1, 4800).has_value());
  EXPECT_GE(deserted, 20 * 3) << "60 conversations of a policy, its twin, and an undisturbed one";
}

TEST(ContractTest, TheSameSeedAsksTheSame) {
  const auto conversation = [](std::uint64_t seed) {
    std::string text;
    const auto make = [&] {
      return std::make_unique<Tampered>(
          "asp", [&](const Event& e, Decision& d) { text += exchange_text(to_string(e), d); });
    };
    EXPECT_TRUE(check_contract(make, seed, 400).has_value());
    return text;
  };
  EXPECT_EQ(conversation(3), conversation(3));
  EXPECT_NE(conversation(3), conversation(4));
}

TEST(ContractDeathTest, ALiveRunDoesNotGoOnWithABrokenPolicy) {
  ReleasesTwice policy;
  policy.step(join(0));
  policy.step(join(1));
  EXPECT_DEATH(policy.step(leave(1)), "once for each push");
  class Wordless final : public Slip {
    Decision joined(WorkerId worker, Time) override { return {.release = {worker}}; }
  };
  EXPECT_DEATH(Wordless().step(join(0)), "says why");
}

}  // namespace
}  // namespace paceline::sync
