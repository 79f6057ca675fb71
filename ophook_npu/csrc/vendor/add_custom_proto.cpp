// AddCustom's REG_OP prototype with its shape and dtype inference, as its operator project registers them.
// Made by `ophook-npu op export npu::npu_add_custom` from the operator's declaration.
#include <algorithm>

#include "graph/operator_reg.h"

namespace ge {

REG_OP(AddCustom)
    .INPUT(x, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16, DT_INT32}))
    .INPUT(y, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16, DT_INT32}))
    .OUTPUT(z, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16, DT_INT32}))
    .OP_END_FACTORY_REG(AddCustom);

IMPLEMT_COMMON_INFERFUNC(AddCustomInfer) {
  TensorDesc x = op.GetInputDescByName("x");
  TensorDesc y = op.GetInputDescByName("y");
  const DataType x_types[] = {DT_FLOAT16, DT_FLOAT, DT_BF16, DT_INT32};
  if (std::count(std::begin(x_types), std::end(x_types), x.GetDataType()) == 0) {
    return GRAPH_FAILED;
  }
  if (y.GetDataType() != x.GetDataType()) return GRAPH_FAILED;
  std::vector<int64_t> z_dims = x.GetShape().GetDims();
  if (BroadCastInfer([&] { return z_dims; }, [&] { return y.GetShape().GetDims(); },
                     [&](const std::vector<int64_t>& dims) { z_dims = dims; }) != GRAPH_SUCCESS) {
    return GRAPH_FAILED;
  }
  TensorDesc z = op.GetOutputDescByName("z");
  z.SetShape(Shape(z_dims));
  z.SetDataType(x.GetDataType());
  if (op.UpdateOutputDesc("z", z) != GRAPH_SUCCESS) return GRAPH_FAILED;
  return GRAPH_SUCCESS;
}
COMMON_INFER_FUNC_REG(AddCustom, AddCustomInfer);

}  // namespace ge
