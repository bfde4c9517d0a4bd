#include "paceline/sync/contract.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "paceline/base/text.h"
#include "paceline/sync/limits.h"
#include "paceline/sync/policy_base.h"
#include "paceline/sync/random_events.h"
#include "paceline/sync/transcript.h"

namespace paceline::sync {
namespace {

constexpr std::uint32_t kMostWorkers = 5;
constexpr std::size_t kConversation = 80;  // events
constexpr int kRounds = 400;               // in which everybody must have pushed twice

using Make = std::function<std::unique_ptr<SyncPolicy>()>;

tl::unexpected<Error> broken(std::string what) {
  return fail(Code::InvalidArgument, std::move(what));
}

Decision ask(SyncPolicy& policy, const Event& event) {
  // A PolicyBase would abort at what the watch is about to tell.
  if (auto* base = dynamic_cast<PolicyBase*>(&policy)) return base->try_step(event).decision;
  return policy.step(event);
}

// One conversation: the policy, a twin that is asked the same, and one that is asked only what
// makes sense, all watched.
class Conversation {
 public:
  explicit Conversation(const Make& make) : policy_(make()), twin_(make()), undisturbed_(make()) {}

  Result<Decision> say(const Event& event) {
    const Decision decision = ask(*policy_, event);
    text_ += exchange_text(to_string(event), decision);
    if (Status seen = watch_.see(event, decision); !seen) return fail(seen.error());
    const Decision again = ask(*twin_, event);
    if (again != decision) return differs("the same events give another decision", again);
    if (decision.reason.empty()) return decision;
    const Decision alone = ask(*undisturbed_, event);
    if (alone != decision) return differs("an event that makes no sense changed something", alone);
    return decision;
  }

  const std::map<WorkerId, bool>& open() const { return watch_.open(); }
  const std::string& text() const { return text_; }

 private:
  static tl::unexpected<Error> differs(const char* what, const Decision& other) {
    return broken(cat(what, ": '", to_string(other), "', ", other.reason));
  }

  std::unique_ptr<SyncPolicy> policy_;
  std::unique_ptr<SyncPolicy> twin_;
  std::unique_ptr<SyncPolicy> undisturbed_;
  ContractWatch watch_;
  std::string text_;
};

// After the events: all that are released push, until everybody has done so twice.
Status everybody_gets_on(Conversation& conversation, Time now) {
  std::map<WorkerId, Step> pushes;
  for (const auto& [worker, open] : conversation.open()) pushes[worker] = 0;
  for (int round = 0; round < kRounds; ++round) {
    const bool done = std::ranges::all_of(pushes, [](const auto& p) { return p.second >= 2; });
    if (done) return {};
    now += Duration{10};
    const std::map<WorkerId, bool> open = conversation.open();
    for (const auto& [worker, may] : open) {
      if (!may) continue;
      // In a life after all others, so that the push is new whatever came before.
      const auto said = conversation.say({now, Pushed{{worker, 1'000'000, pushes[worker]++}}});
      if (!said) return fail(said.error());
    }
  }
  const auto stuck = std::ranges::min_element(pushes, {}, [](const auto& p) { return p.second; });
  return broken(cat("worker ", stuck->first, " does not get on: ", stuck->second,
                    " pushes while all ", "that may go on pushed ", kRounds, " times"));
}

struct Breach {
  Error error;
  std::string text;
  std::size_t events;  // of the list, up to the one that shows it
};

// What a list of events shows. rounds: everybody_gets_on() afterwards.
std::optional<Breach> replay(const Make& make, const std::vector<Event>& events, bool rounds) {
  Conversation conversation(make);
  Time now{};
  for (std::size_t i = 0; i < events.size(); ++i) {
    now = std::max(now, events[i].now);
    const auto said = conversation.say(events[i]);
    if (!said) return Breach{said.error(), conversation.text(), i + 1};
  }
  if (!rounds) return std::nullopt;
  const std::size_t before = conversation.text().size();
  const Status got_on = everybody_gets_on(conversation, now);
  if (got_on) return std::nullopt;
  // The rounds are long and all alike: their beginning says enough.
  constexpr std::size_t kShown = 400;
  std::string text = conversation.text();
  if (text.size() > before + kShown) {
    text.resize(text.find('\n', before + kShown) + 1);
    text += "and so on\n";
  }
  return Breach{got_on.error(), std::move(text), events.size()};
}

std::vector<Event> timeless(std::vector<Event> events) {
  for (Event& event : events) event.now = Time{};
  return events;
}

// With workers in the order in which they appear, in their first life, and steps that count from 0.
std::vector<Event> renumbered(std::vector<Event> events) {
  std::map<WorkerId, WorkerId> names;
  std::map<WorkerId, Step> pushes;
  const auto rename = [&](WorkerId& worker) {
    worker =
        names.emplace(worker, WorkerId{static_cast<std::uint32_t>(names.size())}).first->second;
  };
  for (Event& event : events) {
    if (auto* pushed = std::get_if<Pushed>(&event.what)) {
      rename(pushed->push.worker);
      pushed->push.incarnation = 1;
      pushed->push.step = pushes[pushed->push.worker]++;
    } else if (auto* joined = std::get_if<Joined>(&event.what)) {
      rename(joined->worker);
    } else {
      rename(std::get<Left>(event.what).worker);
    }
  }
  return events;
}

// Leaves out one event after the other as long as the contract stays broken.
Breach shortest(const Make& make, std::vector<Event> events, bool rounds, Breach found) {
  const auto take_if_broken = [&](std::vector<Event> other) {
    std::optional<Breach> still = replay(make, other, rounds);
    if (!still) return false;
    other.resize(still->events);
    events = std::move(other);
    found = *std::move(still);
    return true;
  };
  events.resize(found.events);
  take_if_broken(timeless(events));
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (std::size_t i = events.size(); i-- > 0;) {
      if (i >= events.size()) continue;
      std::vector<Event> fewer = events;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (take_if_broken(std::move(fewer))) shorter = true;
    }
  }
  take_if_broken(renumbered(events));
  return found;
}

// The times of (8). The greatest comes late only: after it time stands still.
Time hostile_time(Rng& rng, std::size_t number) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto i = static_cast<std::int64_t>(number);
  const std::array<std::int64_t, 6> times{least, 0, 1, i, most / 4 * (i / 40), most};
  return Time{times[rng.below(number < 60 ? 5 : 6)]};
}

struct Random {
  std::uint32_t workers;
  std::size_t length;
  bool
      hostile;  // times; then nobody must get on: time may stand still, there is no pace to plan by
  bool ends;    // everybody leaves in the end, else everybody gets on
};

// A conversation that depends on what the policy answers; nothing if the contract was kept.
std::optional<Breach> talk(const Make& make, Rng rng, const Random& random) {
  Conversation conversation(make);
  RandomEvents source(rng.stream("events"), random.workers);
  Rng times = rng.stream("times");
  std::vector<Event> events;
  Time now{};
  const auto say = [&](Event event) -> std::optional<Breach> {
    now = std::max(now, event.now);
    events.push_back(event);
    const auto said = conversation.say(event);
    if (said) {
      source.observe(event, *said);
      return std::nullopt;
    }
    return shortest(make, events, false, {said.error(), conversation.text(), events.size()});
  };
  for (std::size_t i = 0; i < random.length; ++i) {
    Event event = source.next();
    if (random.hostile) event.now = hostile_time(times, i);
    if (auto breach = say(event)) return breach;
  }
  if (random.ends) {
    const std::map<WorkerId, bool> open = conversation.open();
    for (const auto& [worker, may] : open) {
      if (auto breach = say({now, Left{worker}})) return breach;
    }
    return std::nullopt;
  }
  if (random.hostile) return std::nullopt;
  const Status got_on = everybody_gets_on(conversation, now);
  if (got_on) return std::nullopt;
  return shortest(make, events, true, {got_on.error(), conversation.text(), events.size()});
}

Status check_spec(const Make& make) {
  const std::string spec = make()->spec();
  if (spec.empty()) return broken("a policy has a spelling, its spec(); this one's is empty");
  if (make()->spec() != spec) {
    return broken(
        cat("two fresh policies have two spellings: '", spec, "' and '", make()->spec(), "'"));
  }
  return {};
}

}  // namespace

bool ContractWatch::makes_sense(const Joined& event) {
  return open_.emplace(event.worker, false).second;
}

bool ContractWatch::makes_sense(const Pushed& event) {
  const auto member = open_.find(event.push.worker);
  if (member == open_.end() || !member->second) return false;
  const auto newest = newest_.find(event.push.worker);
  if (newest != newest_.end() && event.push <= newest->second) return false;
  member->second = false;
  newest_[event.push.worker] = event.push;
  undecided_.insert(event.push);
  return true;
}

bool ContractWatch::makes_sense(const Left& event) { return open_.erase(event.worker) == 1; }

Status ContractWatch::see(const Event& event, const Decision& decision) {
  const bool sense = std::visit([&](const auto& what) { return makes_sense(what); }, event.what);
  if (!sense) {
    if (decision == Decision{}) return {};
    return broken("an event that makes no sense gives a decision that is not empty");
  }
  if (decision.reason.empty()) return broken("a decision comes without its reason");
  if (Status applied = see_apply(decision); !applied) return applied;
  if (Status released = see_release(decision); !released) return released;
  const bool somebody = std::ranges::any_of(open_, [](const auto& w) { return w.second; });
  if (!open_.empty() && !somebody) return broken("all wait, and nobody may go on");
  if (open_.empty() && !undecided_.empty()) {
    return broken(cat("the last worker left, and the push of ", to_string(*undecided_.begin()),
                      " is neither applied nor dropped"));
  }
  return {};
}

Status ContractWatch::see_apply(const Decision& decision) {
  for (const Apply& apply : decision.apply) {
    if (apply.pushes.empty()) return broken("an update holds no push");
    if (!std::ranges::is_sorted(apply.pushes)) {
      return broken(cat("the pushes of an update are not in rank order (by worker, life, step): ",
                        to_string(Decision{.apply = {apply}})));
    }
    for (const PushId& push : apply.pushes) {
      if (Status decided = see_decided(push, "applied"); !decided) return decided;
    }
  }
  for (const PushId& push : decision.drop) {
    if (Status decided = see_decided(push, "dropped"); !decided) return decided;
  }
  return {};
}

Status ContractWatch::see_decided(const PushId& push, const char* how) {
  if (undecided_.erase(push) == 1) return {};
  const auto newest = newest_.find(push.worker);
  const bool known = newest != newest_.end() && push <= newest->second;
  return broken(cat("the push of ", to_string(push), " is ", how,
                    known ? " although it was decided before" : " although nobody made it"));
}

Status ContractWatch::see_release(const Decision& decision) {
  if (!std::ranges::is_sorted(decision.release))
    return broken("releases are not in order of worker");
  for (const WorkerId worker : decision.release) {
    const auto member = open_.find(worker);
    if (member == open_.end()) {
      return broken(cat("worker ", worker, " is released although it is not in the run"));
    }
    if (member->second) {
      return broken(cat("worker ", worker, " is released twice: it has not pushed since"));
    }
    member->second = true;
  }
  return {};
}

Status check_contract(const Make& make, std::uint64_t seed, std::size_t events) {
  if (Status spec = check_spec(make); !spec) return spec;
  const Rng rng = Rng(seed).stream("contract");
  const std::size_t conversations = (events + kConversation - 1) / kConversation;
  for (std::size_t i = 0; i < conversations; ++i) {
    const Random random{.workers = static_cast<std::uint32_t>(1 + i % kMostWorkers),
                        .length = std::min(kConversation, events - i * kConversation),
                        .hostile = i % 7 == 6,
                        .ends = i % 3 == 2};
    const std::optional<Breach> breach = talk(make, rng.stream("conversation", i), random);
    if (breach) {
      return fail(breach->error.code,
                  cat("policy '", make()->spec(), "' breaks the contract: ", breach->error.what,
                      "\n", breach->text),
                  "paceline/sync/contract.h says what every policy promises");
    }
  }
  return {};
}

}  // namespace paceline::sync
