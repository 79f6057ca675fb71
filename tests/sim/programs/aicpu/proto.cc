#include "proto.h"

namespace ge {
IMPLEMT_VERIFIER(Weigh, VerifyWeigh) {
  return op.GetInputDescByName("x").GetDataType() == op.GetInputDescByName("w").GetDataType() ? GRAPH_SUCCESS
                                                                                              : GRAPH_FAILED;
}
VERIFY_FUNC_REG(Weigh, VerifyWeigh);
IMPLEMT_COMMON_INFERFUNC(Same) { return op.UpdateOutputDesc("y", op.GetInputDescByName("x")); }
COMMON_INFER_FUNC_REG(Weigh, Same);
COMMON_INFER_FUNC_REG(Own, Same);
// Says nothing: the output stays as it was described.
IMPLEMT_INFERFUNC(Number, NumberInfer) { return op.GetInputsSize() == 1 ? GRAPH_SUCCESS : GRAPH_FAILED; }
INFER_FUNC_REG(Number, NumberInfer);
IMPLEMT_COMMON_INFERFUNC(Some) {
  TensorDesc y = op.GetInputDescByName("x");
  const int64_t most = y.GetShape().GetDim(0);
  y.SetShape(Shape({UNKNOWN_DIM}));
  y.SetShapeRange({{0, most}});
  return op.UpdateOutputDesc("y", y);
}
COMMON_INFER_FUNC_REG(Positive, Some);
}  // namespace ge
