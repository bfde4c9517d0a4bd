#include "paceline/roles/decision_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "paceline/base/random.h"
#include "paceline/base/text.h"

namespace paceline::roles {
namespace {

PushId push(std::uint32_t worker, Step step) { return {WorkerId{worker}, 7, step}; }

TEST(DecisionJson, IsTheLineThatTheInterfaceShows) {
  const DecisionLine line{.event = {Time{60'000'000}, sync::Pushed{push(1, 0)}},
                          .decision = {.apply = {{{push(1, 0)}}},
                                       .release = {WorkerId{1}},
                                       .reason = "worker 1 goes on"},
                          .version = 3};
  EXPECT_EQ(to_json(line),
            R"({"now":60000000,"event":"pushed","push":[1,7,0],"version":3,"apply":[[[1,7,0]]],)"
            R"("drop":[],"release":[1],"reason":"worker 1 goes on"})");
}

// As a library writes the same, byte for byte.
std::string by_library(const DecisionLine& line) {
  using nlohmann::ordered_json;
  const auto of = [](const PushId& id) {
    return ordered_json::array({id.worker.value, id.incarnation, id.step});
  };
  const auto all_of = [&](const std::vector<PushId>& pushes) {
    ordered_json list = ordered_json::array();
    for (const PushId& each : pushes) list.push_back(of(each));
    return list;
  };
  ordered_json json;
  json["now"] = line.event.now.count();
  if (const auto* joined = std::get_if<sync::Joined>(&line.event.what)) {
    json["event"] = "joined";
    json["worker"] = joined->worker.value;
  } else if (const auto* left = std::get_if<sync::Left>(&line.event.what)) {
    json["event"] = "left";
    json["worker"] = left->worker.value;
  } else {
    json["event"] = "pushed";
    json["push"] = of(std::get<sync::Pushed>(line.event.what).push);
  }
  json["version"] = line.version;
  json["apply"] = ordered_json::array();
  for (const sync::Apply& apply : line.decision.apply)
    json["apply"].push_back(all_of(apply.pushes));
  json["drop"] = all_of(line.decision.drop);
  json["release"] = ordered_json::array();
  for (const WorkerId id : line.decision.release) json["release"].push_back(id.value);
  json["reason"] = line.decision.reason;
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

TEST(DecisionJson, IsWrittenAsALibraryWritesIt) {
  Rng rng(7);
  const auto pushes = [&](std::uint64_t most) {
    std::vector<PushId> some(rng.below(most + 1));
    for (PushId& id : some) {
      id = {WorkerId{static_cast<std::uint32_t>(rng.next())}, rng.next() >> rng.below(64),
            rng.next() >> rng.below(64)};
    }
    return some;
  };
  const std::string odd[] = {"",
                             "plain",
                             "a \"quote\"",
                             "back\\slash",
                             "\n\t\r\b\f\x01\x1f",
                             "\x7f~ ",
                             "gr\xc3\xbc\xc3\x9f",
                             "\xff\xc3(",
                             "\xe2\x82",
                             "a/b"};
  for (int i = 0; i < 2000; ++i) {
    DecisionLine line{.version = rng.next() >> rng.below(64)};
    line.event.now = Time{rng.between(-5, std::int64_t{1} << 62)};
    const WorkerId worker{static_cast<std::uint32_t>(rng.next())};
    if (rng.chance(1, 3)) {
      line.event.what = sync::Joined{worker};
    } else if (rng.chance(1, 2)) {
      line.event.what = sync::Left{worker};
    } else {
      line.event.what = sync::Pushed{{worker, rng.next(), rng.next()}};
    }
    for (std::uint64_t n = rng.below(3); n > 0; --n) line.decision.apply.push_back({pushes(3)});
    line.decision.drop = pushes(2);
    for (const PushId& id : pushes(3)) line.decision.release.push_back(id.worker);
    line.decision.reason = odd[rng.below(std::size(odd))];
    if (rng.chance(1, 4)) line.decision.reason += odd[rng.below(std::size(odd))];
    if (rng.chance(1, 8)) line.decision.reason += static_cast<char>(rng.next());
    ASSERT_EQ(to_json(line), by_library(line));
  }
}

TEST(DecisionJson, IsReadAsItWasWritten) {
  const sync::Decision decision{.apply = {{{push(0, 4)}}, {{push(1, 2), push(2, 9)}}},
                                .drop = {push(3, 1)},
                                .release = {WorkerId{0}, WorkerId{2}},
                                .reason = "a \"reason\"\n"};
  for (const sync::Event& event :
       {sync::Event{Time{1}, sync::Joined{WorkerId{5}}}, sync::Event{Time{2}, sync::Left{{6}}},
        sync::Event{Time{3}, sync::Pushed{push(1, 2)}}}) {
    const DecisionLine line{event, decision, 42};
    const auto read = parse_decision(to_json(line));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(*read, line);
  }
}

TEST(DecisionJson, WhatIsNoLineIsAnError) {
  const auto line = [](const char* now, const char* worker, const char* version) {
    return cat(R"({"event":"joined","apply":[],"drop":[],"release":[],"reason":"","now":)", now,
               R"(,"worker":)", worker, R"(,"version":)", version, "}");
  };
  EXPECT_TRUE(parse_decision(line("9223372036854775807", "4294967295", "18446744073709551615")));
  const std::vector<std::string> bad{"",
                                     "{",
                                     "[]",
                                     "{}",
                                     R"({"now": 1, "event": "slept", "version": 0})",
                                     R"({"now": "x"})",
                                     R"({"now":1,"event":"pushed","push":[1]})",
                                     line("1e101", "0", "0"),
                                     line("1.5", "0", "0"),
                                     line("9223372036854775808", "0", "0"),
                                     line("0", "4294967296", "0"),
                                     line("0", "-1", "0"),
                                     line("0", "0", "-1"),
                                     line("0", "0", "0.5")};
  for (const std::string& text : bad) {
    const auto read = parse_decision(text);
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().code, Code::Corruption);
  }
}

}  // namespace
}  // namespace paceline::roles
