// Accumulate adds x to what y begins with, which is 2 where it is float, and of int32 the words 7 7 … taken as int16.
#include "register/op_def_registry.h"

namespace optiling {
static ge::graphStatus Tiling(gert::TilingContext* context) {
  const auto* flags = context->GetAttrs()->GetAttrPointer<gert::TypedContinuousVector<bool>>(1);
  const auto* lists = context->GetAttrs()->GetListListInt(2);
  if (lists->GetSize() != 2 || lists->Get(0)->GetSize() != 0 || lists->Get(1)->GetSize() != 3) return ge::GRAPH_FAILED;
  if (static_cast<const int64_t*>(lists->Get(1)->GetData())[2] != 6) return ge::GRAPH_FAILED;
  if (flags->GetSize() != 2 || !flags->GetData()[0] || flags->GetData()[1]) return ge::GRAPH_FAILED;
  context->SetNeedAtomic(*context->GetAttrs()->GetBool(0));
  *context->GetTilingData<uint32_t>() = uint32_t(context->GetInputTensor(0)->GetShapeSize());
  context->SetSimdNumBlocks(1);
  return ge::GRAPH_SUCCESS;
}
static ge::graphStatus CheckSupported(const ge::Operator& op, ge::AscendString& result) {
  result = op.GetInputDesc(0).GetShape().GetDimNum() == 1 ? R"({"ret_code": "0"})" : R"({"ret_code": "1"})";
  return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ops {
static ge::graphStatus Range(gert::InferShapeRangeContext* context) {
  *context->GetOutputShapeRange(0)->GetMax() = *context->GetInputShapeRange(0)->GetMax();
  return ge::GRAPH_SUCCESS;
}
IMPL_OP_INFERSHAPE(Accumulate)
    .InferShape([](gert::InferShapeContext* context) {
      *context->GetOutputShape(0) = *context->GetInputShape(0);
      return ge::GRAPH_SUCCESS;
    })
    .InferOutDataTypeSameWithFirstInput()
    .InferShapeRange(Range);

class Accumulate : public OpDef {
 public:
  explicit Accumulate(const char* name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_INT32}).FormatList({ge::FORMAT_ND});
    this->Output("y")
        .ParamType(REQUIRED)
        .DataType({ge::DT_FLOAT, ge::DT_INT32})
        .FormatList({ge::FORMAT_ND})
        .InitValue({{ScalarType::FLOAT32, 2}, {ScalarType::INT16, 7}});
    this->Attr("atomic").Bool();
    this->Attr("flags").ListBool();
    this->Attr("lists").ListListInt();
    this->AICore().SetTiling(optiling::Tiling).SetCheckSupport(optiling::CheckSupported);
    this->AICore().LaunchWithZeroEleOutputTensors(true).AddConfig("ascend910b");
  }
};
OP_ADD(Accumulate);
}  // namespace ops
