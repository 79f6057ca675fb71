// The processor that host code asks about: in libplatform.so that of the simulated device, for programs that launch
// kernels; in an operator's host library that of the call.
#pragma once

#include "../host/host.h"

extern "C" __attribute__((visibility("default"))) void ophook_program_soc(ascendc_soc* out);
