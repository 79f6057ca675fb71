// Run on the CPU, not on an NPU, and never compiled by an Ascend compiler: there was none where this was written.
//
// y = x weight + bias, or x weight^T + bias. Vector cores ask for the product, cube cores compute it. Every core has one
// rectangle of y; host tiling says how large.

#include "kernel_operator.h"
#include "lib/matmul_intf.h"

namespace {

template <typename T, typename Bias, bool transposed>
class MatmulBiasCustom {
    using Matrix = matmul::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, T>;
    using Weight = matmul::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, T, transposed>;
    using Vector = matmul::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, Bias>;

public:
    matmul::Matmul<Matrix, Weight, Matrix, Vector> product;

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR weight, GM_ADDR bias, GM_ADDR y, const TCubeTiling& tiling)
    {
        tiling_ = tiling;
        x_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x), static_cast<uint64_t>(tiling.M) * tiling.Ka);
        weight_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(weight), static_cast<uint64_t>(tiling.Kb) * tiling.N);
        bias_.SetGlobalBuffer(reinterpret_cast<__gm__ Bias*>(bias), tiling.N);
        y_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y), static_cast<uint64_t>(tiling.M) * tiling.N);
    }

    __aicore__ inline void Process()
    {
        const int64_t core = AscendC::GetBlockIdx();
        if (core >= tiling_.usedCoreNum) {
            product.End();
            return;
        }
        const int64_t down = (tiling_.M + tiling_.singleCoreM - 1) / tiling_.singleCoreM;
        const int64_t row = core % down * tiling_.singleCoreM;
        const int64_t column = core / down * tiling_.singleCoreN;
        product.SetTensorA(x_[row * tiling_.Ka]);
        product.SetTensorB(weight_[transposed ? column * tiling_.Kb : column], transposed);
        product.SetBias(bias_[column]);
        // The last rectangles of a row and of a column may be smaller.
        product.SetTail(Rest(tiling_.M - row, tiling_.singleCoreM), Rest(tiling_.N - column, tiling_.singleCoreN));
        product.IterateAll(y_[row * tiling_.N + column]);
        product.End();
    }

private:
    static __aicore__ inline int32_t Rest(int64_t left, int32_t whole)
    {
        return left < whole ? static_cast<int32_t>(left) : whole;
    }

    TCubeTiling tiling_;
    AscendC::GlobalTensor<T> x_, weight_, y_;
    AscendC::GlobalTensor<Bias> bias_;
};

} // namespace

extern "C" __global__ __aicore__ void matmul_bias_custom(
    GM_ADDR x, GM_ADDR weight, GM_ADDR bias, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA(data, tiling);
    if (data.cube.usedCoreNum == 0) {
        return;
    }
    AscendC::TPipe pipe;
    if (data.transposed != 0) {
        MatmulBiasCustom<DTYPE_X, DTYPE_BIAS, true> op;
        op.Init(x, weight, bias, y, data.cube);
        REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), op.product, &data.cube);
        op.Process();
    } else {
        MatmulBiasCustom<DTYPE_X, DTYPE_BIAS, false> op;
        op.Init(x, weight, bias, y, data.cube);
        REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), op.product, &data.cube);
        op.Process();
    }
}
