// Spread has an input whose values the host reads, others that are scalars, and one that it changes.
#include "register/op_def_registry.h"

namespace optiling {
static ge::graphStatus Tiling(gert::TilingContext* context) {
  const auto* size = context->GetInputTensor(1);
  const bool read = size != nullptr && size->GetData<int64_t>() != nullptr;
  context->SetTilingKey(read ? size->GetData<int64_t>()[1] : 77);  // 77: the host could not read it
  context->SetBlockDim(1);
  return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext* context) {
  const int64_t* size = context->GetInputTensor(1)->GetData<int64_t>();
  if (size == nullptr) return GRAPH_SUCCESS;
  gert::Shape& y = *context->GetOutputShape(1);
  y.SetDimNum(0);
  y.AppendDim(size[0]);
  y.AppendDim(size[1]);
  return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class Spread : public OpDef {
 public:
  explicit Spread(const char* name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Input("size").ParamType(REQUIRED).DataType({ge::DT_INT64}).Format({ge::FORMAT_ND}).ValueDepend(REQUIRED);
    this->Input("by").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND}).Scalar().To("x");
    this->Input("plus")
        .ParamType(REQUIRED)
        .DataType({ge::DT_INT32})
        .Format({ge::FORMAT_ND})
        .ScalarList()
        .To(ge::DT_INT32);
    this->Input("flags").ParamType(OPTIONAL).DataType({ge::DT_BOOL}).Format({ge::FORMAT_ND}).ValueDepend(OPTIONAL);
    this->Output("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->SetInferShape(ge::InferShape);
    this->AICore().SetTiling(optiling::Tiling);
    this->AICore().AddConfig("ascend910b");
  }
};
OP_ADD(Spread);
}  // namespace ops
