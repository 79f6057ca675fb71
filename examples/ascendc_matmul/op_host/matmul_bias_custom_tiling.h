// What host tiling tells the kernel.
#ifndef MATMUL_BIAS_CUSTOM_TILING_H
#define MATMUL_BIAS_CUSTOM_TILING_H

#include "register/tilingdata_base.h"
#include "tiling/tiling_api.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(MatmulBiasCustomTilingData)
    TILING_DATA_FIELD_DEF(uint32_t, transposed); // the weight is (N, K)
    TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, cube);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(MatmulBiasCustom, MatmulBiasCustomTilingData)
} // namespace optiling

#endif // MATMUL_BIAS_CUSTOM_TILING_H
