#include "paceline/train/process.h"

#include <limits>

#include <malloc.h>

namespace paceline::train {

void prepare_process() {
  // mallopt caps M_MMAP_THRESHOLD at 32 MB, so no block may be mapped at all.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

}  // namespace paceline::train
