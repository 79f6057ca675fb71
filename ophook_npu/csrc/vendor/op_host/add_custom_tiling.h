// What host tiling tells the kernel: Plan and Tiles of ../op_kernel/add_custom_plan.h, field by field.
#ifndef ADD_CUSTOM_TILING_H
#define ADD_CUSTOM_TILING_H

#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(AddCustomTilingData)
    TILING_DATA_FIELD_DEF_ARR(uint64_t, 8, extent);
    TILING_DATA_FIELD_DEF_ARR(uint64_t, 8, xStride);
    TILING_DATA_FIELD_DEF_ARR(uint64_t, 8, yStride);
    TILING_DATA_FIELD_DEF(uint64_t, inner);
    TILING_DATA_FIELD_DEF(uint64_t, tile);
    TILING_DATA_FIELD_DEF(uint64_t, tilesPerRow);
    TILING_DATA_FIELD_DEF(uint64_t, totalTiles);
    TILING_DATA_FIELD_DEF(uint32_t, dims);
    TILING_DATA_FIELD_DEF(uint32_t, xDense);
    TILING_DATA_FIELD_DEF(uint32_t, yDense);
    TILING_DATA_FIELD_DEF(uint32_t, reserved); // keeps the size a multiple of 8 bytes
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(AddCustom, AddCustomTilingData)
} // namespace optiling

#endif // ADD_CUSTOM_TILING_H
