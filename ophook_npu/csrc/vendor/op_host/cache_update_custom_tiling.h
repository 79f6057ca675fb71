// What host tiling tells the kernel.
#ifndef CACHE_UPDATE_CUSTOM_TILING_H
#define CACHE_UPDATE_CUSTOM_TILING_H

#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(CacheUpdateCustomTilingData)
    TILING_DATA_FIELD_DEF(uint64_t, rows);     // of the cache
    TILING_DATA_FIELD_DEF(uint64_t, count);    // of the updates
    TILING_DATA_FIELD_DEF(uint64_t, rowBytes);
    TILING_DATA_FIELD_DEF(uint64_t, tile);     // bytes in the local memory at once
    TILING_DATA_FIELD_DEF(uint64_t, tilesPerRow);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(CacheUpdateCustom, CacheUpdateCustomTilingData)
} // namespace optiling

#endif // CACHE_UPDATE_CUSTOM_TILING_H
