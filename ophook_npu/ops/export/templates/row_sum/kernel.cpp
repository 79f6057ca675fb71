// The kernel of RowSumCustom. `ophook-npu kernel check` on the folder above runs it on the CPU, with checks.
//
// The sum of each row, in fp32 and rounded once. A core takes whole rows, and a row tile by tile.

#include "kernel_operator.h"

namespace {

constexpr int32_t kBuffers = 2;
constexpr uint32_t kBlockBytes = 32;

template <typename T>
class RowSumCustom {
    using Float = AscendC::LocalTensor<float>;

public:
    __aicore__ inline RowSumCustom() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const RowSumCustomTilingData* data, AscendC::TPipe* pipe)
    {
        data_ = data;
        x_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x));
        y_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y));
        pipe->InitBuffer(in_, kBuffers, static_cast<uint32_t>(data->tile * sizeof(T)));
        pipe->InitBuffer(out_, kBuffers, kBlockBytes);
        pipe->InitBuffer(wide_, static_cast<uint32_t>(data->tile * sizeof(float)));
        pipe->InitBuffer(work_, static_cast<uint32_t>(data->tile * sizeof(float)));
        pipe->InitBuffer(part_, kBlockBytes);
        pipe->InitBuffer(total_, kBlockBytes);
    }

    __aicore__ inline void Process()
    {
        const uint64_t cores = static_cast<uint64_t>(AscendC::GetBlockNum());
        const uint64_t core = static_cast<uint64_t>(AscendC::GetBlockIdx());
        for (uint64_t row = data_->rows * core / cores; row < data_->rows * (core + 1) / cores; ++row) {
            Float total = total_.Get<float>();
            AscendC::Duplicate(total, 0.0f, 1);
            for (uint64_t begin = 0; begin < data_->width; begin += data_->tile) {
                const uint64_t left = data_->width - begin;
                Add(total, row * data_->width + begin, static_cast<uint32_t>(left < data_->tile ? left : data_->tile));
            }
            AscendC::PipeBarrier<PIPE_V>();
            Store(row, total);
        }
    }

private:
    // Replace this body by what your reduction does with one tile of a row.
    __aicore__ inline void Add(const Float& total, uint64_t offset, uint32_t length)
    {
        AscendC::LocalTensor<T> x = in_.template AllocTensor<T>();
        AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        AscendC::DataCopyPadExtParams<T> pad{false, 0, 0, static_cast<T>(0)};
        AscendC::DataCopyPad(x, x_[offset], copy, pad);
        in_.EnQue(x);
        x = in_.template DeQue<T>();
        Float part = part_.Get<float>();
        Float work = work_.Get<float>();
        AscendC::PipeBarrier<PIPE_V>();
        if constexpr (AscendC::IsSameType<T, float>::value) {
            AscendC::ReduceSum(part, x, work, length);
        } else {
            Float wide = wide_.Get<float>();
            AscendC::Cast(wide, x, AscendC::RoundMode::CAST_NONE, length);
            AscendC::PipeBarrier<PIPE_V>();
            AscendC::ReduceSum(part, wide, work, length);
        }
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Add(total, total, part, 1);
        in_.FreeTensor(x);
    }

    __aicore__ inline void Store(uint64_t row, const Float& total)
    {
        AscendC::LocalTensor<T> y = out_.template AllocTensor<T>();
        if constexpr (AscendC::IsSameType<T, float>::value) {
            AscendC::Muls(y, total, 1.0f, 1);
        } else {
            AscendC::Cast(y, total, AscendC::RoundMode::CAST_RINT, 1);
        }
        AscendC::PipeBarrier<PIPE_V>();
        out_.EnQue(y);
        y = out_.template DeQue<T>();
        AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(sizeof(T)), 0, 0, 0};
        AscendC::DataCopyPad(y_[row], y, copy);
        out_.FreeTensor(y);
    }

    const RowSumCustomTilingData* data_ = nullptr;
    AscendC::GlobalTensor<T> x_;
    AscendC::GlobalTensor<T> y_;
    AscendC::TQue<AscendC::QuePosition::VECIN, kBuffers> in_;
    AscendC::TQue<AscendC::QuePosition::VECOUT, kBuffers> out_;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> wide_;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> work_;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> part_;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> total_;
};

} // namespace

extern "C" __global__ __aicore__ void row_sum_custom(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling)
{
    (void)workspace;
    GET_TILING_DATA(data, tiling);
    AscendC::TPipe pipe;
    RowSumCustom<DTYPE_X> op;
    op.Init(x, y, &data, &pipe);
    op.Process();
}
