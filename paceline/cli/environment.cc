#include "paceline/cli/environment.h"

#include <algorithm>
#include <array>

#include "paceline/base/text.h"

namespace paceline::cli {
namespace {

constexpr std::string_view kPrefix = "PACELINE_";
constexpr std::array<std::string_view, 1> kKnown{"PACELINE_TORCH"};

}  // namespace

Status check_environment(const char* const* environment) {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with(kPrefix) || std::ranges::find(kKnown, name) != kKnown.end()) continue;
    return fail(Code::InvalidArgument, "the environment sets nothing in Paceline",
                cat("unset ", name, "; use the configuration or --set"), std::string(name));
  }
  return {};
}

}  // namespace paceline::cli
