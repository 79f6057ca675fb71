// Each mode is one way in which a kernel and the ranks of its group work together, or one mistake.
#include "kernel_operator.h"

#include <cstddef>

#include "group_demo_tiling.h"

using namespace AscendC;

namespace {

struct Told {
    uint64_t workspace, workspaceSize;
    uint32_t rank, ranks;
    uint64_t window, in[HCCL_MAX_RANK_NUM];
};

constexpr int32_t kFlag = 64 * 1024; // bytes: where the flags of a window lie

constexpr HcclServerConfig kOfBlockOne = {CoreType::ON_AIV, 1};

struct Item { // of BatchWrite on an Atlas A3
    uint64_t type;
    uint32_t res1[5];
    uint32_t length, fromLow, fromHigh, toLow, toHigh;
    uint32_t res2[4];
};

template <typename T>
__aicore__ inline GlobalTensor<T> At(GM_ADDR address, uint64_t count)
{
    GlobalTensor<T> out;
    out.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(address), count);
    return out;
}

__aicore__ inline void Move(GM_ADDR to, GM_ADDR from, uint32_t count, TBuf<TPosition::VECCALC>& buffer)
{
    LocalTensor<float> tile = buffer.Get<float>();
    DataCopy(tile, At<float>(from, count), count);
    PipeBarrier<PIPE_ALL>();
    DataCopy(At<float>(to, count), tile, count);
    PipeBarrier<PIPE_ALL>();
}

__aicore__ inline void Twice(GM_ADDR to, GM_ADDR from, uint32_t count, TBuf<TPosition::VECCALC>& buffer)
{
    LocalTensor<float> tile = buffer.Get<float>();
    DataCopy(tile, At<float>(from, count), count);
    PipeBarrier<PIPE_ALL>();
    Muls(tile, tile, 2.0f, count);
    PipeBarrier<PIPE_ALL>();
    DataCopy(At<float>(to, count), tile, count);
    PipeBarrier<PIPE_ALL>();
}

__aicore__ inline void Fill(Item* item, GM_ADDR to, GM_ADDR from, uint32_t length)
{
    item->type = 0;
    item->length = length;
    item->fromLow = static_cast<uint32_t>(reinterpret_cast<uint64_t>(from));
    item->fromHigh = static_cast<uint32_t>(reinterpret_cast<uint64_t>(from) >> 32);
    item->toLow = static_cast<uint32_t>(reinterpret_cast<uint64_t>(to));
    item->toHigh = static_cast<uint32_t>(reinterpret_cast<uint64_t>(to) >> 32);
}

// Looks at a flag of the own window until another rank has raised it.
__aicore__ inline void Await(GM_ADDR flag, float value, TBuf<TPosition::VECCALC>& buffer)
{
    LocalTensor<float> seen = buffer.Get<float>();
    do {
        DataCopy(seen, At<float>(flag, 8), 8);
        PipeBarrier<PIPE_ALL>();
    } while (seen.GetValue(0) != value);
}

__aicore__ inline void Raise(GM_ADDR flag, float value, TBuf<TPosition::VECCALC>& buffer)
{
    LocalTensor<float> raised = buffer.Get<float>();
    Duplicate(raised, value, 8);
    PipeBarrier<PIPE_ALL>();
    DataCopy(At<float>(flag, 8), raised, 8);
    PipeBarrier<PIPE_ALL>();
}

} // namespace

extern "C" __global__ __aicore__ void group_demo(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling)
{
    REGISTER_TILING_DEFAULT(GroupDemoTiling);
    GET_TILING_DATA_WITH_STRUCT(GroupDemoTiling, data, tiling);
    const uint64_t length = data.sizes.length;
    const uint8_t tiles = static_cast<uint8_t>(data.sizes.tiles);
    const HcclDataType type = HcclDataType::HCCL_DATA_TYPE_FP32;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 32 * 1024);

    Hccl hccl;
    GM_ADDR context = GetHcclContext<0>();
    const int64_t mode = data.sizes.mode;
    if (mode == 20) { // no InitV2
        hccl.AllReduce<true>(x, y, length, type, HCCL_REDUCE_SUM);
        return;
    }
    if (mode == 38) { // the tiling as it lies in device memory
        hccl.InitV2(context, tiling);
        return;
    }
    if (mode == 10) { // the older calls, which take it from there
        __gm__ GroupDemoTiling* there = reinterpret_cast<__gm__ GroupDemoTiling*>(tiling);
        hccl.Init(context, &there->init);
        if (hccl.SetCcTiling(&there->first) == HCCL_SUCCESS) {
            hccl.Wait(hccl.AllReduce<true>(x, y, length, type, HCCL_REDUCE_SUM));
            SyncAll();
        }
        hccl.Finalize();
        return;
    }
    if (mode == 42) { // nobody raises it; the window is found as the vendor's kernels find it, without an Hccl object
        const __gm__ Told* told = reinterpret_cast<const __gm__ Told*>(context);
        Await(reinterpret_cast<GM_ADDR>(told->in[told->rank]) + kFlag, 7.0f, buffer);
        return;
    }
    hccl.InitV2(context, &data);
    if (mode == 21) { // no SetCcTilingV2
        hccl.AllReduce<true>(x, y, length, type, HCCL_REDUCE_SUM);
        return;
    }
    if (hccl.SetCcTilingV2(offsetof(GroupDemoTiling, first)) != HCCL_SUCCESS) {
        return;
    }
    const uint32_t rank = hccl.GetRankId();
    const uint32_t ranks = hccl.GetRankDim();
    const uint32_t next = (rank + 1) % ranks;
    HcclHandle handle = INVALID_HANDLE_ID;
    switch (mode) {
        case 0: // whole tensors
            handle = hccl.AllReduce<true>(x, y, length, type, HCCL_REDUCE_SUM);
            hccl.Wait(handle);
            break;
        case 1: { // tiles and a tail, each rank's blocks `stride` apart
            const uint64_t tail = 3;
            const uint64_t stride = length * tiles + tail;
            handle = hccl.AllGather(x, y, length, type, stride, tiles);
            const uint64_t done = length * tiles * sizeof(float);
            const HcclHandle last = hccl.AllGather(x + done, y + done, tail, type, stride);
            for (uint8_t i = 0; i < tiles; ++i) {
                hccl.Commit(handle);
            }
            hccl.Commit(last);
            for (uint8_t i = 0; i < tiles; ++i) {
                hccl.Wait(handle);
            }
            hccl.Wait(last);
            break;
        }
        case 2: // a round, then the next
            handle = hccl.ReduceScatter(x, y, length, type, HCCL_REDUCE_MAX, length * tiles, tiles);
            for (uint8_t i = 0; i < tiles; ++i) {
                hccl.Commit(handle);
                hccl.Wait(handle);
            }
            break;
        case 3:
            handle = hccl.AlltoAll<true>(x, y, length, type, length * tiles, tiles);
            while (hccl.Query(handle) < tiles) {
            }
            break;
        case 4: { // rank i sends i + 1 + j elements to rank j
            uint64_t sent[8] = {};
            uint64_t sentAt[8] = {};
            uint64_t received[8] = {};
            uint64_t receivedAt[8] = {};
            for (uint32_t i = 0; i < ranks; ++i) {
                sent[i] = rank + 1 + i;
                received[i] = i + 1 + rank;
                sentAt[i] = i == 0 ? 0 : sentAt[i - 1] + sent[i - 1];
                receivedAt[i] = i == 0 ? 0 : receivedAt[i - 1] + received[i - 1];
            }
            handle = hccl.AlltoAllV<true>(x, sent, sentAt, type, y, received, receivedAt, type);
            hccl.Wait(handle);
            break;
        }
        case 5: // through the window of the next rank
            if (ranks > 1) { // what the vendor's kernels read of a context
                const __gm__ Told* told = reinterpret_cast<const __gm__ Told*>(context);
                if (told->rank != rank || told->ranks != ranks || told->in[next] != uint64_t(hccl.GetWindowsInAddr(next))) {
                    Trap();
                }
            }
            if (GetBlockIdx() == 0) {
                LocalTensor<float> message = buffer.Get<float>()[2048]; // with a gap between its head and the rest
                Duplicate(message, 1.0f, 8);
                PipeBarrier<PIPE_ALL>();
                DataCopy(At<float>(hccl.GetWindowsOutAddr(rank) + 2 * kFlag, 24), message, 24);
                Move(hccl.GetWindowsOutAddr(rank), x, length, buffer);
                Move(hccl.GetWindowsInAddr(next), hccl.GetWindowsOutAddr(rank), length, buffer);
                Raise(hccl.GetWindowsInAddr(next) + kFlag, 1.0f, buffer);
                Await(hccl.GetWindowsInAddr(rank) + kFlag, 1.0f, buffer);
                Move(y, hccl.GetWindowsInAddr(rank), length, buffer);
                Raise(hccl.GetWindowsInAddr(rank) + kFlag, 0.0f, buffer);
            }
            if (hccl.GetWindowsOutAddr(ranks) != nullptr) {
                Trap();
            }
            break;
        case 6: { // the same by the server
            __gm__ Item* items = reinterpret_cast<__gm__ Item*>(workspace);
            GM_ADDR one = workspace + 4096;
            if (GetBlockIdx() == 0) {
                Raise(one, 2.0f, buffer);
                Fill(items, hccl.GetWindowsInAddr(next) + kFlag / 2, x, length * sizeof(float));
                Fill(items + 1, hccl.GetWindowsInAddr(next) + kFlag + 64, one, 32);
            }
            handle = hccl.BatchWrite<true>(reinterpret_cast<GM_ADDR>(items), 2, 1);
            hccl.Wait(handle);
            if (GetBlockIdx() == 0) {
                Await(hccl.GetWindowsInAddr(rank) + kFlag + 64, 2.0f, buffer);
                Move(y, hccl.GetWindowsInAddr(rank) + kFlag / 2, length, buffer);
                Raise(hccl.GetWindowsInAddr(rank) + kFlag + 64, 0.0f, buffer);
            }
            hccl.QueueBarrier(static_cast<uint16_t>(hccl.GetQueueNum() - 1));
            break;
        }
        case 7: { // computes, then communicates; what comes is computed with by another core
            handle = hccl.AllReduce(workspace, workspace + 65536, length, type, HCCL_REDUCE_SUM);
            if (GetBlockIdx() == GetBlockNum() - 1) {
                Twice(workspace, x, length, buffer);
            }
            SyncAll();
            hccl.Commit(handle);
            hccl.Wait(handle);
            if (GetBlockIdx() == GetBlockNum() - 1) {
                Twice(y, workspace + 65536, length, buffer);
            }
            break;
        }
        case 8: // two kinds of tasks
            hccl.SetCcTilingV2(offsetof(GroupDemoTiling, second));
            handle = hccl.AllReduce<true>(x, workspace, length, type, HCCL_REDUCE_MIN);
            hccl.Wait(handle);
            handle = hccl.AllGather<true>(workspace, y, length, type, 0);
            hccl.Wait(handle);
            break;
        case 9:
            handle = hccl.AllGather<true>(x, y, length, type, 0);
            hccl.Wait(handle);
            break;
        case 22: // nobody commits
            handle = hccl.AllReduce(x, y, length, type, HCCL_REDUCE_SUM);
            hccl.Wait(handle);
            break;
        case 23: // the second is committed first, and the first never
            handle = hccl.AllReduce(x, y, length, type, HCCL_REDUCE_SUM);
            handle = hccl.AllReduce<true>(x, y, length, type, HCCL_REDUCE_SUM);
            hccl.Wait(handle);
            break;
        case 24:
            hccl.AllReduce<true>(x, y, length, HCCL_DATA_TYPE_UINT8, HCCL_REDUCE_SUM);
            break;
        case 25:
            hccl.AllReduce<true>(x, y, length, type, HCCL_REDUCE_PROD);
            break;
        case 26:
            for (int i = 0; i < 64; ++i) {
                handle = hccl.AllReduce<true>(x, y, length, type, HCCL_REDUCE_SUM);
            }
            if (handle != INVALID_HANDLE_ID) {
                Trap();
            }
            break;
        case 27:
            hccl.Commit(5);
            break;
        case 28: { // the second before the first
            handle = hccl.AllReduce<true>(x, y, length, type, HCCL_REDUCE_SUM);
            const HcclHandle second = hccl.AllReduce<true>(x, y, length, type, HCCL_REDUCE_SUM);
            hccl.Wait(second);
            hccl.Wait(handle);
            break;
        }
        case 29: // no Finalize
            handle = hccl.AllReduce<true>(x, y, length, type, HCCL_REDUCE_SUM);
            hccl.Wait(handle);
            return;
        case 30: // Finalize without SyncAll before it
            handle = hccl.AllReduce<true>(x, y, length, type, HCCL_REDUCE_SUM);
            hccl.Wait(handle);
            hccl.Finalize();
            return;
        case 31: // more rounds committed than prepared
            handle = hccl.AllReduce<true>(x, y, length, type, HCCL_REDUCE_SUM);
            hccl.Commit(handle);
            break;
        case 32: // fewer
            handle = hccl.AllReduce(x, y, length, type, HCCL_REDUCE_SUM, 2);
            hccl.Commit(handle);
            hccl.Wait(handle);
            break;
        case 33: { // core 1 sends what core 0 has written, without SyncAll
            Hccl<HcclServerType::HCCL_SERVER_TYPE_AICPU, kOfBlockOne> other;
            if (GetBlockIdx() == 0) {
                Twice(workspace, x, length, buffer);
            }
            hccl.Finalize();
            other.InitV2(context, &data);
            other.SetCcTilingV2(offsetof(GroupDemoTiling, first));
            handle = other.AllReduce<true>(workspace, y, length, type, HCCL_REDUCE_SUM);
            other.Wait(handle);
            SyncAll();
            other.Finalize();
            return;
        }
        case 34: // an input is the receive buffer
            hccl.AllReduce<true>(y, x, length, type, HCCL_REDUCE_SUM);
            break;
        case 35: // more than there is
            hccl.AllReduce<true>(x, y, 1 << 20, type, HCCL_REDUCE_SUM);
            break;
        case 36: // waits once too often
            handle = hccl.AllReduce<true>(x, y, length, type, HCCL_REDUCE_SUM);
            hccl.Wait(handle);
            hccl.Wait(handle);
            break;
        case 37: { // a second object
            Hccl other;
            other.InitV2(context, &data);
            break;
        }
        case 39: // asks for ever
            handle = hccl.AllReduce(x, y, length, type, HCCL_REDUCE_SUM);
            while (hccl.Query(handle) < 1) {
            }
            break;
        case 40: // reads before it waits
            handle = hccl.AllReduce<true>(x, workspace, length, type, HCCL_REDUCE_SUM);
            if (GetBlockIdx() == 0) {
                Move(y, workspace, length, buffer);
            }
            break;
        case 41: // nobody raises it
            Await(hccl.GetWindowsInAddr(rank) + kFlag, 7.0f, buffer);
            break;
        default:
            Trap();
    }
    SyncAll();
    hccl.Finalize();
}
