// How often the calling thread has waited for a device: what the porting report asks before and after each operator.
#pragma once

#include "sim.h"

extern "C" {

SIM_API uint64_t sim_host_waits(void);   // since the thread began
SIM_API void sim_count_host_wait(void);  // by whatever returns only when a device has got somewhere
}
