// The simulated device's processor, for the host code of a program that launches kernels.
#pragma once

#include "../host/host.h"

extern "C" void ophook_program_soc(ascendc_soc* out);
