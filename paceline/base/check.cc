#include "paceline/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace paceline::detail {

void check_failed(const char* condition, std::string_view what, const char* file, int line) {
  std::fprintf(stderr,
               "paceline: broken invariant: %.*s (%s, %s:%d)\n"
               "This is a bug of Paceline. Please report it with this line and the run's logs.\n",
               static_cast<int>(what.size()), what.data(), condition, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace paceline::detail
