// The simulated device's processor, for the host code of a program that launches kernels; in libplatform.so.
#pragma once

#include "../host/host.h"

extern "C" __attribute__((visibility("default"))) void ophook_program_soc(ascendc_soc* out);
