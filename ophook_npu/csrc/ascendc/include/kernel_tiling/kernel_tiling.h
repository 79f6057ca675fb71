// The tiling structures of the interface as a kernel sees them.
#pragma once

#include <cstdint>

struct TCubeTiling {
#define CUBE_TILING(name) int32_t name;
#include "../ascendc/cube_tiling.inc"
#undef CUBE_TILING
};

// What Mc2CcTilingConfig writes for an Hccl object: ascendc/hccl_types.h has the layout.
struct Mc2InitTiling {
  uint8_t reserved[64];
};
struct Mc2CcTiling {
  uint8_t reserved[280];
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
TILING_BEGIN(Mc2InitTiling)
TILING_BEGIN(Mc2CcTiling)
#include "../ascendc/advanced_tilings.inc"
#undef TILING_BEGIN
#undef TILING_FIELD
#undef TILING_END
}  // namespace AscendC::tiling
