// Run on the CPU, not on an NPU, and never compiled by an Ascend compiler: there was none where this was written.
//
// cache[index[i]] = updates[i], in place. Rows are moved as bytes, through local memory: nothing is computed. A row that is
// longer than a tile is moved in pieces; pieces are dealt to the cores. No number may be in index twice.

#include "kernel_operator.h"

namespace {

constexpr int32_t kBuffers = 2;

class CacheUpdateCustom {
public:
    __aicore__ inline CacheUpdateCustom() {}

    __aicore__ inline void Init(
        GM_ADDR cache, GM_ADDR index, GM_ADDR updates, const CacheUpdateCustomTilingData* data, AscendC::TPipe* pipe)
    {
        data_ = data;
        cache_.SetGlobalBuffer(reinterpret_cast<__gm__ uint8_t*>(cache));
        index_.SetGlobalBuffer(reinterpret_cast<__gm__ DTYPE_INDEX*>(index));
        updates_.SetGlobalBuffer(reinterpret_cast<__gm__ uint8_t*>(updates));
        pipe->InitBuffer(queue_, kBuffers, static_cast<uint32_t>(data->tile));
    }

    __aicore__ inline void Process()
    {
        const uint64_t total = data_->count * data_->tilesPerRow;
        const uint64_t cores = static_cast<uint64_t>(AscendC::GetBlockNum());
        const uint64_t core = static_cast<uint64_t>(AscendC::GetBlockIdx());
        for (uint64_t i = total * core / cores; i < total * (core + 1) / cores; ++i) {
            const uint64_t from = i / data_->tilesPerRow;
            const uint64_t begin = i % data_->tilesPerRow * data_->tile;
            const int64_t to = static_cast<int64_t>(index_.GetValue(from));
            assert(to >= 0 && to < static_cast<int64_t>(data_->rows));
            const uint64_t left = data_->rowBytes - begin;
            const uint32_t bytes = static_cast<uint32_t>(left < data_->tile ? left : data_->tile);
            Move(from * data_->rowBytes + begin, static_cast<uint64_t>(to) * data_->rowBytes + begin, bytes);
        }
    }

private:
    __aicore__ inline void Move(uint64_t from, uint64_t to, uint32_t bytes)
    {
        AscendC::DataCopyExtParams copy{1, bytes, 0, 0, 0};
        AscendC::DataCopyPadExtParams<uint8_t> pad{false, 0, 0, 0};
        AscendC::LocalTensor<uint8_t> piece = queue_.AllocTensor<uint8_t>();
        AscendC::DataCopyPad(piece, updates_[from], copy, pad);
        queue_.EnQue(piece);
        piece = queue_.DeQue<uint8_t>();
        AscendC::DataCopyPad(cache_[to], piece, copy);
        queue_.FreeTensor(piece);
    }

    const CacheUpdateCustomTilingData* data_ = nullptr;
    AscendC::GlobalTensor<uint8_t> cache_;
    AscendC::GlobalTensor<DTYPE_INDEX> index_;
    AscendC::GlobalTensor<uint8_t> updates_;
    AscendC::TQueBind<AscendC::QuePosition::VECIN, AscendC::QuePosition::VECOUT, kBuffers> queue_;
};

} // namespace

extern "C" __global__ __aicore__ void cache_update_custom(
    GM_ADDR cache, GM_ADDR index, GM_ADDR updates, GM_ADDR cacheOut, GM_ADDR workspace, GM_ADDR tiling)
{
    (void)cacheOut; // the same memory as cache
    (void)workspace;
    GET_TILING_DATA(data, tiling);
    AscendC::TPipe pipe;
    CacheUpdateCustom op;
    op.Init(cache, index, updates, &data, &pipe);
    op.Process();
}
