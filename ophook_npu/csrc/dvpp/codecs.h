// Libraries of the system that know compressed pictures. They are opened when a program first needs them.
#pragma once

#include <dlfcn.h>

#include "core/sim.h"

namespace sim::dvpp {

// A library, and its functions: each of the type of what it is kept in, or null.
struct Library {
  struct Function {
    void* address;
    template <typename F>
    operator F*() const {
      return reinterpret_cast<F*>(address);
    }
  };
  explicit Library(const char* file) : handle(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {}
  Function operator[](const char* name) const { return {handle ? dlsym(handle, name) : nullptr}; }
  void* handle;
};

// 200006, ACL_ERROR_FEATURE_UNSUPPORTED: what to install.
inline int no_codec(const char* caller, const char* library, const char* package) {
  constexpr int kFeatureUnsupported = 200006;
  return sim_fail(kFeatureUnsupported,
                  "%s: the simulator needs %s, which is not on this machine (Debian: apt install %s)", caller, library,
                  package);
}

}  // namespace sim::dvpp
