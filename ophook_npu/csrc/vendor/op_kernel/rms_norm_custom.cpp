// Run on the CPU, not on an NPU, and never compiled by an Ascend compiler: there was none where this was written.
//
// y = x * rstd * gamma, rstd = 1 / sqrt(mean(x * x) + epsilon) over the last dimension; everything in fp32, y rounded once.
// A core takes whole rows. A row that fits the local memory is read once, a longer one twice.

#include "kernel_operator.h"

namespace {

constexpr int32_t kBuffers = 2;
constexpr uint32_t kBlockBytes = 32;

template <typename T>
class RmsNormCustom {
    static constexpr bool kCasts = !AscendC::IsSameType<T, float>::value;

public:
    __aicore__ inline RmsNormCustom() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, GM_ADDR rstd, const RmsNormCustomTilingData* data,
        AscendC::TPipe* pipe)
    {
        data_ = data;
        x_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x));
        gamma_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(gamma));
        y_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y));
        rstd_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(rstd));
        const uint32_t bytes = static_cast<uint32_t>(data->tile * sizeof(T));
        const uint32_t wide = static_cast<uint32_t>(data->tile * sizeof(float));
        pipe->InitBuffer(xQueue_, kBuffers, bytes);
        pipe->InitBuffer(gammaQueue_, 1, bytes);
        pipe->InitBuffer(yQueue_, kBuffers, bytes);
        pipe->InitBuffer(rstdQueue_, kBuffers, kBlockBytes);
        pipe->InitBuffer(xWide_, wide);
        pipe->InitBuffer(gammaWide_, wide);
        pipe->InitBuffer(square_, wide);
        pipe->InitBuffer(work_, wide);
        pipe->InitBuffer(part_, kBlockBytes);
    }

    __aicore__ inline void Process()
    {
        const uint64_t cores = static_cast<uint64_t>(AscendC::GetBlockNum());
        const uint64_t core = static_cast<uint64_t>(AscendC::GetBlockIdx());
        const uint64_t first = data_->rows * core / cores;
        const uint64_t last = data_->rows * (core + 1) / cores;
        const bool once = data_->width <= data_->tile;
        if (once && first < last) {
            LoadGamma(0, static_cast<uint32_t>(data_->width));
        }
        for (uint64_t row = first; row < last; ++row) {
            const float rstd = Statistics(row);
            for (uint64_t begin = 0; begin < data_->width; begin += data_->tile) {
                const uint32_t length = Length(begin);
                if (!once) {
                    LoadX(row, begin, length);
                    LoadGamma(begin, length);
                }
                Normalize(row, begin, length, rstd);
            }
        }
    }

private:
    __aicore__ inline uint32_t Length(uint64_t begin) const
    {
        const uint64_t left = data_->width - begin;
        return static_cast<uint32_t>(left < data_->tile ? left : data_->tile);
    }

    template <typename Queue>
    __aicore__ inline void CopyIn(Queue& queue, AscendC::GlobalTensor<T>& from, uint64_t offset, uint32_t length)
    {
        AscendC::LocalTensor<T> to = queue.template AllocTensor<T>();
        AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        AscendC::DataCopyPadExtParams<T> pad{false, 0, 0, static_cast<T>(0)};
        AscendC::DataCopyPad(to, from[offset], copy, pad);
        queue.EnQue(to);
    }

    __aicore__ inline void Widen(
        const AscendC::LocalTensor<float>& to, const AscendC::LocalTensor<T>& from, uint32_t length)
    {
        AscendC::PipeBarrier<PIPE_V>();
        if constexpr (kCasts) {
            AscendC::Cast(to, from, AscendC::RoundMode::CAST_NONE, length);
        } else {
            AscendC::Muls(to, from, 1.0f, length);
        }
        AscendC::PipeBarrier<PIPE_V>();
    }

    __aicore__ inline void LoadX(uint64_t row, uint64_t begin, uint32_t length)
    {
        CopyIn(xQueue_, x_, row * data_->width + begin, length);
        AscendC::LocalTensor<T> x = xQueue_.template DeQue<T>();
        Widen(xWide_.template Get<float>(), x, length);
        xQueue_.FreeTensor(x);
    }

    __aicore__ inline void LoadGamma(uint64_t begin, uint32_t length)
    {
        CopyIn(gammaQueue_, gamma_, begin, length);
        AscendC::LocalTensor<T> gamma = gammaQueue_.template DeQue<T>();
        Widen(gammaWide_.template Get<float>(), gamma, length);
        gammaQueue_.FreeTensor(gamma);
    }

    // 1 / sqrt(mean + epsilon) of one row, which it also writes. The row's last tile stays in xWide_.
    __aicore__ inline float Statistics(uint64_t row)
    {
        AscendC::LocalTensor<float> total = rstdQueue_.template AllocTensor<float>();
        AscendC::LocalTensor<float> part = part_.template Get<float>();
        AscendC::LocalTensor<float> x = xWide_.template Get<float>();
        AscendC::LocalTensor<float> square = square_.template Get<float>();
        AscendC::Duplicate(total, 0.0f, 1);
        for (uint64_t begin = 0; begin < data_->width; begin += data_->tile) {
            const uint32_t length = Length(begin);
            LoadX(row, begin, length);
            AscendC::Mul(square, x, x, length);
            AscendC::PipeBarrier<PIPE_V>();
            AscendC::ReduceSum(part, square, work_.template Get<float>(), length);
            AscendC::PipeBarrier<PIPE_V>();
            AscendC::Add(total, total, part, 1);
        }
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Muls(total, total, data_->inverseWidth, 1);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Adds(total, total, data_->epsilon, 1);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Sqrt(total, total, 1);
        AscendC::Duplicate(part, 1.0f, 1);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Div(total, part, total, 1);
        rstdQueue_.EnQue(total);
        total = rstdQueue_.template DeQue<float>();
        const auto event = static_cast<event_t>(GetTPipePtr()->FetchEventID(AscendC::HardEvent::V_S));
        AscendC::SetFlag<AscendC::HardEvent::V_S>(event);
        AscendC::WaitFlag<AscendC::HardEvent::V_S>(event);
        const float rstd = total.GetValue(0);
        AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(sizeof(float)), 0, 0, 0};
        AscendC::DataCopyPad(rstd_[row], total, copy);
        rstdQueue_.FreeTensor(total);
        return rstd;
    }

    __aicore__ inline void Normalize(uint64_t row, uint64_t begin, uint32_t length, float rstd)
    {
        AscendC::LocalTensor<float> x = xWide_.template Get<float>();
        AscendC::LocalTensor<float> gamma = gammaWide_.template Get<float>();
        AscendC::LocalTensor<T> y = yQueue_.template AllocTensor<T>();
        AscendC::Muls(x, x, rstd, length);
        AscendC::PipeBarrier<PIPE_V>();
        if constexpr (kCasts) {
            AscendC::Mul(x, x, gamma, length);
            AscendC::PipeBarrier<PIPE_V>();
            AscendC::Cast(y, x, AscendC::RoundMode::CAST_RINT, length);
        } else {
            AscendC::Mul(y, x, gamma, length);
        }
        yQueue_.EnQue(y);
        y = yQueue_.template DeQue<T>();
        AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        AscendC::DataCopyPad(y_[row * data_->width + begin], y, copy);
        yQueue_.FreeTensor(y);
    }

    const RmsNormCustomTilingData* data_ = nullptr;
    AscendC::GlobalTensor<T> x_;
    AscendC::GlobalTensor<T> gamma_;
    AscendC::GlobalTensor<T> y_;
    AscendC::GlobalTensor<float> rstd_;
    AscendC::TQue<AscendC::QuePosition::VECIN, kBuffers> xQueue_;
    AscendC::TQue<AscendC::QuePosition::VECIN, 1> gammaQueue_;
    AscendC::TQue<AscendC::QuePosition::VECOUT, kBuffers> yQueue_;
    AscendC::TQue<AscendC::QuePosition::VECOUT, kBuffers> rstdQueue_;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> xWide_;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> gammaWide_;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> square_;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> work_;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> part_;
};

} // namespace

extern "C" __global__ __aicore__ void rms_norm_custom(
    GM_ADDR x, GM_ADDR gamma, GM_ADDR y, GM_ADDR rstd, GM_ADDR workspace, GM_ADDR tiling)
{
    (void)workspace;
    GET_TILING_DATA(data, tiling);
    AscendC::TPipe pipe;
    RmsNormCustom<DTYPE_X> op;
    op.Init(x, gamma, y, rstd, &data, &pipe);
    op.Process();
}
