// What host tiling tells the kernel.
#ifndef SWIGLU_CUSTOM_TILING_H
#define SWIGLU_CUSTOM_TILING_H

#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(SwigluCustomTilingData)
    TILING_DATA_FIELD_DEF(uint64_t, rows);  // extents before the halved dimension, multiplied
    TILING_DATA_FIELD_DEF(uint64_t, inner); // elements of one half of a row
    TILING_DATA_FIELD_DEF(uint64_t, tile);  // elements in the local memory at once
    TILING_DATA_FIELD_DEF(uint64_t, tilesPerRow);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(SwigluCustom, SwigluCustomTilingData)
} // namespace optiling

#endif // SWIGLU_CUSTOM_TILING_H
