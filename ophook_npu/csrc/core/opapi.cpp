#include "sim.h"

#include <dlfcn.h>

// Not kept where it is not there: a process may load it later, as sim.enable() does after torch.
void* sim_opapi_symbol(const char* name) {
  // The one that is loaded, wherever it came from; this library's neighbour only where there is none.
  void* library = dlopen("libopapi.so", RTLD_NOW | RTLD_NOLOAD);
  if (!library) library = dlopen("libopapi.so", RTLD_NOW);
  return library ? dlsym(library, name) : nullptr;
}
