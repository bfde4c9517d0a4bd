#include "paceline/roles/decision_json.h"

#include <gtest/gtest.h>

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
  for (const char* text : {"", "{", "[]", "{}", R"({"now": 1, "event": "slept", "version": 0})",
                           R"({"now": "x"})", R"({"now":1,"event":"pushed","push":[1]})"}) {
    const auto read = parse_decision(text);
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().code, Code::Corruption);
  }
}

}  // namespace
}  // namespace paceline::roles
