// Conversations that were read and found right: tests/transcripts/*.txt, replayed.
//
// A file names its policy ("policy ssp:1"), then the conversation as transcript.h writes it.
//
// After a change: sync_test --gtest_filter='Transcript*' --rewrite, then read the diff.
#include "paceline/sync/transcript.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

#include "paceline/base/text.h"
#include "paceline/sync/registry.h"

namespace paceline::sync {
namespace {

// The file as it should be.
std::string replay(const std::string& text) {
  std::istringstream lines(text);
  std::string line, out;
  std::unique_ptr<SyncPolicy> policy;
  Time now{};
  while (std::getline(lines, line)) {
    if (line.starts_with("  ")) continue;  // a reason: said anew
    if (line.empty() || line.starts_with("#") || line.starts_with("policy ")) {
      if (line.starts_with("policy ")) policy = *make_policy(line.substr(7));
      out += line + "\n";
      continue;
    }
    const std::string text_of_event(trim(line.substr(0, line.find("->"))));
    const Result<Event> event = parse_event(text_of_event, now);
    if (!event) return to_string(event.error());
    now = event->now;
    out += exchange_text(text_of_event, policy->step(*event));
  }
  return out;
}

bool rewrite() {
  const auto arguments = ::testing::internal::GetArgvs();
  return std::find(arguments.begin(), arguments.end(), "--rewrite") != arguments.end();
}

TEST(TranscriptTest, AnEventIsReadAsItIsWritten) {
  for (const std::string text :
       {"join 0", "leave 3 at=5.01", "push 1 step=4", "push 1 step=4 life=2 at=1.5"}) {
    EXPECT_EQ(to_string(*parse_event(text, {})), text);
  }
  EXPECT_EQ(parse_event("join 0", Time{5})->now, Time{5});
  for (const std::string text :
       {"", "join", "join x", "jump 0", "push 0 step=x", "push 0 pace=1", "push 0 at=nan",
        "push 0 at=1e30", "push 4294967296", "push 0 step"}) {
    EXPECT_FALSE(parse_event(text, {})) << text;
  }
}

TEST(TranscriptTest, EveryConversationIsTheOneThatWasReviewed) {
  std::set<std::string> policies_seen;
  for (const auto& file : std::filesystem::directory_iterator(PACELINE_TRANSCRIPTS)) {
    if (file.path().extension() != ".txt") continue;
    std::ifstream stream(file.path());
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    if (!text.starts_with("policy ")) continue;
    policies_seen.insert(text.substr(7, text.find_first_of(":\n") - 7));
    const std::string replayed = replay(text);
    if (rewrite()) {
      std::ofstream(file.path()) << replayed;
    } else {
      EXPECT_EQ(replayed, text) << file.path();
    }
  }
  for (const PolicyEntry& entry : policies()) {
    EXPECT_TRUE(policies_seen.contains(entry.name)) << entry.name << " has no transcript";
  }
}

}  // namespace
}  // namespace paceline::sync
