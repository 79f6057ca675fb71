// For kernels of operator packages: the communicator of a group as their Hccl objects use it.
#pragma once

#include "ascendc/runtime/wires.h"
#include "core/sim.h"

extern "C" {
SIM_API const ascendc_wires* ophook_hccl_wires(void);
// What GetHcclContext gives of a communicator; made when its first kernel runs, which every rank of the group has to
// do. NULL, with a reason (sim_error_message), where that fails.
SIM_API const void* ophook_hccl_context(void* communicator, void** held);
// `held`: the context lives so long.
SIM_API void ophook_hccl_release(void* held);
}
