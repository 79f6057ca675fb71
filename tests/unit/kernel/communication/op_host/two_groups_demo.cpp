// An exchange in the one group, whose result is gathered in the other.
#include "register/op_def_registry.h"
#include "tiling/tiling_api.h"

#include "../op_kernel/two_groups_demo_tiling.h"

namespace optiling {

static ge::graphStatus TwoGroupsDemoTilingFunc(gert::TilingContext* context)
{
    const gert::RuntimeAttrs* attrs = context->GetAttrs();
    TwoGroupsDemoTiling* tiling = context->GetTilingData<TwoGroupsDemoTiling>();
    AscendC::Mc2CcTilingConfig exchange(attrs->GetStr(0), HCCL_CMD_ALLTOALL, "AlltoAll=level0:fullmesh;level1:pairwise");
    AscendC::Mc2CcTilingConfig gather(attrs->GetStr(1), HCCL_CMD_ALLGATHER, "AllGather=level0:doublering");
    if (exchange.GetTiling(tiling->init) != 0 || exchange.GetTiling(tiling->exchange) != 0 ||
        gather.GetTiling(tiling->gather) != 0) {
        return ge::GRAPH_FAILED;
    }
    tiling->length = *attrs->GetInt(2);
    context->SetBlockDim(1);
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}

} // namespace optiling

namespace ge {

static graphStatus InferTwoShapes(gert::InferShapeContext* context)
{
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    gert::Shape* gathered = context->GetOutputShape(1);
    const int64_t exchanged = context->GetInputShape(0)->GetShapeSize();
    gathered->SetDimNum(1);
    gathered->SetDim(0, exchanged * (exchanged / *context->GetAttrs()->GetInt(2)));
    return GRAPH_SUCCESS;
}

} // namespace ge

namespace ops {

class TwoGroupsDemo : public OpDef {
public:
    explicit TwoGroupsDemo(const char* name) : OpDef(name)
    {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("exchanged").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("gathered").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Attr("first").AttrType(REQUIRED).String();
        this->Attr("second").AttrType(REQUIRED).String();
        this->Attr("length").AttrType(REQUIRED).Int();
        this->SetInferShape(ge::InferTwoShapes);
        this->AICore().SetTiling(optiling::TwoGroupsDemoTilingFunc).AddConfig("ascend910_93");
        this->MC2().HcclGroup({"first", "second"});
    }
};
OP_ADD(TwoGroupsDemo);

} // namespace ops
