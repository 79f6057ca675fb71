// For the graph engine, whose graphs run on a stream's thread already: collectives that run before the call returns.
#pragma once

#include "core/sim.h"
#include "hccl/hccl.h"

extern "C" {
// The communicator of this name (HcclGetCommName), or NULL.
SIM_API HcclComm ophook_hccl_find(const char* name);
// Between the two, what this thread launches runs at once, whatever the stream, and on any memory.
SIM_API void ophook_hccl_here(int on);
}

namespace sim::hccl {
struct Here {
  Here() { ophook_hccl_here(1); }
  ~Here() { ophook_hccl_here(0); }
  Here(const Here&) = delete;
  Here& operator=(const Here&) = delete;
};
}  // namespace sim::hccl
