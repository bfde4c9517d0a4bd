#include "paceline/roles/decision_json.h"

#include <nlohmann/json.hpp>

namespace paceline::roles {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const PushId& push) {
  return ordered_json::array({push.worker.value, push.incarnation, push.step});
}

ordered_json to_json(const std::vector<PushId>& pushes) {
  ordered_json list = ordered_json::array();
  for (const PushId& push : pushes) list.push_back(to_json(push));
  return list;
}

PushId push_of(const ordered_json& json) {
  return {WorkerId{json.at(0).get<std::uint32_t>()}, json.at(1).get<Incarnation>(),
          json.at(2).get<Step>()};
}

std::vector<PushId> pushes_of(const ordered_json& json) {
  std::vector<PushId> pushes;
  for (const ordered_json& push : json) pushes.push_back(push_of(push));
  return pushes;
}

}  // namespace

std::string to_json(const DecisionLine& line) {
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
    json["push"] = to_json(std::get<sync::Pushed>(line.event.what).push);
  }
  json["version"] = line.version;
  json["apply"] = ordered_json::array();
  for (const sync::Apply& apply : line.decision.apply)
    json["apply"].push_back(to_json(apply.pushes));
  json["drop"] = to_json(line.decision.drop);
  json["release"] = ordered_json::array();
  for (const WorkerId worker : line.decision.release) json["release"].push_back(worker.value);
  json["reason"] = line.decision.reason;
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Result<DecisionLine> parse_decision(std::string_view text) {
  try {
    const ordered_json json = ordered_json::parse(text);
    DecisionLine line;
    line.event.now = Time{json.at("now").get<std::int64_t>()};
    const auto event = json.at("event").get<std::string>();
    if (event == "pushed") {
      line.event.what = sync::Pushed{push_of(json.at("push"))};
    } else if (event == "joined") {
      line.event.what = sync::Joined{WorkerId{json.at("worker").get<std::uint32_t>()}};
    } else if (event == "left") {
      line.event.what = sync::Left{WorkerId{json.at("worker").get<std::uint32_t>()}};
    } else {
      return fail(Code::Corruption, "unknown event \"" + event + "\"");
    }
    line.version = json.at("version").get<Version>();
    for (const ordered_json& apply : json.at("apply")) {
      line.decision.apply.push_back({pushes_of(apply)});
    }
    line.decision.drop = pushes_of(json.at("drop"));
    for (const ordered_json& worker : json.at("release")) {
      line.decision.release.push_back(WorkerId{worker.get<std::uint32_t>()});
    }
    line.decision.reason = json.at("reason").get<std::string>();
    return line;
  } catch (const ordered_json::exception& error) {
    return fail(Code::Corruption, std::string("not a line of decisions.jsonl: ") + error.what());
  }
}

}  // namespace paceline::roles
