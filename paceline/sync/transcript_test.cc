// Conversations that were read and found right: tests/transcripts/*.txt, replayed.
//
// A file names its policy ("policy ssp:1"), then an event a line; after the arrow stands what the
// policy answers, and in the line below why. An event: "join 0", "leave 0", "push 0 step=1", with
// "life=2" and "at=1.5" (seconds) where they matter. An update is printed "apply 0#1", the mean of
// several "apply 0#1+1#0", a push of a later life "0#1/2".
//
// After a change: sync_test --gtest_filter='Transcript*' --rewrite, then read the diff.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

#include "paceline/base/text.h"
#include "paceline/sync/registry.h"

namespace paceline::sync {
namespace {

constexpr std::size_t kArrowColumn = 32;

std::string shown(const PushId& push) {
  const std::string life = push.incarnation == 1 ? "" : cat("/", push.incarnation);
  return cat(push.worker, "#", push.step, life);
}

std::string shown(const Decision& decision) {
  std::vector<std::string> parts;
  for (const Apply& apply : decision.apply) {
    std::vector<std::string> pushes;
    for (const PushId& push : apply.pushes) pushes.push_back(shown(push));
    parts.push_back(cat("apply ", join(pushes, "+")));
  }
  for (const PushId& push : decision.drop) parts.push_back(cat("drop ", shown(push)));
  if (!decision.release.empty()) {
    std::string release = "release";
    for (const WorkerId worker : decision.release) release += cat(" ", worker);
    parts.push_back(release);
  }
  return parts.empty() ? "-" : join(parts, "; ");
}

// "push 0 step=1 at=1.5"; Event as the policy gets it. Time stays where it was if not given.
Event parse_event(const std::string& line, Time& now) {
  std::istringstream words(line);
  std::string verb, word;
  std::uint32_t worker = 0;
  words >> verb >> worker;
  PushId push{WorkerId{worker}, 1, 0};
  while (words >> word) {
    const std::string value = word.substr(word.find('=') + 1);
    if (word.starts_with("step=")) push.step = *parse_uint(value);
    if (word.starts_with("life=")) push.incarnation = *parse_uint(value);
    if (word.starts_with("at=")) now = from_seconds(*parse_double(value));
  }
  if (verb == "join") return {now, Joined{push.worker}};
  if (verb == "leave") return {now, Left{push.worker}};
  EXPECT_EQ(verb, "push") << line;
  return {now, Pushed{push}};
}

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
    std::string event(trim(line.substr(0, line.find("->"))));
    const Decision decision = policy->step(parse_event(event, now));
    event.resize(std::max(event.size() + 1, kArrowColumn), ' ');
    out += cat(event, "-> ", shown(decision), "\n");
    if (!decision.reason.empty()) out += cat("    ", decision.reason, "\n");
  }
  return out;
}

bool rewrite() {
  const auto arguments = ::testing::internal::GetArgvs();
  return std::find(arguments.begin(), arguments.end(), "--rewrite") != arguments.end();
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
