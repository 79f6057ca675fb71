// For the graph engine and the operator library, whose tasks run on a stream's thread already: collectives that run
// before the call returns, and writes into windows.
#pragma once

#include "core/sim.h"
#include "hccl/hccl.h"

extern "C" {
// The communicator of this name (HcclGetCommName), or NULL; of several in this process, that of the current device.
SIM_API HcclComm ophook_hccl_find(const char* name);
// Between the two, what this thread launches runs at once, whatever the stream, and on any memory.
SIM_API void ophook_hccl_here(int on);
// Writes into the window of a rank, which it registered and exchanged with this one; at once, and without meeting it.
SIM_API HcclResult ophook_hccl_put(HcclComm handle, uint32_t rank, uint64_t offset, const void* from, uint64_t bytes);
// The int32 1, behind all that was put before.
SIM_API HcclResult ophook_hccl_raise(HcclComm handle, uint32_t rank, uint64_t offset);
// As long as a task waits for other devices unless its communicator says otherwise: HCCL_EXEC_TIMEOUT, in seconds.
SIM_API int64_t ophook_hccl_patience(void);
}

namespace sim::hccl {
struct Here {
  Here() { ophook_hccl_here(1); }
  ~Here() { ophook_hccl_here(0); }
  Here(const Here&) = delete;
  Here& operator=(const Here&) = delete;
};
}  // namespace sim::hccl
