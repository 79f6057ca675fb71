// The tiling structures of the interface as a kernel sees them.
#pragma once

#include <cstdint>

struct TCubeTiling {
#define CUBE_TILING(name) int32_t name;
#include "../ascendc/cube_tiling.inc"
#undef CUBE_TILING
};

namespace AscendC::tiling {
using ::TCubeTiling;
}
