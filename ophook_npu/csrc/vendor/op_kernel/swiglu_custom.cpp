// Run on the CPU, not on an NPU, and never compiled by an Ascend compiler: there was none where this was written.
//
// y = a / (1 + exp(-a)) * b for the halves a and b of x along one dimension; computed in fp32, rounded once. Seen from
// that dimension, x is rows of two runs of `inner` elements: a, then b. Runs are cut into tiles, tiles dealt to the cores.

#include "kernel_operator.h"

namespace {

constexpr int32_t kBuffers = 2;

template <typename T>
class SwigluCustom {
    static constexpr bool kCasts = !AscendC::IsSameType<T, float>::value;

public:
    __aicore__ inline SwigluCustom() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const SwigluCustomTilingData* data, AscendC::TPipe* pipe)
    {
        data_ = data;
        x_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x));
        y_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y));
        const uint32_t bytes = static_cast<uint32_t>(data->tile * sizeof(T));
        const uint32_t wide = static_cast<uint32_t>(data->tile * sizeof(float));
        pipe->InitBuffer(aQueue_, kBuffers, bytes);
        pipe->InitBuffer(bQueue_, kBuffers, bytes);
        pipe->InitBuffer(yQueue_, kBuffers, bytes);
        pipe->InitBuffer(work_, wide);
        if constexpr (kCasts) {
            pipe->InitBuffer(aWide_, wide);
            pipe->InitBuffer(bWide_, wide);
        }
    }

    __aicore__ inline void Process()
    {
        const uint64_t total = data_->rows * data_->tilesPerRow;
        const uint64_t cores = static_cast<uint64_t>(AscendC::GetBlockNum());
        const uint64_t core = static_cast<uint64_t>(AscendC::GetBlockIdx());
        for (uint64_t i = total * core / cores; i < total * (core + 1) / cores; ++i) {
            const uint64_t row = i / data_->tilesPerRow;
            const uint64_t begin = i % data_->tilesPerRow * data_->tile;
            const uint64_t left = data_->inner - begin;
            const uint32_t length = static_cast<uint32_t>(left < data_->tile ? left : data_->tile);
            CopyIn(aQueue_, row * 2 * data_->inner + begin, length);
            CopyIn(bQueue_, (row * 2 + 1) * data_->inner + begin, length);
            Compute(length);
            CopyOut(row * data_->inner + begin, length);
        }
    }

private:
    using InQueue = AscendC::TQue<AscendC::QuePosition::VECIN, kBuffers>;

    __aicore__ inline void CopyIn(InQueue& queue, uint64_t offset, uint32_t length)
    {
        AscendC::LocalTensor<T> to = queue.template AllocTensor<T>();
        AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        AscendC::DataCopyPadExtParams<T> pad{false, 0, 0, static_cast<T>(0)};
        AscendC::DataCopyPad(to, x_[offset], copy, pad);
        queue.EnQue(to);
    }

    __aicore__ inline void Compute(uint32_t length)
    {
        AscendC::LocalTensor<T> a = aQueue_.template DeQue<T>();
        AscendC::LocalTensor<T> b = bQueue_.template DeQue<T>();
        AscendC::LocalTensor<T> y = yQueue_.template AllocTensor<T>();
        if constexpr (kCasts) {
            AscendC::LocalTensor<float> aWide = aWide_.template Get<float>();
            AscendC::LocalTensor<float> bWide = bWide_.template Get<float>();
            AscendC::Cast(aWide, a, AscendC::RoundMode::CAST_NONE, length);
            AscendC::Cast(bWide, b, AscendC::RoundMode::CAST_NONE, length);
            Gate(aWide, aWide, bWide, length);
            AscendC::Cast(y, aWide, AscendC::RoundMode::CAST_RINT, length);
        } else {
            Gate(y, a, b, length);
        }
        aQueue_.FreeTensor(a);
        bQueue_.FreeTensor(b);
        yQueue_.EnQue(y);
    }

    __aicore__ inline void Gate(const AscendC::LocalTensor<float>& y, const AscendC::LocalTensor<float>& a,
        const AscendC::LocalTensor<float>& b, uint32_t length)
    {
        AscendC::LocalTensor<float> work = work_.template Get<float>();
        AscendC::Muls(work, a, -1.0f, length);
        AscendC::Exp(work, work, length);
        AscendC::Adds(work, work, 1.0f, length);
        AscendC::Div(work, a, work, length);
        AscendC::Mul(y, work, b, length);
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t length)
    {
        AscendC::LocalTensor<T> y = yQueue_.template DeQue<T>();
        AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        AscendC::DataCopyPad(y_[offset], y, copy);
        yQueue_.FreeTensor(y);
    }

    const SwigluCustomTilingData* data_ = nullptr;
    AscendC::GlobalTensor<T> x_;
    AscendC::GlobalTensor<T> y_;
    InQueue aQueue_;
    InQueue bQueue_;
    AscendC::TQue<AscendC::QuePosition::VECOUT, kBuffers> yQueue_;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> work_;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> aWide_;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> bWide_;
};

} // namespace

extern "C" __global__ __aicore__ void swiglu_custom(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling)
{
    (void)workspace;
    GET_TILING_DATA(data, tiling);
    AscendC::TPipe pipe;
    SwigluCustom<DTYPE_X> op;
    op.Init(x, y, &data, &pipe);
    op.Process();
}
