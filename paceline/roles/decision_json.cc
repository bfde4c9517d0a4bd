#include "paceline/roles/decision_json.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "paceline/base/text.h"

namespace paceline::roles {
namespace {

using nlohmann::ordered_json;

template <typename... Parts>
void append(std::string& out, const Parts&... parts) {
  (detail::append(out, parts), ...);
}

void write(std::string& out, const PushId& push) {
  append(out, "[", push.worker.value, ",", push.incarnation, ",", push.step, "]");
}

void write(std::string& out, const std::vector<PushId>& pushes) {
  out += '[';
  for (const PushId& push : pushes) {
    if (out.back() != '[') out += ',';
    write(out, push);
  }
  out += ']';
}

bool is_plain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

void write(std::string& out, const std::string& text) {
  if (std::ranges::all_of(text, is_plain)) {
    append(out, "\"", text, "\"");
  } else {
    out += ordered_json(text).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  }
}

// What get() would round, cut or leave undefined is refused.
template <typename T>
T whole(const ordered_json& json) {
  if (json.is_number_unsigned()) {
    const auto value = json.get<std::uint64_t>();
    if (std::in_range<T>(value)) return static_cast<T>(value);
  } else if (json.is_number_integer()) {
    const auto value = json.get<std::int64_t>();
    if (std::in_range<T>(value)) return static_cast<T>(value);
  }
  throw ordered_json::other_error::create(500, cat(json.dump(), " is no number that fits"), &json);
}

PushId push_of(const ordered_json& json) {
  return {WorkerId{whole<std::uint32_t>(json.at(0))}, whole<Incarnation>(json.at(1)),
          whole<Step>(json.at(2))};
}

std::vector<PushId> pushes_of(const ordered_json& json) {
  std::vector<PushId> pushes;
  for (const ordered_json& push : json) pushes.push_back(push_of(push));
  return pushes;
}

}  // namespace

// By hand: a run writes one for each push.
std::string to_json(const sync::Event& event, const sync::Decision& decision, Version version) {
  std::string out;
  out.reserve(160 + decision.reason.size());
  append(out, "{\"now\":", event.now.count());
  if (const auto* joined = std::get_if<sync::Joined>(&event.what)) {
    append(out, ",\"event\":\"joined\",\"worker\":", joined->worker.value);
  } else if (const auto* left = std::get_if<sync::Left>(&event.what)) {
    append(out, ",\"event\":\"left\",\"worker\":", left->worker.value);
  } else {
    out += ",\"event\":\"pushed\",\"push\":";
    write(out, std::get<sync::Pushed>(event.what).push);
  }
  append(out, ",\"version\":", version, ",\"apply\":[");
  for (std::size_t i = 0; i < decision.apply.size(); ++i) {
    if (i > 0) out += ',';
    write(out, decision.apply[i].pushes);
  }
  out += "],\"drop\":";
  write(out, decision.drop);
  out += ",\"release\":[";
  for (std::size_t i = 0; i < decision.release.size(); ++i) {
    if (i > 0) out += ',';
    append(out, decision.release[i].value);
  }
  out += "],\"reason\":";
  write(out, decision.reason);
  out += '}';
  return out;
}

std::string to_json(const DecisionLine& line) {
  return to_json(line.event, line.decision, line.version);
}

Result<DecisionLine> parse_decision(std::string_view text) {
  try {
    const ordered_json json = ordered_json::parse(text);
    DecisionLine line;
    line.event.now = Time{whole<std::int64_t>(json.at("now"))};
    const auto event = json.at("event").get<std::string>();
    if (event == "pushed") {
      line.event.what = sync::Pushed{push_of(json.at("push"))};
    } else if (event == "joined") {
      line.event.what = sync::Joined{WorkerId{whole<std::uint32_t>(json.at("worker"))}};
    } else if (event == "left") {
      line.event.what = sync::Left{WorkerId{whole<std::uint32_t>(json.at("worker"))}};
    } else {
      return fail(Code::Corruption, "unknown event \"" + event + "\"");
    }
    line.version = whole<Version>(json.at("version"));
    for (const ordered_json& apply : json.at("apply")) {
      line.decision.apply.push_back({pushes_of(apply)});
    }
    line.decision.drop = pushes_of(json.at("drop"));
    for (const ordered_json& worker : json.at("release")) {
      line.decision.release.push_back(WorkerId{whole<std::uint32_t>(worker)});
    }
    line.decision.reason = json.at("reason").get<std::string>();
    return line;
  } catch (const ordered_json::exception& error) {
    return fail(Code::Corruption, std::string("not a line of decisions.jsonl: ") + error.what());
  }
}

}  // namespace paceline::roles
