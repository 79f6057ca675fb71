#include "../op_kernel/scale_template_tiling.h"
#include "../op_kernel/tiling_key_scale_template.h"
#include "register/op_def_registry.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext* context) {
  auto* data = context->GetTilingData<ScaleTemplateTilingData>();
  data->length = static_cast<uint32_t>(context->GetInputShape(0)->GetOriginShape().GetShapeSize());
  const uint32_t D_T_X = static_cast<uint32_t>(context->GetInputDesc(0)->GetDataType()), F_X = C_FORMAT_ND;
  const uint32_t TILES = static_cast<uint32_t>(*context->GetAttrs()->GetInt(0));
  const bool NEGATE = *context->GetAttrs()->GetBool(1);
  if (NEGATE) {
    ASCENDC_TPL_SEL_PARAM(context, D_T_X, F_X, TILES, NEGATE);
  } else {
    context->SetTilingKey(GET_TPL_TILING_KEY(D_T_X, F_X, TILES, NEGATE));
  }
  context->SetBlockDim(1);
  context->GetWorkspaceSizes(1)[0] = 0;
  return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ops {
class ScaleTemplate : public OpDef {
 public:
  explicit ScaleTemplate(const char* name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT16, ge::DT_FLOAT}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
    this->Output("z").ParamType(REQUIRED).Follow("x");
    this->Attr("tiles").AttrType(OPTIONAL).Int(1);
    this->Attr("negate").AttrType(OPTIONAL).Bool(false);
    this->AICore().SetTiling(optiling::TilingFunc).AddConfig("ascend910b");
  }
};
OP_ADD(ScaleTemplate);
}  // namespace ops
