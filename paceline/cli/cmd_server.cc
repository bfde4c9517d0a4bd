#include "paceline/cli/commands.h"
#include "paceline/node/process.h"
#include "paceline/node/role_process.h"

namespace paceline::cli {

int cmd_server(const RoleArgs& args) {
  node::prepare_memory();
  return node::run_server(args.folder, args.index);
}

}  // namespace paceline::cli
