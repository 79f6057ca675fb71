// What host tiling tells the kernel.
#ifndef ATTENTION_CUSTOM_TILING_H
#define ATTENTION_CUSTOM_TILING_H

#include "register/tilingdata_base.h"
#include "tiling/tiling_api.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(AttentionCustomTilingData)
    TILING_DATA_FIELD_DEF(uint64_t, heads);
    TILING_DATA_FIELD_DEF(uint64_t, rows); // of the query
    TILING_DATA_FIELD_DEF(uint64_t, keys);
    TILING_DATA_FIELD_DEF(uint64_t, depth);
    TILING_DATA_FIELD_DEF(uint64_t, tile); // rows that a core takes at once
    TILING_DATA_FIELD_DEF(float, scale);
    TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, scores);
    TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, result);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(AttentionCustom, AttentionCustomTilingData)
} // namespace optiling

#endif // ATTENTION_CUSTOM_TILING_H
