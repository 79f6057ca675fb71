#define ASCENDC_CUBE_ONLY
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

#include <cstddef>

#include "gather_product_demo_tiling.h"

using namespace AscendC;

namespace {

using Half = matmul::MatmulType<TPosition::GM, CubeFormat::ND, half>;
using Float = matmul::MatmulType<TPosition::GM, CubeFormat::ND, float>;
using Product = matmul::Matmul<Half, Half, Float, Float>;

__aicore__ inline int32_t Smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

// This core's part of to = rows x weight.
__aicore__ inline void Multiply(GM_ADDR rows, GM_ADDR weight, GM_ADDR to, const TCubeTiling& tiling, Product& product)
{
    const int32_t core = GetBlockIdx();
    if (core >= tiling.usedCoreNum) {
        return;
    }
    GlobalTensor<half> a, b;
    GlobalTensor<float> c;
    a.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(rows), tiling.M * tiling.Ka);
    b.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(weight), tiling.Kb * tiling.N);
    c.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(to), tiling.M * tiling.N);
    const int32_t down = (tiling.M + tiling.singleCoreM - 1) / tiling.singleCoreM;
    const int32_t row = core % down * tiling.singleCoreM;
    const int32_t column = core / down * tiling.singleCoreN;
    product.SetOrgShape(tiling.M, tiling.N, tiling.Ka, tiling.Kb);
    product.SetTensorA(a[row * tiling.Ka]);
    product.SetTensorB(b[column]);
    product.SetTail(Smaller(tiling.M - row, tiling.singleCoreM), Smaller(tiling.N - column, tiling.singleCoreN));
    product.IterateAll(c[row * tiling.N + column]);
}

} // namespace

extern "C" __global__ __aicore__ void gather_product_demo(
    GM_ADDR x, GM_ADDR weight, GM_ADDR to, GM_ADDR gathered, GM_ADDR workspace, GM_ADDR tiling)
{
    if ASCEND_IS_AIV {
        return;
    }
    REGISTER_TILING_DEFAULT(GatherProductDemoTiling);
    GET_TILING_DATA_WITH_STRUCT(GatherProductDemoTiling, data, tiling);
    TPipe pipe;
    Hccl hccl;
    hccl.InitV2(GetHcclContext<HCCL_GROUP_ID_0>(), &data);
    hccl.SetCcTilingV2(offsetof(GatherProductDemoTiling, gather));
    const uint64_t ownElements = static_cast<uint64_t>(data.own.M) * data.own.Ka;
    const uint64_t ownResults = static_cast<uint64_t>(data.own.M) * data.own.N;
    const uint64_t tileElements = static_cast<uint64_t>(data.tile.M) * data.tile.Ka;
    const uint64_t tileResults = static_cast<uint64_t>(data.tile.M) * data.tile.N;
    const HcclHandle handle = hccl.AllGather<true>(
        x, gathered, tileElements, HcclDataType::HCCL_DATA_TYPE_FP16, ownElements, static_cast<uint8_t>(data.rounds));

    Product product;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), product);
    product.Init(&data.own);
    Multiply(x, weight, to + hccl.GetRankId() * ownResults * sizeof(float), data.own, product);
    product.Init(&data.tile);
    for (int64_t round = 0; round < data.rounds; ++round) {
        hccl.Wait(handle);
        for (uint32_t rank = 0; rank < hccl.GetRankDim(); ++rank) {
            if (rank != hccl.GetRankId()) {
                Multiply(gathered + (rank * ownElements + round * tileElements) * sizeof(half), weight,
                         to + (rank * ownResults + round * tileResults) * sizeof(float), data.tile, product);
            }
        }
    }
    product.End();
    CrossCoreSetFlag<0x0, PIPE_FIX>(8); // the first core may not end the server before the others have waited
    CrossCoreWaitFlag(8);
    hccl.Finalize();
}
