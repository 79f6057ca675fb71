// Host side of MatmulBiasCustom: prototype, shape and dtype inference, tiling. Run on the CPU, not on an Ascend host.

#include "matmul_bias_custom_tiling.h"

#include <cstdio>

#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace {

void Refuse(const char* step, const char* why)
{
    std::fprintf(stderr, "[MatmulBiasCustom %s] %s\n", step, why);
}

// The cube's name of a type; DT_UNDEFINED: not a type of this operator.
matmul_tiling::DataType CubeType(ge::DataType dtype)
{
    switch (dtype) {
        case ge::DT_FLOAT16:
            return matmul_tiling::DataType::DT_FLOAT16;
        case ge::DT_FLOAT:
            return matmul_tiling::DataType::DT_FLOAT;
        case ge::DT_BF16:
            return matmul_tiling::DataType::DT_BF16;
        default:
            return matmul_tiling::DataType::DT_UNDEFINED;
    }
}

} // namespace

namespace optiling {

static ge::graphStatus TilingFunc(gert::TilingContext* context)
{
    using matmul_tiling::CubeFormat;
    using matmul_tiling::TPosition;
    const gert::Shape& x = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& weight = context->GetInputShape(1)->GetStorageShape();
    const bool transposed = *context->GetAttrs()->GetBool(0);
    const auto type = CubeType(context->GetInputDesc(0)->GetDataType());
    const auto biasType = CubeType(context->GetInputDesc(2)->GetDataType());
    if (type == matmul_tiling::DataType::DT_UNDEFINED || biasType == matmul_tiling::DataType::DT_UNDEFINED) {
        Refuse("tiling", "x and bias must be float16, float or bfloat16");
        return ge::GRAPH_FAILED;
    }
    const int32_t m = static_cast<int32_t>(x.GetDim(0));
    const int32_t k = static_cast<int32_t>(x.GetDim(1));
    const int32_t n = static_cast<int32_t>(weight.GetDim(transposed ? 0 : 1));
    MatmulBiasCustomTilingData data;
    data.set_transposed(transposed ? 1 : 0);
    const auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    uint32_t blocks = 1;
    if (m > 0 && n > 0) { // nothing to do still launches one core, which returns
        matmul_tiling::MultiCoreMatmulTiling cube(platform);
        cube.SetDim(static_cast<int32_t>(platform.GetCoreNumAiv()));
        cube.SetAType(TPosition::GM, CubeFormat::ND, type);
        cube.SetBType(TPosition::GM, CubeFormat::ND, type, transposed);
        cube.SetCType(TPosition::GM, CubeFormat::ND, type);
        cube.SetBiasType(TPosition::GM, CubeFormat::ND, biasType);
        cube.SetShape(m, n, k);
        cube.SetOrgShape(m, n, k);
        cube.SetBias(true);
        cube.SetBufferSpace(-1, -1, -1);
        if (cube.GetTiling(data.cube) == -1) {
            Refuse("tiling", "there is no tiling for this product");
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
    const gert::Shape& bias = *context->GetInputShape(2);
    if (x.GetDimNum() != 2 || weight.GetDimNum() != 2 || bias.GetDimNum() != 1) {
        Refuse("shape inference", "x and weight must have two dimensions, bias one");
        return GRAPH_FAILED;
    }
    const bool transposed = *context->GetAttrs()->GetBool(0);
    const int64_t n = weight.GetDim(transposed ? 0 : 1);
    const auto differ = [](int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; }; // -1: not known yet
    if (differ(x.GetDim(1), weight.GetDim(transposed ? 1 : 0)) || differ(bias.GetDim(0), n)) {
        Refuse("shape inference", "x's columns must be weight's rows, and bias as long as a row of the result");
        return GRAPH_FAILED;
    }
    *context->GetOutputShape(0) = gert::Shape({x.GetDim(0), n});
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context)
{
    if (context->GetInputDataType(0) != context->GetInputDataType(1)) {
        Refuse("dtype inference", "x and weight differ in dtype");
        return GRAPH_FAILED;
    }
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}

} // namespace ge

namespace ops {

class MatmulBiasCustom : public OpDef {
public:
    explicit MatmulBiasCustom(const char* name) : OpDef(name)
    {
        this->Input("x")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .AutoContiguous();
        this->Input("weight")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .AutoContiguous();
        this->Input("bias")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_FLOAT})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .AutoContiguous();
        this->Output("y")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
        this->Attr("transpose_weight").AttrType(OPTIONAL).Bool(false);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc).AddConfig("ascend910b").AddConfig("ascend910_93");
    }
};

OP_ADD(MatmulBiasCustom);

} // namespace ops
