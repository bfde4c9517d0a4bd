#include "paceline/node/job.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "paceline/base/text.h"
#include "paceline/node/stats_json.h"

namespace paceline::node {
namespace {

using nlohmann::json;

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Reads JSON with a function that may throw json::exception.
template <typename T, typename Read>
Result<T> parsed(std::string_view line, std::string_view what, Read read) {
  try {
    return read(json::parse(line));
  } catch (const json::exception& error) {
    return fail(Code::Corruption, cat("no ", what, ": ", error.what()),
                "these programs are started by `paceline train`");
  }
}

StopOrder stop_from(const json& j) {
  return {j.at("exit_code").get<int>(), j.at("why").get<std::string>()};
}

Error error_from(const json& j) {
  return {static_cast<Code>(j.at("code").get<int>()), j.at("what").get<std::string>(),
          j.at("fix").get<std::string>(), j.at("where").get<std::string>()};
}

}  // namespace

std::string to_line(const Job& job) {
  return dump({{"job", job.id},
               {"secret", wire::secret_hex(job.secret)},
               {"folder", job.folder},
               {"sockets", job.sockets},
               {"credentials", job.credentials},
               {"coordinator", job.coordinator},
               {"epoch", job.epoch}});
}

Result<Job> parse_job(std::string_view line) {
  return parsed<Job>(line, "job", [](const json& j) -> Result<Job> {
    const auto secret = wire::parse_secret(j.at("secret").get<std::string>());
    if (!secret) return fail(secret.error());
    return Job{.id = j.at("job").get<std::string>(),
               .secret = *secret,
               .folder = j.at("folder").get<std::string>(),
               .sockets = j.at("sockets").get<std::string>(),
               .credentials = j.at("credentials").get<std::string>(),
               .coordinator = j.at("coordinator").get<std::string>(),
               .epoch = j.at("epoch").get<std::int64_t>()};
  });
}

std::string to_line(const Died& died) {
  return dump({{"died",
                {{"role", static_cast<int>(died.node.role)},
                 {"index", died.node.index},
                 {"exit_code", died.exit_code},
                 {"signal", died.signal},
                 {"cause", died.cause}}}});
}

std::string to_line(const StopOrder& stop) {
  return dump({{"stop", {{"exit_code", stop.exit_code}, {"why", stop.why}}}});
}

Result<Order> parse_order(std::string_view line) {
  return parsed<Order>(line, "order", [](const json& j) {
    Order order;
    if (j.contains("stop")) order.stop = stop_from(j["stop"]);
    if (j.contains("died")) {
      const json& died = j["died"];
      order.died = Died{
          {static_cast<Role>(died.at("role").get<int>()), died.at("index").get<std::uint32_t>()},
          died.at("exit_code").get<int>(),
          died.at("signal").get<int>(),
          died.at("cause").get<std::string>()};
    }
    return order;
  });
}

std::string listening_line(std::string_view address) { return dump({{"listening", address}}); }

std::string figures_line(const roles::RunStats& stats) {
  return cat("{\"figures\":", to_json_line(stats), "}");
}

std::string failed_line(const Error& error) {
  return dump({{"failed",
                {{"code", static_cast<int>(error.code)},
                 {"what", error.what},
                 {"fix", error.fix},
                 {"where", error.where}}}});
}

std::string stopped_line(int exit_code, std::string_view why) {
  return dump({{"stopped", {{"exit_code", exit_code}, {"why", why}}}});
}

Result<Report> parse_report(std::string_view line) {
  return parsed<Report>(line, "report", [](const json& j) -> Result<Report> {
    Report report;
    if (j.contains("listening")) report.listening = j["listening"].get<std::string>();
    if (j.contains("failed")) report.failed = error_from(j["failed"]);
    if (j.contains("stopped")) report.stopped = stop_from(j["stopped"]);
    if (j.contains("figures")) {
      auto stats = parse_stats(j["figures"]);
      if (!stats) return fail(stats.error());
      report.figures = std::move(*stats);
    }
    return report;
  });
}

}  // namespace paceline::node
