// product = rows of all ranks x weight: gathered in rounds, multiplied while the next round is under way.
#include "register/op_def_registry.h"
#include "tiling/tiling_api.h"
#include "tiling/platform/platform_ascendc.h"

#include "../op_kernel/gather_product_demo_tiling.h"

namespace optiling {

static ge::graphStatus GatherProductDemoTilingFunc(gert::TilingContext* context)
{
    const gert::Shape& x = context->GetInputShape(0)->GetStorageShape();
    const int64_t rows = x.GetDim(0);
    const int64_t depth = x.GetDim(1);
    const int64_t columns = context->GetInputShape(1)->GetStorageShape().GetDim(1);
    const gert::RuntimeAttrs* attrs = context->GetAttrs();
    GatherProductDemoTiling* tiling = context->GetTilingData<GatherProductDemoTiling>();
    tiling->rounds = *attrs->GetInt(2);
    AscendC::Mc2CcTilingConfig config(attrs->GetStr(0), HCCL_CMD_ALLGATHER, "AllGather=level0:doublering");
    if (rows % tiling->rounds != 0 || config.GetTiling(tiling->init) != 0 || config.GetTiling(tiling->gather) != 0) {
        return ge::GRAPH_FAILED;
    }
    const platform_ascendc::PlatformAscendC platform(context->GetPlatformInfo());
    auto product = [&](int64_t m, ::TCubeTiling& to) {
        using namespace matmul_tiling;
        MultiCoreMatmulTiling cube(platform);
        cube.SetDim(2);
        cube.SetAType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT16);
        cube.SetBType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT16);
        cube.SetCType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
        cube.SetBias(false);
        cube.SetShape(m, columns, depth);
        cube.SetOrgShape(m, columns, depth);
        cube.SetBufferSpace(-1, -1, -1);
        return cube.GetTiling(to) == 0;
    };
    if (!product(rows, tiling->own) || !product(rows / tiling->rounds, tiling->tile)) {
        return ge::GRAPH_FAILED;
    }
    context->SetBlockDim(2);
    context->GetWorkspaceSizes(1)[0] = platform.GetLibApiWorkSpaceSize();
    return ge::GRAPH_SUCCESS;
}

} // namespace optiling

namespace ge {

static graphStatus InferProduct(gert::InferShapeContext* context)
{
    const gert::Shape& x = *context->GetInputShape(0);
    const int64_t ranks = *context->GetAttrs()->GetInt(1);
    *context->GetOutputShape(0) = {x.GetDim(0) * ranks, context->GetInputShape(1)->GetDim(1)};
    *context->GetOutputShape(1) = {x.GetDim(0) * ranks, x.GetDim(1)};
    return GRAPH_SUCCESS;
}

} // namespace ge

namespace ops {

class GatherProductDemo : public OpDef {
public:
    explicit GatherProductDemo(const char* name) : OpDef(name)
    {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->Input("weight").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->Output("product").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("gathered").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->Attr("group").AttrType(REQUIRED).String();
        this->Attr("ranks").AttrType(REQUIRED).Int();
        this->Attr("rounds").AttrType(REQUIRED).Int();
        this->SetInferShape(ge::InferProduct);
        this->AICore().SetTiling(optiling::GatherProductDemoTilingFunc).AddConfig("ascend910b");
        this->MC2().HcclGroup("group");
    }
};
OP_ADD(GatherProductDemo);

} // namespace ops
