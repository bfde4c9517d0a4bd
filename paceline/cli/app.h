#pragma once

#include "paceline/cli/laboratory.h"

namespace paceline::cli {

// The commands, from the words to the exit code.
int run_program(int argc, char** argv, Laboratory laboratory);

}  // namespace paceline::cli
