#include "paceline/cli/commands.h"
#include "paceline/node/process.h"
#include "paceline/node/role_process.h"
#include "paceline/train/catalog.h"
#include "paceline/train/data.h"

namespace paceline::cli {
namespace {

std::vector<node::TensorLayout> layout_of(const node::Config& config) {
  std::vector<node::TensorLayout> layout;
  if (!config.model.program.empty()) return layout;
  const auto data = train::find_data(config.data.name);
  if (!data) return layout;
  const auto parameters = train::parameters(config.model.name, (*data)->shape, (*data)->classes);
  if (!parameters) return layout;
  for (const train::Parameter& parameter : *parameters) {
    layout.push_back({parameter.name, parameter.shape});
  }
  return layout;
}

}  // namespace

int cmd_coordinator(const RoleArgs& args) {
  node::prepare_memory();
  return node::run_coordinator(args.folder, layout_of);
}

}  // namespace paceline::cli
