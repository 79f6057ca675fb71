// RmsNormCustom's REG_OP prototype with its shape and dtype inference, as its operator project registers them.
// Made by `ophook-npu op export npu::npu_rms_norm_custom` from the operator's declaration.
#include <algorithm>

#include "graph/operator_reg.h"

namespace ge {

REG_OP(RmsNormCustom)
    .INPUT(x, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16}))
    .INPUT(gamma, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16}))
    .OUTPUT(y, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16}))
    .OUTPUT(rstd, TensorType({DT_FLOAT}))
    .ATTR(epsilon, Float, 1e-06)
    .OP_END_FACTORY_REG(RmsNormCustom);

IMPLEMT_COMMON_INFERFUNC(RmsNormCustomInfer) {
  TensorDesc x = op.GetInputDescByName("x");
  TensorDesc gamma = op.GetInputDescByName("gamma");
  const DataType x_types[] = {DT_FLOAT16, DT_FLOAT, DT_BF16};
  if (std::count(std::begin(x_types), std::end(x_types), x.GetDataType()) == 0) {
    return GRAPH_FAILED;
  }
  if (gamma.GetDataType() != x.GetDataType()) return GRAPH_FAILED;
  std::vector<int64_t> y_dims = x.GetShape().GetDims();
  TensorDesc y = op.GetOutputDescByName("y");
  y.SetShape(Shape(y_dims));
  y.SetDataType(x.GetDataType());
  if (op.UpdateOutputDesc("y", y) != GRAPH_SUCCESS) return GRAPH_FAILED;
  std::vector<int64_t> rstd_dims = x.GetShape().GetDims();
  int64_t rstd_dim = -1;
  if (rstd_dims != UNKNOWN_RANK) {
    const int64_t rank = static_cast<int64_t>(rstd_dims.size());
    if (rstd_dim < -rank || rstd_dim >= rank) return GRAPH_FAILED;
    int64_t& extent = rstd_dims[static_cast<size_t>(rstd_dim < 0 ? rstd_dim + rank : rstd_dim)];
    extent = 1;
  }
  TensorDesc rstd = op.GetOutputDescByName("rstd");
  rstd.SetShape(Shape(rstd_dims));
  rstd.SetDataType(DT_FLOAT);
  if (op.UpdateOutputDesc("rstd", rstd) != GRAPH_SUCCESS) return GRAPH_FAILED;
  return GRAPH_SUCCESS;
}
COMMON_INFER_FUNC_REG(RmsNormCustom, RmsNormCustomInfer);

}  // namespace ge
