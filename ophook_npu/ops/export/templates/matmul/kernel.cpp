// The kernel of MatmulCustom. `ophook-npu kernel check` on the folder above runs it on the CPU, with checks.
//
// y = x weight. Vector cores ask for the product, cube cores compute it. Every core has one rectangle of y; host tiling
// says how large.

#include "kernel_operator.h"
#include "lib/matmul_intf.h"

namespace {

template <typename T>
class MatmulCustom {
    using Matrix = matmul::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, T>;

public:
    matmul::Matmul<Matrix, Matrix, Matrix> product;

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR weight, GM_ADDR y, const TCubeTiling& tiling)
    {
        tiling_ = tiling;
        x_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x), static_cast<uint64_t>(tiling.M) * tiling.Ka);
        weight_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(weight), static_cast<uint64_t>(tiling.Kb) * tiling.N);
        y_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y), static_cast<uint64_t>(tiling.M) * tiling.N);
    }

    __aicore__ inline void Process()
    {
        const int64_t core = AscendC::GetBlockIdx();
        if (core < tiling_.usedCoreNum) {
            const int64_t down = (tiling_.M + tiling_.singleCoreM - 1) / tiling_.singleCoreM;
            const int64_t row = core % down * tiling_.singleCoreM;
            const int64_t column = core / down * tiling_.singleCoreN;
            product.SetTensorA(x_[row * tiling_.Ka]);
            product.SetTensorB(weight_[column]);
            // The last rectangles of a row and of a column may be smaller.
            product.SetTail(Rest(tiling_.M - row, tiling_.singleCoreM), Rest(tiling_.N - column, tiling_.singleCoreN));
            product.IterateAll(y_[row * tiling_.N + column]);
        }
        product.End();
    }

private:
    static __aicore__ inline int32_t Rest(int64_t left, int32_t whole)
    {
        return left < whole ? static_cast<int32_t>(left) : whole;
    }

    TCubeTiling tiling_;
    AscendC::GlobalTensor<T> x_, weight_, y_;
};

} // namespace

extern "C" __global__ __aicore__ void matmul_custom(
    GM_ADDR x, GM_ADDR weight, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GET_TILING_DATA(data, tiling);
    if (data.cube.usedCoreNum == 0) {
        return;
    }
    AscendC::TPipe pipe;
    MatmulCustom<DTYPE_X> op;
    op.Init(x, weight, y, data.cube);
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), op.product, &data.cube);
    op.Process();
}
