// For the libraries above: what ends the tasks of a device. Beside sim.h, which everything includes.
#pragma once

#include "sim.h"

#ifdef __cplusplus
extern "C" {
#endif

// What runs ends, what is queued is not run, and the device is whole again (failure.h); 0: no time limit.
SIM_API int sim_abort_tasks(int device, int64_t timeout_ms);

#ifdef __cplusplus
}
#endif
