// The processor that host code asks about: in libplatform.so that of the simulated device, for programs that launch
// kernels; in an operator's host library that of the call, and outside of a call the device's where a program has it.
#pragma once

#include "../host/host.h"

extern "C" __attribute__((visibility("default"))) void ophook_program_soc(ascendc_soc* out);
extern "C" __attribute__((visibility("default"), weak)) void ophook_device_soc(ascendc_soc* out);
