// torch.ops.ascendc_matmul.matmul_bias: a tensor for the result, and the two phases of aclnnMatmulBiasCustom on the current stream.
#include <torch/library.h>

#include "op_plugin/include/npu_cpp_extension.h"

namespace {

at::Tensor MatmulBias(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, bool transpose_weight)
{
    TORCH_CHECK(x.dim() == 2 && weight.dim() == 2 && bias.dim() == 1,
                "[matmul_bias] x, weight and bias have ", x.dim(), ", ", weight.dim(), " and ", bias.dim(), " dimensions; allowed: 2, 2 and 1");
    at::Tensor y = at::empty({x.size(0), weight.size(transpose_weight ? 0 : 1)}, x.options());
    EXEC_NPU_CMD_EXT(aclnnMatmulBiasCustom, x, weight, bias, transpose_weight, y);
    return y;
}

} // namespace

TORCH_LIBRARY(ascendc_matmul, library)
{
    library.def("matmul_bias(Tensor x, Tensor weight, Tensor bias, bool transpose_weight=False) -> Tensor");
}
TORCH_LIBRARY_IMPL(ascendc_matmul, PrivateUse1, library)
{
    library.impl("matmul_bias", &MatmulBias);
}
