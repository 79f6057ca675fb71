#include "waits.h"

namespace {
thread_local uint64_t host_waits = 0;
}

extern "C" {

uint64_t sim_host_waits(void) { return host_waits; }
void sim_count_host_wait(void) { ++host_waits; }
}
