// How a kernel is run on a simulated device: the local memories of its processor, and what the environment asks for.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>

#include "ascendc/host/host.h"
#include "core/sim.h"
#include "launch.h"

namespace ophook::rt {

struct LocalMemorySizes {
  int architecture, npu_arch;
  const char* prefixes;
  int both_units;
  uint64_t ub, l1, l0a, l0b, l0c, bt, fb;
};
inline const LocalMemorySizes& local_memories_of(const sim_soc& soc) {
  static const LocalMemorySizes all[] = {
#define ARCHITECTURE(...) {__VA_ARGS__},
#include "ascendc/architectures.inc"
#undef ARCHITECTURE
  };
  for (const LocalMemorySizes& one : all)
    for (const char* prefix = one.prefixes; prefix; prefix = std::strchr(prefix, ' ')) {
      prefix += *prefix == ' ';
      if (!std::strncmp(soc.name, prefix, std::strcspn(prefix, " "))) return one;
    }
  return all[0];
}

// OPHOOK_KERNEL_CHECKS=0 leaves the checks out, OPHOOK_KERNEL_STRICT=1 adds findings of the level `strict`, and with
// OPHOOK_KERNEL_DMA=on-wait a copy takes effect when something waits for it; OPHOOK_KERNEL_TIMELINE=1 adds the
// estimated time line to a report.
inline ascendc_options options_of(const sim_soc& soc, int kind) {
  const auto is = [](const char* variable, const char* value) {
    const char* found = std::getenv(variable);
    return found && !std::strcmp(found, value);
  };
  const LocalMemorySizes& s = local_memories_of(soc);
  return {!is("OPHOOK_KERNEL_CHECKS", "0"),
          is("OPHOOK_KERNEL_STRICT", "1"),
          is("OPHOOK_KERNEL_DMA", "on-wait"),
          s.architecture,
          kind,
          s.ub,
          s.l1,
          s.l0a,
          s.l0b,
          s.l0c,
          s.bt,
          s.fb,
          is("OPHOOK_KERNEL_TIMELINE", "1"),
          0,
          s.both_units};
}

// What host code asks of the processor.
inline ascendc_soc platform_of(const sim_soc& soc) {
  const LocalMemorySizes& s = local_memories_of(soc);
  return {soc.name,  uint32_t(soc.cube_cores), uint32_t(soc.vector_cores), s.ub, s.l1, s.l0a, s.l0b, s.l0c, soc.l2,
          soc.memory};
}

}  // namespace ophook::rt
