// The extension paceline._paceline: what paceline/sync.py and paceline/sim.py are written over. It
// converts and nothing else; it sees no LibTorch, so that importing it takes milliseconds.
#include "python/module.h"

NB_MODULE(_paceline, module) {
  paceline::python::bind_sync(module);
  paceline::python::bind_sim(module);
}
