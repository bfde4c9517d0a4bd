// The program paceline. It starts in milliseconds: LibTorch is in paceline-worker alone.

#include "paceline/cli/app.h"

int main(int argc, char** argv) { return paceline::cli::run_program(argc, argv, {}); }
