// Run on the CPU, not on an NPU, and never compiled by an Ascend compiler: there was none where this was written. On the CPU
// this source runs unmodified, core by core and with checks: `ophook-npu kernel check`, tests/unit/kernel. What that cannot
// tell is in docs/ascend-c.md.
//
// z = x + y with broadcasting; fp16, fp32, int32 in their own type, bf16 through fp32 (the vector unit of Atlas A2 adds
// no bf16), rounded to nearest even once. Every tile: copy in, add, copy out, double buffered.

#include "kernel_operator.h"

#define ADD_CUSTOM_DEVICE __aicore__
#include "add_custom_plan.h"

namespace {

constexpr int32_t kBuffers = 2;

template <typename T>
struct Compute {
    using Type = T;
    static constexpr bool kCasts = false;
};
template <>
struct Compute<bfloat16_t> {
    using Type = float;
    static constexpr bool kCasts = true;
};

template <typename T>
class AddCustom {
    using C = typename Compute<T>::Type;
    static constexpr bool kCasts = Compute<T>::kCasts;

public:
    __aicore__ inline AddCustom() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, const AddCustomTilingData* data, AscendC::TPipe* pipe)
    {
        data_ = data;
        x_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x));
        y_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y));
        z_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(z));
        const uint32_t bytes = static_cast<uint32_t>(data->tile * sizeof(T));
        // A broadcast input is one scalar a run and needs no buffer.
        if (data->xDense != 0) {
            pipe->InitBuffer(xQueue_, kBuffers, bytes);
        }
        if (data->yDense != 0) {
            pipe->InitBuffer(yQueue_, kBuffers, bytes);
        }
        pipe->InitBuffer(zQueue_, kBuffers, bytes);
        if constexpr (kCasts) {
            pipe->InitBuffer(aWide_, static_cast<uint32_t>(data->tile * sizeof(C)));
            pipe->InitBuffer(bWide_, static_cast<uint32_t>(data->tile * sizeof(C)));
        }
    }

    __aicore__ inline void Process()
    {
        uint64_t first = 0;
        uint64_t count = 0;
        add_custom_plan::ShareOf(data_->totalTiles, AscendC::GetBlockNum(), AscendC::GetBlockIdx(), &first, &count);
        for (uint64_t i = first; i < first + count; ++i) {
            const uint64_t row = i / data_->tilesPerRow;
            const uint64_t begin = i % data_->tilesPerRow * data_->tile;
            const uint64_t left = data_->inner - begin;
            const uint32_t length = static_cast<uint32_t>(left < data_->tile ? left : data_->tile);
            uint64_t xRow = 0;
            uint64_t yRow = 0;
            add_custom_plan::RowOffsets(*data_, row, &xRow, &yRow);
            if (data_->xDense != 0) {
                CopyIn(xQueue_, x_, xRow + begin, length);
            }
            if (data_->yDense != 0) {
                CopyIn(yQueue_, y_, yRow + begin, length);
            }
            Add(xRow, yRow, length);
            CopyOut(row * data_->inner + begin, length);
        }
    }

private:
    using InQueue = AscendC::TQue<AscendC::QuePosition::VECIN, kBuffers>;
    using OutQueue = AscendC::TQue<AscendC::QuePosition::VECOUT, kBuffers>;

    // DataCopyPad moves any number of bytes, so the tail of a run needs no case of its own.
    __aicore__ inline void CopyIn(InQueue& queue, AscendC::GlobalTensor<T>& from, uint64_t offset, uint32_t length)
    {
        AscendC::LocalTensor<T> to = queue.template AllocTensor<T>();
        AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        AscendC::DataCopyPadExtParams<T> pad{false, 0, 0, static_cast<T>(0)};
        AscendC::DataCopyPad(to, from[offset], copy, pad);
        queue.EnQue(to);
    }

    __aicore__ inline void Add(uint64_t xRow, uint64_t yRow, uint32_t length)
    {
        AscendC::LocalTensor<T> z = zQueue_.template AllocTensor<T>();
        if (data_->xDense != 0 && data_->yDense != 0) {
            AscendC::LocalTensor<T> x = xQueue_.template DeQue<T>();
            AscendC::LocalTensor<T> y = yQueue_.template DeQue<T>();
            AddDense(z, x, y, length);
            xQueue_.FreeTensor(x);
            yQueue_.FreeTensor(y);
        } else if (data_->xDense != 0) {
            AscendC::LocalTensor<T> x = xQueue_.template DeQue<T>();
            AddScalar(z, x, y_.GetValue(yRow), length);
            xQueue_.FreeTensor(x);
        } else {
            AscendC::LocalTensor<T> y = yQueue_.template DeQue<T>();
            AddScalar(z, y, x_.GetValue(xRow), length);
            yQueue_.FreeTensor(y);
        }
        zQueue_.EnQue(z);
    }

    __aicore__ inline void AddDense(AscendC::LocalTensor<T>& z, AscendC::LocalTensor<T>& x, AscendC::LocalTensor<T>& y,
        uint32_t length)
    {
        if constexpr (kCasts) {
            AscendC::LocalTensor<C> a = aWide_.template Get<C>();
            AscendC::LocalTensor<C> b = bWide_.template Get<C>();
            AscendC::Cast(a, x, AscendC::RoundMode::CAST_NONE, length);
            AscendC::Cast(b, y, AscendC::RoundMode::CAST_NONE, length);
            AscendC::Add(a, a, b, length);
            AscendC::Cast(z, a, AscendC::RoundMode::CAST_RINT, length);
        } else {
            AscendC::Add(z, x, y, length);
        }
    }

    __aicore__ inline void AddScalar(AscendC::LocalTensor<T>& z, AscendC::LocalTensor<T>& dense, T value, uint32_t length)
    {
        if constexpr (kCasts) {
            AscendC::LocalTensor<C> a = aWide_.template Get<C>();
            AscendC::Cast(a, dense, AscendC::RoundMode::CAST_NONE, length);
            AscendC::Adds(a, a, AscendC::ToFloat(value), length);
            AscendC::Cast(z, a, AscendC::RoundMode::CAST_RINT, length);
        } else {
            AscendC::Adds(z, dense, value, length);
        }
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t length)
    {
        AscendC::LocalTensor<T> z = zQueue_.template DeQue<T>();
        AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        AscendC::DataCopyPad(z_[offset], z, copy);
        zQueue_.FreeTensor(z);
    }

    const AddCustomTilingData* data_ = nullptr;
    AscendC::GlobalTensor<T> x_;
    AscendC::GlobalTensor<T> y_;
    AscendC::GlobalTensor<T> z_;
    InQueue xQueue_;
    InQueue yQueue_;
    OutQueue zQueue_;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> aWide_;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> bWide_;
};

} // namespace

extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling)
{
    (void)workspace;
    GET_TILING_DATA(data, tiling);
    AscendC::TPipe pipe;
    AddCustom<DTYPE_X> op;
    op.Init(x, y, z, &data, &pipe);
    op.Process();
}
