// In the place of the header of this name that operator projects include: a tiling function that a device may run. Here
// the host runs it.
#pragma once

#include "../details/op_def.h"

#define DEVICE_IMPL_OP_OPTILING(type) OPHOOK_OP_IMPL(type, device_tiling)
