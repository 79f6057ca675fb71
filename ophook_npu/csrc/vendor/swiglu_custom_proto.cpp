// SwigluCustom's REG_OP prototype with its shape and dtype inference, as its operator project registers them.
// Made by `ophook-npu op export npu::npu_swiglu_custom` from the operator's declaration.
#include <algorithm>

#include "graph/operator_reg.h"

namespace ge {

REG_OP(SwigluCustom)
    .INPUT(x, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16}))
    .OUTPUT(y, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16}))
    .ATTR(dim, Int, -1)
    .OP_END_FACTORY_REG(SwigluCustom);

IMPLEMT_COMMON_INFERFUNC(SwigluCustomInfer) {
  TensorDesc x = op.GetInputDescByName("x");
  const DataType x_types[] = {DT_FLOAT16, DT_FLOAT, DT_BF16};
  if (std::count(std::begin(x_types), std::end(x_types), x.GetDataType()) == 0) {
    return GRAPH_FAILED;
  }
  std::vector<int64_t> y_dims = x.GetShape().GetDims();
  int64_t y_dim = 0;
  if (op.GetAttr("dim", y_dim) != GRAPH_SUCCESS) return GRAPH_FAILED;
  if (y_dims != UNKNOWN_RANK) {
    const int64_t rank = static_cast<int64_t>(y_dims.size());
    if (y_dim < -rank || y_dim >= rank) return GRAPH_FAILED;
    int64_t& extent = y_dims[static_cast<size_t>(y_dim < 0 ? y_dim + rank : y_dim)];
    if (extent >= 0) {
      if (extent % 2 != 0) return GRAPH_FAILED;
      extent /= 2;
    }
  }
  TensorDesc y = op.GetOutputDescByName("y");
  y.SetShape(Shape(y_dims));
  y.SetDataType(x.GetDataType());
  if (op.UpdateOutputDesc("y", y) != GRAPH_SUCCESS) return GRAPH_FAILED;
  return GRAPH_SUCCESS;
}
COMMON_INFER_FUNC_REG(SwigluCustom, SwigluCustomInfer);

}  // namespace ge
