#include "kernel_operator.h"

#include <cstddef>

#include "two_groups_demo_tiling.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void two_groups_demo(
    GM_ADDR x, GM_ADDR exchanged, GM_ADDR gathered, GM_ADDR workspace, GM_ADDR tiling)
{
    REGISTER_TILING_DEFAULT(TwoGroupsDemoTiling);
    GET_TILING_DATA_WITH_STRUCT(TwoGroupsDemoTiling, data, tiling);
    Hccl exchange;
    Hccl gather;
    exchange.InitV2(GetHcclContext<0>(), &data);
    gather.InitV2(GetHcclContext<1>(), &data);
    exchange.SetCcTilingV2(offsetof(TwoGroupsDemoTiling, exchange));
    gather.SetCcTilingV2(offsetof(TwoGroupsDemoTiling, gather));
    const HcclDataType type = HcclDataType::HCCL_DATA_TYPE_FP32;
    const HcclHandle first = exchange.AlltoAll(x, exchanged, data.length, type);
    gather.InterHcclGroupSync(0, first);
    const HcclHandle second =
        gather.AllGather<true>(exchanged, gathered, data.length * exchange.GetRankDim(), type, 0);
    exchange.Commit(first); // the other group's task waits for it
    exchange.Wait(first);
    gather.Wait(second);
    SyncAll();
    exchange.Finalize();
    gather.Finalize();
}
