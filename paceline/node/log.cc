#include "paceline/node/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include "paceline/base/text.h"

namespace paceline::node {
namespace {

spdlog::level::level_enum level_of(roles::Level level) {
  switch (level) {
    case roles::Level::Debug:
      return spdlog::level::debug;
    case roles::Level::Info:
      return spdlog::level::info;
    case roles::Level::Warning:
      return spdlog::level::warn;
    case roles::Level::Error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? std::string(name) : std::string("?");
}

}  // namespace

Logger::Logger(NodeId self, roles::Level least)
    : logger_(std::make_shared<spdlog::logger>("paceline",
                                               std::make_shared<spdlog::sinks::stderr_sink_mt>())) {
  logger_->set_level(level_of(least));
  logger_->flush_on(spdlog::level::debug);  // a killed process's last words are there
  logger_->set_pattern(cat("%Y-%m-%dT%H:%M:%S.%eZ %l ", host_name(), " ", to_string(self.role), " ",
                           self.index, ": %v"),
                       spdlog::pattern_time_type::utc);
}

void Logger::log(roles::Level level, const std::string& text) const {
  logger_->log(level_of(level), text);
}

}  // namespace paceline::node
