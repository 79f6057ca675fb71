// Which of the machine's devices this process sees: ASCEND_RT_VISIBLE_DEVICES. A process counts what it sees from 0;
// npu-smi, rank tables and what processes hand to each other count the machine's devices.
#pragma once
#include "sim.h"

extern "C" {
SIM_API int sim_check_device(const char* call, int64_t device);  // 107001 where the process has none of this number
SIM_API int sim_installed_devices(void);
SIM_API int sim_physical_device(int device);    // of one that the process sees, or -1
SIM_API int sim_visible_device(int physical);   // as the process counts it; -1: it does not see it
SIM_API const char* sim_visible_problem(void);  // why the process sees none; NULL where it sees one
}
