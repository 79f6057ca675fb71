// Host side of MatmulCustom: prototype, shape and dtype inference, tiling. Made by `ophook-npu op new`.

#include "matmul_custom_tiling.h"

#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {

static ge::graphStatus TilingFunc(gert::TilingContext* context)
{
    using matmul_tiling::CubeFormat;
    using matmul_tiling::TPosition;
    const gert::Shape& x = context->GetRequiredInputShape(0)->GetStorageShape();
    const gert::Shape& weight = context->GetRequiredInputShape(1)->GetStorageShape();
    const auto type = static_cast<matmul_tiling::DataType>(context->GetInputDesc(0)->GetDataType());
    const int32_t m = static_cast<int32_t>(x.GetDim(0));
    const int32_t k = static_cast<int32_t>(x.GetDim(1));
    const int32_t n = static_cast<int32_t>(weight.GetDim(1));
    const auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    MatmulCustomTilingData data;
    uint32_t blocks = 1;
    if (m > 0 && n > 0) { // nothing to do still launches one core, which returns
        matmul_tiling::MultiCoreMatmulTiling cube(platform);
        cube.SetDim(static_cast<int32_t>(platform.GetCoreNumAiv()));
        cube.SetAType(TPosition::GM, CubeFormat::ND, type);
        cube.SetBType(TPosition::GM, CubeFormat::ND, type);
        cube.SetCType(TPosition::GM, CubeFormat::ND, type);
        cube.SetShape(m, n, k);
        cube.SetOrgShape(m, n, k);
        cube.SetBufferSpace(-1, -1, -1);
        if (cube.GetTiling(data.cube) == -1) {
            return ge::GRAPH_FAILED;
        }
        blocks = (static_cast<uint32_t>(data.cube.get_usedCoreNum()) + 1) / 2; // of one cube and two vector cores
    }
    data.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(data.GetDataSize());
    context->SetBlockDim(blocks);
    context->GetWorkspaceSizes(1)[0] = platform.GetLibApiWorkSpaceSize();
    return ge::GRAPH_SUCCESS;
}

} // namespace optiling

namespace ge {

static graphStatus InferShape(gert::InferShapeContext* context)
{
    const gert::Shape& x = *context->GetInputShape(0);
    const gert::Shape& weight = *context->GetInputShape(1);
    const auto differ = [](int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; }; // -1: not known yet
    if (x.GetDimNum() != 2 || weight.GetDimNum() != 2 || differ(x.GetDim(1), weight.GetDim(0))) {
        return GRAPH_FAILED;
    }
    *context->GetOutputShape(0) = gert::Shape({x.GetDim(0), weight.GetDim(1)});
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context)
{
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}

} // namespace ge

namespace ops {

class MatmulCustom : public OpDef {
public:
    explicit MatmulCustom(const char* name) : OpDef(name)
    {
        for (const char* input : {"x", "weight"}) {
            this->Input(input)
                .ParamType(REQUIRED)
                .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16})
                .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
                .AutoContiguous();
        }
        this->Output("y")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc).AddConfig("ascend910b").AddConfig("ascend910_93");
    }
};

OP_ADD(MatmulCustom);

} // namespace ops
