#pragma once

#include <memory>
#include <string>

#include "paceline/base/ids.h"
#include "paceline/roles/io.h"

namespace spdlog {
class logger;
}

namespace paceline::node {

// Lines on standard error, which the launcher points at logs/ROLE-RANK.log: time in UTC, level,
// host, role, rank, text. From any thread.
class Logger {
 public:
  explicit Logger(NodeId self, roles::Level least = roles::Level::Info);
  void log(roles::Level level, const std::string& text) const;

 private:
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace paceline::node
