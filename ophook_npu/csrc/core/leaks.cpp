// What walks over all device memory that is allocated: what was never freed, and protection in strict mode.
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "memory.h"

namespace sim {
namespace {

void tell_leaks() {
  const char* name = std::getenv("OPHOOK_SIM_LEAKS");
  if (!name) return;                   // the program took it away
  FILE* file = std::fopen(name, "a");  // the program's own processes write there, too
  if (!file) {
    std::fprintf(stderr, "[simulated Ascend] OPHOOK_SIM_LEAKS=%s cannot be written: %s\n", name, std::strerror(errno));
    return;
  }
  for_each_on_device([&](const OnDevice& one) {
    if (!one.mapped)
      std::fprintf(file, "%d\t%zu\t%s\t%s\n", one.device, one.size, one.call, one.library ? one.library : "");
  });
  std::fclose(file);
}

}  // namespace

// Called with the first allocation: what is registered now runs before the list is destroyed.
void tell_leaks_at_exit() {
  static const bool asked = [] {
    const bool on = std::getenv("OPHOOK_SIM_LEAKS") != nullptr;
    if (on) std::atexit(tell_leaks);
    return on;
  }();
  (void)asked;
}

void protect_device_memory(bool open) {
  for_each_on_device([&](const OnDevice& one) {
    mprotect(reinterpret_cast<void*>(one.begin), one.on_host, open ? PROT_READ | PROT_WRITE : PROT_NONE);
  });
}

}  // namespace sim
