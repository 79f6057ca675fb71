// What a failed task leaves behind. Once a stream of a device was set to stop on failure, as torch_npu sets its
// streams, the first failure stays with the device's context: no task runs, and launches, synchronizations and queries
// answer with it until the device is reset or its tasks are aborted. OPHOOK_SIM_AFTER_FAILURE=continue: each failure is
// told of once.
#pragma once

#include <atomic>
#include <string>

#include "device.h"

namespace sim::failure {

extern std::atomic<int> codes[kMaxDevices];  // 0: the context is whole

inline int code(int device) { return codes[device].load(std::memory_order_relaxed); }
// The kept failure, said once more for the calling thread; 0 where there is none.
int answer(int device);
inline int check(int device) { return code(device) ? answer(device) : 0; }

int read_setting();                // OPHOOK_SIM_AFTER_FAILURE; 107000 where it is something else
void stop_on_failure(int device);  // from here on a failure stays
void left(int device, int code, const std::string& text);  // by a task that failed
void reset(int device);

}  // namespace sim::failure
