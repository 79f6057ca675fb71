// KeepPositive does not know how much it keeps before it has run.
#include "register/op_def_registry.h"

namespace {
ge::graphStatus Tiling(gert::TilingContext* context) {
  context->SetTilingKey(context->GetInputShape(0)->GetStorageShape().GetShapeSize());
  context->SetBlockDim(1);
  return ge::GRAPH_SUCCESS;
}
ge::graphStatus InferShape(gert::InferShapeContext* context) {
  *context->GetOutputShape(0) = *context->GetInputShape(0);
  return ge::GRAPH_SUCCESS;
}
}  // namespace

namespace ops {
class KeepPositive : public OpDef {
 public:
  explicit KeepPositive(const char* name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Output("y").OutputShapeDependOnCompute().DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->SetInferShape(InferShape);
    this->AICore().SetTiling(Tiling);
    this->AICore().AddConfig("ascend910b");
  }
};
OP_ADD(KeepPositive);
}  // namespace ops
