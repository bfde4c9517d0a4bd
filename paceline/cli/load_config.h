#pragma once

#include <string_view>

#include "paceline/base/result.h"
#include "paceline/cli/commands.h"
#include "paceline/node/config.h"

namespace paceline::cli {

// The configuration as a run needs it: file and options, names of model and data looked up, path
// and samples filled in. Reads no data file.
Result<node::Config> load_config(const ConfigArgs& args);
// The same of a text of ours, with the options.
Result<node::Config> load_config_text(std::string_view text, const ConfigArgs& args);
// Whether the files of the data set are there, as far as their sizes tell.
Status check_data(const node::Config& config);

}  // namespace paceline::cli
