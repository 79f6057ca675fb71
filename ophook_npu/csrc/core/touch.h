// How a task tells which bytes it reads or writes.
#pragma once

#include "core/sim.h"

namespace sim {

inline void touch(sim_listener* listener, bool writes, const void* pointer, size_t size) {
  const auto bytes = int64_t(size);
  if (pointer && size && listener->touch) listener->touch(listener, writes, pointer, 1, &bytes, nullptr, 1);
}

}  // namespace sim
