#include "paceline/sync/transcript.h"

#include <algorithm>
#include <vector>

#include "paceline/base/text.h"

namespace paceline::sync {
namespace {

constexpr std::size_t kArrowColumn = 32;

std::string shown(const PushId& push) {
  const std::string life = push.incarnation == 1 ? "" : cat("/", push.incarnation);
  return cat(push.worker, "#", push.step, life);
}

std::string shown(const Joined& joined) { return cat("join ", joined.worker); }
std::string shown(const Left& left) { return cat("leave ", left.worker); }
std::string shown(const Pushed& pushed) {
  const PushId& push = pushed.push;
  const std::string life = push.incarnation == 1 ? "" : cat(" life=", push.incarnation);
  return cat("push ", push.worker, " step=", push.step, life);
}

tl::unexpected<Error> no_event(std::string_view text) {
  return fail(Code::InvalidArgument, cat("'", text, "' is no event"),
              "write 'join 0', 'leave 0' or 'push 0 step=1', with 'life=2' and 'at=1.5' (seconds) "
              "where they matter");
}

// step, life or at of an event.
bool set_field(std::string_view word, PushId& push, Time& now) {
  const std::size_t equals = std::min(word.find('='), word.size());
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = word.substr(std::min(equals + 1, word.size()));
  constexpr double kMost = 9e9;  // seconds that fit into Time
  if (name == "at") {
    const auto seconds = parse_double(value);
    if (!seconds || !(*seconds >= -kMost && *seconds <= kMost)) return false;
    now = from_seconds(*seconds);
    return true;
  }
  const auto number = parse_uint(value);
  if (!number) return false;
  if (name == "step") push.step = *number;
  if (name == "life") push.incarnation = *number;
  return name == "step" || name == "life";
}

}  // namespace

std::string to_string(const Event& event) {
  std::string text = std::visit([](const auto& what) { return shown(what); }, event.what);
  // Divided, not multiplied by 1e-9: 5.01 and not 5.010000000000001.
  const double seconds = static_cast<double>(event.now.count()) / 1e9;
  if (event.now != Time{}) text += cat(" at=", to_text(seconds));
  return text;
}

std::string to_string(const Decision& decision) {
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

std::string exchange_text(std::string event, const Decision& decision) {
  event.resize(std::max(event.size() + 1, kArrowColumn), ' ');
  std::string text = cat(event, "-> ", to_string(decision), "\n");
  if (!decision.reason.empty()) text += cat("    ", decision.reason, "\n");
  return text;
}

Result<Event> parse_event(std::string_view text, Time now) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  if (words.size() < 2) return no_event(text);
  const auto worker = parse_uint(words[1]);
  if (!worker || *worker > UINT32_MAX) return no_event(text);
  PushId push{WorkerId{static_cast<std::uint32_t>(*worker)}, 1, 0};
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (!set_field(words[i], push, now)) return no_event(text);
  }
  if (words[0] == "join") return Event{now, Joined{push.worker}};
  if (words[0] == "leave") return Event{now, Left{push.worker}};
  if (words[0] == "push") return Event{now, Pushed{push}};
  return no_event(text);
}

}  // namespace paceline::sync
