// What host tiling tells the kernel.
#ifndef ROW_SUM_CUSTOM_TILING_H
#define ROW_SUM_CUSTOM_TILING_H

#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(RowSumCustomTilingData)
    TILING_DATA_FIELD_DEF(uint64_t, rows);
    TILING_DATA_FIELD_DEF(uint64_t, width); // elements of a row
    TILING_DATA_FIELD_DEF(uint64_t, tile);  // elements in the local memory at once
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(RowSumCustom, RowSumCustomTilingData)
} // namespace optiling

#endif // ROW_SUM_CUSTOM_TILING_H
