// Libraries of the system that know compressed pictures. They are opened when a program first needs them.
#pragma once

#include <dlfcn.h>

#include "core/sim.h"

namespace sim::dvpp {

// A function of a library, or null.
inline void* function_of(void* library, const char* name) { return library ? dlsym(library, name) : nullptr; }

// 200006, ACL_ERROR_FEATURE_UNSUPPORTED: what to install.
inline int no_codec(const char* caller, const char* library, const char* package) {
  constexpr int kFeatureUnsupported = 200006;
  return sim_fail(kFeatureUnsupported,
                  "%s: the simulator needs %s, which is not on this machine (Debian: apt install %s)", caller, library,
                  package);
}

}  // namespace sim::dvpp
