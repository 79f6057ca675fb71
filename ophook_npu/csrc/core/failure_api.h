// For the libraries above: what ends the tasks of a device. Beside sim.h, which everything includes.
#pragma once

#include "sim.h"

extern "C" {

// What runs ends, what is queued is not run, and the device is whole again (failure.h); 0: no time limit.
SIM_API int sim_abort_tasks(int device, int64_t timeout_ms);
// For a task that waits for what may never come: not 0 where the calling thread's device runs no task any more.
SIM_API int sim_device_failed(void);
}
