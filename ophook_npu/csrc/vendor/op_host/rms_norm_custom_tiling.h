// What host tiling tells the kernel.
#ifndef RMS_NORM_CUSTOM_TILING_H
#define RMS_NORM_CUSTOM_TILING_H

#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(RmsNormCustomTilingData)
    TILING_DATA_FIELD_DEF(uint64_t, rows);
    TILING_DATA_FIELD_DEF(uint64_t, width); // elements of a row
    TILING_DATA_FIELD_DEF(uint64_t, tile);  // elements in the local memory at once
    TILING_DATA_FIELD_DEF(float, inverseWidth);
    TILING_DATA_FIELD_DEF(float, epsilon);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(RmsNormCustom, RmsNormCustomTilingData)
} // namespace optiling

#endif // RMS_NORM_CUSTOM_TILING_H
