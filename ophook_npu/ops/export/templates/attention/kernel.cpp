// The kernel of AttentionCustom. `ophook-npu kernel check` on the folder above runs it on the CPU, with checks.
//
// A vector core takes `tile` rows of a head: it asks the cube for their scores, makes weights of them row by row, and
// asks the cube for the weighted sum of the values. Scores and weights pass through its part of the workspace.

#include "kernel_operator.h"
#include "lib/matmul_intf.h"

namespace {

template <typename T>
class AttentionCustom {
    using Matrix = matmul::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, T>;
    using Transposed = matmul::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, T, true>;
    using Scores = matmul::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, float>;

public:
    matmul::Matmul<Matrix, Transposed, Scores> scores;
    matmul::Matmul<Matrix, Matrix, Matrix> result;

    __aicore__ inline void Init(GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR y, GM_ADDR workspace,
        const AttentionCustomTilingData* data, AscendC::TPipe* pipe)
    {
        data_ = data;
        query_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(query));
        key_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(key));
        value_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(value));
        y_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y));
        // Scores first, weights behind them: room for 8 bytes an element.
        const uint64_t size = data->tile * data->keys;
        GM_ADDR mine = workspace + static_cast<uint64_t>(AscendC::GetBlockIdx()) * size * 8;
        scoresGm_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(mine), size);
        weightsGm_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(mine + size * sizeof(float)), size);
        const uint32_t row = static_cast<uint32_t>((data->keys * sizeof(float) + 31) / 32 * 32);
        pipe->InitBuffer(in_, 2, row);
        pipe->InitBuffer(out_, 2, row);
        pipe->InitBuffer(work_, row);
        pipe->InitBuffer(part_, 32);
    }

    __aicore__ inline void Process()
    {
        const uint64_t tiles = (data_->rows + data_->tile - 1) / data_->tile;
        const uint64_t all = data_->heads * tiles;
        const uint64_t cores = static_cast<uint64_t>(AscendC::GetBlockNum()) * 2;
        const uint64_t core = static_cast<uint64_t>(AscendC::GetBlockIdx());
        for (uint64_t i = all * core / cores; i < all * (core + 1) / cores; ++i) {
            const uint64_t head = i / tiles;
            const uint64_t begin = i % tiles * data_->tile;
            const uint64_t left = data_->rows - begin;
            const uint64_t count = left < data_->tile ? left : data_->tile;
            const uint64_t row = (head * data_->rows + begin) * data_->depth;
            const uint64_t other = head * data_->keys * data_->depth;
            scores.SetTensorA(query_[row]);
            scores.SetTensorB(key_[other], true);
            scores.SetTail(static_cast<int32_t>(count));
            scores.IterateAll(scoresGm_);
            for (uint64_t r = 0; r < count; ++r) {
                Weigh(r * data_->keys, static_cast<uint32_t>(data_->keys));
            }
            AscendC::PipeBarrier<PIPE_ALL>(); // the cube reads the weights
            result.SetTensorA(weightsGm_);
            result.SetTensorB(value_[other]);
            result.SetTail(static_cast<int32_t>(count));
            result.IterateAll(y_[row]);
        }
        scores.End();
        result.End();
    }

private:
    // What a V instruction wrote, as a number of the scalar unit.
    __aicore__ inline float Scalar(const AscendC::LocalTensor<float>& value)
    {
        const auto event = static_cast<event_t>(GetTPipePtr()->FetchEventID(AscendC::HardEvent::V_S));
        AscendC::SetFlag<AscendC::HardEvent::V_S>(event);
        AscendC::WaitFlag<AscendC::HardEvent::V_S>(event);
        return value.GetValue(0);
    }

    // exp(x - max) / sum of one row.
    __aicore__ inline void Weigh(uint64_t offset, uint32_t keys)
    {
        AscendC::LocalTensor<float> row = in_.AllocTensor<float>();
        AscendC::DataCopyExtParams in{1, static_cast<uint32_t>(keys * sizeof(float)), 0, 0, 0};
        AscendC::DataCopyPadExtParams<float> pad{false, 0, 0, 0.0f};
        AscendC::DataCopyPad(row, scoresGm_[offset], in, pad);
        in_.EnQue(row);
        row = in_.DeQue<float>();
        AscendC::LocalTensor<float> part = part_.Get<float>();
        AscendC::LocalTensor<float> work = work_.Get<float>();
        AscendC::Muls(row, row, data_->scale, keys);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::ReduceMax(part, row, work, keys);
        AscendC::Adds(row, row, -Scalar(part), keys);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Exp(row, row, keys);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::ReduceSum(part, row, work, keys);
        const float inverse = 1.0f / Scalar(part);
        AscendC::LocalTensor<T> out = out_.template AllocTensor<T>();
        if constexpr (AscendC::IsSameType<T, float>::value) {
            AscendC::Muls(out, row, inverse, keys);
        } else {
            AscendC::Muls(row, row, inverse, keys);
            AscendC::PipeBarrier<PIPE_V>();
            AscendC::Cast(out, row, AscendC::RoundMode::CAST_RINT, keys);
        }
        in_.FreeTensor(row);
        out_.EnQue(out);
        out = out_.template DeQue<T>();
        AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(keys * sizeof(T)), 0, 0, 0};
        AscendC::DataCopyPad(weightsGm_[offset], out, copy);
        out_.FreeTensor(out);
    }

    const AttentionCustomTilingData* data_ = nullptr;
    AscendC::GlobalTensor<T> query_, key_, value_, y_, weightsGm_;
    AscendC::GlobalTensor<float> scoresGm_;
    AscendC::TQue<AscendC::QuePosition::VECIN, 2> in_;
    AscendC::TQue<AscendC::QuePosition::VECOUT, 2> out_;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> work_;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> part_;
};

} // namespace

extern "C" __global__ __aicore__ void attention_custom(
    GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA(data, tiling);
    if (data.heads == 0 || data.rows == 0) {
        return;
    }
    AscendC::TPipe pipe;
    AttentionCustom<DTYPE_QUERY> op;
    op.Init(query, key, value, y, AscendC::GetUserWorkspace(workspace), &data, &pipe);
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), op.scores, &data.scores, op.result, &data.result);
    op.Process();
}
