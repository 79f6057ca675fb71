// libcust_opsproto of the vendor package "ophook": AddCustom's REG_OP prototype with its shape and dtype inference, as the
// operator project (op_plugin_patch/ascendc) registers them on an Ascend host.
#include "graph/operator_reg.h"

namespace ge {

REG_OP(AddCustom)
    .INPUT(x, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16, DT_INT32}))
    .INPUT(y, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16, DT_INT32}))
    .OUTPUT(z, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16, DT_INT32}))
    .OP_END_FACTORY_REG(AddCustom);

// x and y broadcast to z; one dtype for all three.
IMPLEMT_COMMON_INFERFUNC(AddCustomInfer) {
  TensorDesc x = op.GetInputDescByName("x"), y = op.GetInputDescByName("y"), z = op.GetOutputDescByName("z");
  DataType dtype = x.GetDataType();
  bool known = dtype == DT_FLOAT16 || dtype == DT_FLOAT || dtype == DT_BF16 || dtype == DT_INT32;
  if (!known || y.GetDataType() != dtype) return GRAPH_FAILED;
  auto dims_of = [](const TensorDesc& desc) { return [&desc] { return desc.GetShape().GetDims(); }; };
  auto set = [&z](const std::vector<int64_t>& dims) { z.SetShape(Shape(dims)); };
  if (BroadCastInfer(dims_of(x), dims_of(y), set) != GRAPH_SUCCESS) return GRAPH_FAILED;
  z.SetDataType(dtype);
  return op.UpdateOutputDesc("z", z);
}
COMMON_INFER_FUNC_REG(AddCustom, AddCustomInfer);

}  // namespace ge
