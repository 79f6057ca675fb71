#include "sim.h"

#include <dlfcn.h>

// Not kept where it is not there: a process may load it later, as sim.enable() does after torch.
static void* symbol(const char* file, const char* name) {
  // The one that is loaded, wherever it came from; this library's neighbour only where there is none.
  void* library = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
  if (!library) library = dlopen(file, RTLD_NOW);
  return library ? dlsym(library, name) : nullptr;
}

void* sim_opapi_symbol(const char* name) { return symbol("libopapi.so", name); }
void* sim_engine_symbol(const char* name) { return symbol("libge_runner.so", name); }
