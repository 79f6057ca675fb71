// Div divides the tensors of a list by 4. As programs that others published: it uses std::cout and std::map without
// their headers, asks for the platform in two ways of its own, and registers no shape inference.
#include "register/op_def_registry.h"
#include "register/tilingdata_base.h"
#include "tiling/platform/platform_ascendc.h"
#include "tiling/tiling_api.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(DivTilingData)
TILING_DATA_FIELD_DEF(uint32_t, count);
TILING_DATA_FIELD_DEF(uint32_t, total);
END_TILING_DATA_DEF
REGISTER_TILING_DATA_CLASS(Div, DivTilingData)

static ge::graphStatus Tiling(gert::TilingContext* context) {
  const map<ge::DataType, uint32_t> sizes{{ge::DT_FLOAT16, 2}, {ge::DT_FLOAT, 4}};
  const uint32_t count = context->GetComputeNodeInfo()->GetInputInstanceInfo(0)->GetInstanceNum();
  uint64_t bytes = 0, local = 0, ub = 0;
  for (uint32_t i = 0; i < count; ++i)
    bytes += context->GetDynamicInputShape(0, i)->GetStorageShape().GetShapeSize() *
             sizes.at(context->GetDynamicInputDesc(0, i)->GetDataType());
  context->GetPlatformInfo()->GetLocalMemSize(fe::LocalMemType::UB, local);
  auto* platform = platform_ascendc::PlatformAscendCManager::GetInstance();
  platform->GetCoreMemSize(platform_ascendc::CoreMemType::UB, ub);
  std::cout << count << " tensors of " << bytes << " bytes" << std::endl;
  if (local - 256 != ub || context->GetPlatformInfo()->GetCoreNum() != platform->GetCoreNumAic())
    return ge::GRAPH_FAILED;
  DivTilingData tiling;
  tiling.set_count(count);
  tiling.set_total(uint32_t(bytes));
  tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
  context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
  context->SetBlockDim(1);
  return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ops {
class Div : public OpDef {
 public:
  explicit Div(const char* name) : OpDef(name) {
    this->Input("x")
        .ParamType(DYNAMIC)
        .DataType({ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_COMPLEX64})
        .FormatList({ge::FORMAT_ND});
    this->Output("y")
        .ParamType(DYNAMIC)
        .DataType({ge::DT_FLOAT, ge::DT_FLOAT16, ge::DT_COMPLEX64})
        .FormatList({ge::FORMAT_ND});
    this->AICore().SetTiling(optiling::Tiling);
    this->AICore().AddConfig("ascend910b");
  }
};
OP_ADD(Div);
}  // namespace ops
