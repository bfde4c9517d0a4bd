// Every policy against a second, dumb one that keeps nothing but the list of what happened and
// works each answer out from it by the definition. 10,000 random lists a policy agree.
#include <functional>
#include <map>
#include <optional>
#include <set>

#include <gmock/gmock.h>

#include "paceline/base/text.h"
#include "paceline/sync/registry.h"
#include "paceline/sync/testing.h"

namespace paceline::sync {
namespace {

using namespace testing;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kLists = 1'000;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::uint64_t kLists = 1'000;
#else
constexpr std::uint64_t kLists = 10'000;
#endif
#else
constexpr std::uint64_t kLists = 10'000;
#endif

class Oracle {
 public:
  virtual ~Oracle() = default;

  Decision step(const Event& event) {
    const std::int64_t newest = history_.empty() ? 0 : history_.back().at;
    now_ = std::max(newest, event.now.count());
    Decision decision;
    if (const auto* joined = std::get_if<Joined>(&event.what)) {
      if (in(joined->worker)) return {};
      on_join(joined->worker);
      note('J', {joined->worker});
      decision.release.push_back(joined->worker);
    } else if (const auto* pushed = std::get_if<Pushed>(&event.what)) {
      if (!makes_sense(pushed->push)) return {};
      note('P', pushed->push);
      decision = on_push(pushed->push);
    } else {
      const WorkerId worker = std::get<Left>(event.what).worker;
      if (!in(worker)) return {};
      note('L', {worker});
      decision = on_change();
    }
    std::sort(decision.release.begin(), decision.release.end());
    for (const WorkerId worker : decision.release) note('R', {worker});
    return decision;
  }

 protected:
  struct Entry {
    char what;  // Join, Push, Release, Leave, Barrier
    PushId id;
    std::int64_t at;
  };

  virtual void on_join(WorkerId) {}
  virtual Decision on_push(const PushId& push) = 0;
  virtual Decision on_change() { return {}; }

  void note(char what, PushId id) { history_.push_back({what, id, now_}); }
  // Index of the last entry of that kind before `end`; -1 if there is none.
  int last(char what, std::optional<WorkerId> worker = {}, int end = -1) const {
    for (int i = (end < 0 ? static_cast<int>(history_.size()) : end) - 1; i >= 0; --i) {
      const Entry& entry = history_[static_cast<std::size_t>(i)];
      if (entry.what == what && (!worker || entry.id.worker == *worker)) return i;
    }
    return -1;
  }
  bool in(WorkerId worker) const { return last('J', worker) > last('L', worker); }
  bool released(WorkerId worker) const {
    return in(worker) && last('R', worker) > std::max(last('P', worker), last('J', worker));
  }
  std::vector<WorkerId> all_in() const {
    std::vector<WorkerId> out;
    for (std::uint32_t w = 0; w < 8; ++w) {
      if (in(WorkerId{w})) out.push_back(WorkerId{w});
    }
    return out;
  }
  bool makes_sense(const PushId& push) const {
    if (!released(push.worker)) return false;
    for (const Entry& entry : history_) {
      if (entry.what == 'P' && entry.id.worker == push.worker && !(entry.id < push)) return false;
    }
    return true;
  }
  // Pushes of the worker after entry `since`.
  std::uint64_t pushes(WorkerId worker, int since) const {
    std::uint64_t count = 0;
    for (std::size_t i = static_cast<std::size_t>(since + 1); i < history_.size(); ++i) {
      if (history_[i].what == 'P' && history_[i].id.worker == worker) ++count;
    }
    return count;
  }
  std::int64_t at(int index) const { return history_[static_cast<std::size_t>(index)].at; }

  std::vector<Entry> history_;
  std::int64_t now_ = 0;
};

class AspOracle final : public Oracle {
  Decision on_push(const PushId& push) override {
    return {.apply = {{{push}}}, .release = {push.worker}};
  }
};

class BspOracle final : public Oracle {
  Decision on_push(const PushId&) override { return on_change(); }
  Decision on_change() override {
    for (const WorkerId worker : all_in()) {
      if (released(worker)) return {};
    }
    std::vector<PushId> superstep;
    for (std::size_t i = static_cast<std::size_t>(last('B') + 1); i < history_.size(); ++i) {
      if (history_[i].what == 'P') superstep.push_back(history_[i].id);
    }
    if (superstep.empty()) return {};
    note('B', {});
    std::sort(superstep.begin(), superstep.end());
    return {.apply = {{superstep}}, .release = all_in()};
  }
};

// SSP and both DSSPs: a clock each, and a rule who runs on above the lower bound.
class ClockOracle : public Oracle {
 public:
  explicit ClockOracle(std::int64_t low) : low_(low) {}

 protected:
  void on_join(WorkerId worker) override {
    start_[worker] = all_in().empty() ? 0 : slowest_clock();
    extra_[worker] = 0;
  }
  std::int64_t clock(WorkerId w) const {
    return start_.at(w) + static_cast<std::int64_t>(pushes(w, last('J', w)));
  }
  std::int64_t slowest_clock() const {
    std::int64_t least = INT64_MAX;
    for (const WorkerId w : all_in()) least = std::min(least, clock(w));
    return least;
  }
  std::int64_t gap(WorkerId w) const { return clock(w) - slowest_clock(); }
  std::int64_t last_push(WorkerId w) const { return at(std::max(last('P', w), last('J', w))); }
  WorkerId slowest() const {
    std::tuple<std::int64_t, std::int64_t, WorkerId> best{INT64_MAX, 0, {}};
    for (const WorkerId w : all_in()) best = std::min(best, {clock(w), last_push(w), w});
    return std::get<2>(best);
  }
  bool fastest(WorkerId w) const {
    for (const WorkerId other : all_in()) {
      if (clock(other) > clock(w)) return false;
    }
    return true;
  }
  static std::int64_t controller(std::int64_t a_p, std::int64_t i_p, std::int64_t a_q,
                                 std::int64_t i_q, std::int64_t r_max) {
    std::pair<std::int64_t, std::int64_t> best{INT64_MAX, 0};
    for (std::int64_t r = 0; r <= r_max; ++r) {
      for (std::int64_t k = 0; k <= r_max; ++k) {
        best = std::min(best, {std::abs(std::max(a_p, a_q + i_q) + k * i_q - (a_p + r * i_p)), r});
      }
    }
    return best.second;
  }

  virtual bool runs_on(WorkerId worker) = 0;
  Decision on_push(const PushId& push) override {
    const bool on = runs_on(push.worker);
    Decision decision = on_change();
    decision.apply = {{{push}}};
    auto& release = decision.release;
    if (on && std::find(release.begin(), release.end(), push.worker) == release.end()) {
      release.push_back(push.worker);
    }
    return decision;
  }
  Decision on_change() override {
    Decision decision;
    for (const WorkerId w : all_in()) {
      if (!released(w) && gap(w) <= low_) {
        freed(w);
        decision.release.push_back(w);
      }
    }
    return decision;
  }
  virtual void freed(WorkerId) {}

  std::int64_t low_;
  std::map<WorkerId, std::int64_t> start_;
  std::map<WorkerId, std::int64_t> extra_;
};

class SspOracle final : public ClockOracle {
  using ClockOracle::ClockOracle;
  bool runs_on(WorkerId) override { return false; }
};

class DsspOracle final : public ClockOracle {
 public:
  DsspOracle(std::int64_t low, std::int64_t high) : ClockOracle(low), high_(high) {}

 private:
  std::int64_t interval(WorkerId w) const {
    const int pushed = last('P', w);
    return at(pushed) - at(last('R', w, pushed));
  }
  bool runs_on(WorkerId p) override {
    if (gap(p) <= low_) extra_[p] = 0;
    if (gap(p) <= low_ || gap(p) > high_) return gap(p) <= low_;
    if (extra_[p] > 0) return extra_[p]-- > 0;
    const WorkerId q = slowest();
    if (!fastest(p) || pushes(q, last('J', q)) == 0) return false;
    const std::int64_t r_max = std::min(high_ - low_, high_ - gap(p) + 1);
    const std::int64_t r = controller(now_, interval(p), last_push(q), interval(q), r_max);
    if (r > 0) extra_[p] = r - 1;
    return r > 0;
  }
  void freed(WorkerId w) override { extra_[w] = 0; }
  std::int64_t high_;
};

class LiteralOracle final : public ClockOracle {
 public:
  LiteralOracle(std::int64_t low, std::int64_t high) : ClockOracle(low), high_(high) {}

 private:
  std::int64_t interval(WorkerId w) const {
    const int pushed = last('P', w);
    return at(pushed) - at(std::max(last('P', w, pushed), last('J', w, pushed)));
  }
  bool runs_on(WorkerId p) override {
    if (extra_[p] > 0) return extra_[p]-- > 0;
    if (gap(p) <= low_) return true;
    const WorkerId q = slowest();
    if (!fastest(p) || pushes(q, last('J', q)) == 0) return false;
    extra_[p] = controller(now_, interval(p), last_push(q), interval(q), high_ - low_);
    return extra_[p] > 0;
  }
  std::int64_t high_;
};

class ElasticOracle final : public Oracle {
 public:
  ElasticOracle(std::int64_t lookahead, bool mean, bool paper)
      : lookahead_(lookahead), mean_(mean), paper_(paper) {}

 private:
  using Ends = std::vector<std::int64_t>;

  void on_join(WorkerId worker) override { quota_.erase(worker); }
  std::uint64_t made(WorkerId w) const { return pushes(w, std::max(last('B'), last('J', w))); }
  bool waits(WorkerId w) const { return in(w) && !released(w); }

  std::int64_t interval(WorkerId w) const {
    std::int64_t estimate = 0;
    for (int i = last('J', w); i < static_cast<int>(history_.size()); ++i) {
      const Entry& entry = history_[static_cast<std::size_t>(i)];
      if (entry.what != 'P' || entry.id.worker != w) continue;
      const std::int64_t took = std::max<std::int64_t>(1, entry.at - at(last('R', w, i)));
      estimate = estimate == 0 || !mean_ ? took : estimate + (took - estimate) / 10;
    }
    return estimate;
  }

  Decision on_push(const PushId& push) override {
    bool is_last = false;
    if (planned_ && quota_.contains(push.worker)) {
      is_last = made(push.worker) >= quota_.at(push.worker);
    } else if (planned_) {
      is_last = true;
      for (const auto& [w, quota] : quota_) is_last = is_last && (!in(w) || !released(w));
    }
    Decision decision;
    if (is_last) {
      buffer_.insert(push);
    } else {
      decision.apply.push_back({{push}});
      decision.release.push_back(push.worker);
      note('R', {push.worker});  // noted again by the base: harmless, same time
    }
    const Decision due = on_change();
    decision.apply.insert(decision.apply.end(), due.apply.begin(), due.apply.end());
    decision.release.insert(decision.release.end(), due.release.begin(), due.release.end());
    return decision;
  }

  Decision on_change() override {
    const std::vector<WorkerId> live = all_in();
    std::erase_if(quota_, [&](const auto& entry) { return !in(entry.first); });
    if (!planned_ && !live.empty() &&
        std::all_of(live.begin(), live.end(), [&](WorkerId w) { return made(w) >= 2; })) {
      plan(live);
    }
    Decision decision;
    if (!buffer_.empty() &&
        std::all_of(live.begin(), live.end(), [&](WorkerId w) { return waits(w); })) {
      decision.apply.push_back({{buffer_.begin(), buffer_.end()}});
      decision.release = live;
      buffer_.clear();
      quota_.clear();
      planned_ = false;
      note('B', {});
    }
    if (live.empty()) planned_ = false;
    return decision;
  }

  // For each predicted end: how long does the first to arrive wait if the barrier is there?
  void plan(const std::vector<WorkerId>& live) {
    std::int64_t longest = 0;
    for (const WorkerId w : live) longest = std::max(longest, interval(w));
    std::vector<Ends> rows;
    for (const WorkerId w : live) {
      const std::int64_t length = interval(w);
      std::int64_t count = lookahead_;
      while (count * length < 2 * longest) ++count;
      std::int64_t end = at(last('P', w));
      if (!paper_) end = std::max(end + length, now_);
      Ends& row = rows.emplace_back();
      for (std::int64_t i = 0; i < count; ++i) row.push_back(end + i * length);
    }
    std::pair<std::int64_t, std::int64_t> best{INT64_MAX, 0};
    for (const Ends& row : rows) {
      for (const std::int64_t barrier : row) best = std::min(best, {wait(rows, barrier), barrier});
    }
    for (std::size_t p = 0; p < live.size(); ++p) {
      const auto after = std::upper_bound(rows[p].begin(), rows[p].end(), best.second);
      const auto index = static_cast<std::uint64_t>(after - rows[p].begin());
      const std::uint64_t more = paper_ ? (index > 1 ? index - 1 : 1) : index;
      quota_[live[p]] = made(live[p]) + more;
    }
    planned_ = true;
  }
  static std::int64_t wait(const std::vector<Ends>& rows, std::int64_t barrier) {
    std::int64_t longest = 0;
    for (const Ends& row : rows) {
      const auto after = std::upper_bound(row.begin(), row.end(), barrier);
      if (after == row.begin()) return INT64_MAX;
      longest = std::max(longest, barrier - *(after - 1));
    }
    return longest;
  }

  std::int64_t lookahead_;
  bool mean_;
  bool paper_;
  bool planned_ = false;
  std::map<WorkerId, std::uint64_t> quota_;
  std::set<PushId> buffer_;
};

std::string in_words(const Decision& decision) {
  std::string text = "apply";
  for (const Apply& apply : decision.apply) {
    text += " [";
    for (const PushId& push : apply.pushes) text += cat(to_string(push), "; ");
    text += "]";
  }
  text += " release";
  for (const WorkerId worker : decision.release) text += cat(" ", worker);
  return text + " : " + decision.reason;
}

void expect_agreement(const std::function<std::string(Rng&)>& spec_of,
                      const std::function<std::unique_ptr<Oracle>(std::string_view)>& oracle_of) {
  for (std::uint64_t seed = 0; seed < kLists; ++seed) {
    Rng rng(seed);
    const std::string spec = spec_of(rng);
    const auto policy = *make_policy(spec);
    const auto oracle = oracle_of(spec);
    RandomEvents events(rng.stream("events"), static_cast<std::uint32_t>(rng.between(1, 5)));
    const std::int64_t length = rng.between(20, 60);
    for (std::int64_t i = 0; i < length; ++i) {
      const Event event = events.next();
      const Decision decision = policy->step(event);
      const Decision expected = oracle->step(event);
      ASSERT_TRUE(decision.apply == expected.apply && decision.release == expected.release &&
                  decision.drop.empty())
          << spec << ", list " << seed << ", event " << i << "\npolicy: " << in_words(decision)
          << "\noracle: " << in_words(expected);
      events.observe(event, decision);
    }
  }
}

std::int64_t number(std::string_view text) { return static_cast<std::int64_t>(*parse_uint(text)); }

TEST(OracleTest, BSP) {
  expect_agreement([](Rng&) { return "bsp"; },
                   [](std::string_view) { return std::make_unique<BspOracle>(); });
}
TEST(OracleTest, ASP) {
  expect_agreement([](Rng&) { return "asp"; },
                   [](std::string_view) { return std::make_unique<AspOracle>(); });
}
TEST(OracleTest, SSP) {
  expect_agreement(
      [](Rng& rng) { return cat("ssp:", rng.below(5)); },
      [](std::string_view spec) { return std::make_unique<SspOracle>(number(spec.substr(4))); });
}

template <typename T>
void expect_dssp(std::string_view name) {
  expect_agreement(
      [&](Rng& rng) {
        const std::uint64_t low = rng.below(3);
        return cat(name, ":", low, "-", low + rng.below(6));
      },
      [&](std::string_view spec) {
        const std::string_view low = spec.substr(name.size() + 1, 1);
        return std::make_unique<T>(number(low), number(spec.substr(name.size() + 3)));
      });
}
TEST(OracleTest, DSSP) { expect_dssp<DsspOracle>("dssp"); }
TEST(OracleTest, DSSPLiteral) { expect_dssp<LiteralOracle>("dssp_literal"); }

TEST(OracleTest, ElasticBSP) {
  expect_agreement(
      [](Rng& rng) {
        return cat("elastic_bsp:", rng.between(1, 6), rng.chance(1, 3) ? ",predictor=last" : "",
                   rng.chance(1, 4) ? ",points=paper" : "");
      },
      [](std::string_view spec) {
        return std::make_unique<ElasticOracle>(
            number(spec.substr(12, 1)), spec.find("predictor=last") == std::string_view::npos,
            spec.find("points=paper") != std::string_view::npos);
      });
}

}  // namespace
}  // namespace paceline::sync
