// The tiling structures of the interface as a kernel sees them.
#pragma once

#include <cstdint>

struct TCubeTiling {
#define CUBE_TILING(name) int32_t name;
#include "../ascendc/cube_tiling.inc"
#undef CUBE_TILING
};

#define TILING_BEGIN(name) struct name {
#define TILING_FIELD(type, name) type name;
#define TILING_END \
  }                \
  ;
#include "../ascendc/advanced_tilings.inc"
#undef TILING_BEGIN
#undef TILING_FIELD
#undef TILING_END

namespace AscendC::tiling {
#define TILING_BEGIN(name) using ::name;
#define TILING_FIELD(type, name)
#define TILING_END
TILING_BEGIN(TCubeTiling)
#include "../ascendc/advanced_tilings.inc"
#undef TILING_BEGIN
#undef TILING_FIELD
#undef TILING_END
}  // namespace AscendC::tiling
