#pragma once

namespace paceline::train {

// To be called first in the main() of a program that trains: sets malloc so that memory which
// LibTorch gives back is kept (fresh pages are dear, and each step asks for the same blocks again),
// before any thread exists. LibTorch itself is set up by the first source or evaluation: one
// thread, since a host carries several workers, and deterministic algorithms.
void prepare_process();

}  // namespace paceline::train
