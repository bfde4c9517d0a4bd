#include "paceline/cli/commands.h"
#include "paceline/node/process.h"
#include "paceline/node/role_process.h"

namespace paceline::cli {

int cmd_coordinator(const RoleArgs& args) {
  node::prepare_memory();
  return node::run_coordinator(args.folder);
}

}  // namespace paceline::cli
