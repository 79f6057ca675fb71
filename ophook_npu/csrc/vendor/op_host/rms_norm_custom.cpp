// Host side of RmsNormCustom: prototype, shape and dtype inference, tiling. Run on the CPU, not on an Ascend host.

#include "rms_norm_custom_tiling.h"

#include <algorithm>
#include <cstdio>

#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace {

constexpr uint64_t kReservedBytes = 8 * 1024; // of local memory, for the framework and what is not counted by element

void Refuse(const char* step, const char* why)
{
    std::fprintf(stderr, "[RmsNormCustom %s] %s\n", step, why);
}

constexpr uint64_t kAlign = 128; // elements: one vector instruction of fp16, a multiple of every block

// Local memory for one element of a tile, all buffers together; 0: not a type of this operator.
uint64_t BytesPerElement(ge::DataType dtype)
{
    switch (dtype) {
        case ge::DT_FLOAT:
            return 5 * 4 + 4 * 4;
        case ge::DT_FLOAT16:
        case ge::DT_BF16:
            return 5 * 2 + 4 * 4;
        default:
            return 0;
    }
}

constexpr int64_t kUnknownRank = -2;

bool HasUnknownRank(const gert::Shape& shape)
{
    return shape.GetDimNum() == 1 && shape.GetDim(0) == kUnknownRank;
}

} // namespace

namespace optiling {

static ge::graphStatus TilingFunc(gert::TilingContext* context)
{
    const gert::Shape& x = context->GetInputShape(0)->GetStorageShape();
    const uint64_t bytes = BytesPerElement(context->GetInputDesc(0)->GetDataType());
    if (bytes == 0 || context->GetInputDesc(1)->GetDataType() != context->GetInputDesc(0)->GetDataType()) {
        Refuse("tiling", "x and gamma must have one dtype out of float16, float, bfloat16");
        return ge::GRAPH_FAILED;
    }
    if (x.GetDimNum() == 0) {
        Refuse("tiling", "x has no dimension to normalize");
        return ge::GRAPH_FAILED;
    }
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    uint64_t localBytes = 0;
    platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, localBytes);
    const uint64_t cores = platform.GetCoreNumAiv();
    if (cores == 0 || localBytes <= 2 * kReservedBytes) {
        Refuse("tiling", "the platform reports no vector cores or no local memory");
        return ge::GRAPH_FAILED;
    }
    const uint64_t width = static_cast<uint64_t>(x.GetDim(x.GetDimNum() - 1));
    uint64_t rows = 1;
    for (size_t i = 0; i + 1 < x.GetDimNum(); ++i) {
        rows *= static_cast<uint64_t>(x.GetDim(i));
    }
    const uint64_t limit = (localBytes - kReservedBytes) / bytes / kAlign * kAlign;
    const uint64_t wanted = (std::max<uint64_t>(width, 1) + kAlign - 1) / kAlign * kAlign;
    const uint64_t work = rows;

    RmsNormCustomTilingData data;
    data.set_rows(rows);
    data.set_width(width);
    data.set_tile(std::min(limit, wanted));
    data.set_inverseWidth(1.0f / static_cast<float>(width)); // of no elements the mean is NaN
    data.set_epsilon(*context->GetAttrs()->GetFloat(0));
    data.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(data.GetDataSize());
    // Nothing to do still launches one core, which returns.
    context->SetBlockDim(static_cast<uint32_t>(std::max<uint64_t>(1, std::min<uint64_t>(cores, work))));
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}

} // namespace optiling

namespace ge {

static graphStatus InferShape(gert::InferShapeContext* context)
{
    const gert::Shape& x = *context->GetInputShape(0);
    const gert::Shape& gamma = *context->GetInputShape(1);
    *context->GetOutputShape(0) = x;
    *context->GetOutputShape(1) = x;
    if (HasUnknownRank(x)) {
        return GRAPH_SUCCESS;
    }
    const size_t rank = x.GetDimNum();
    if (rank == 0) {
        Refuse("shape inference", "x has no dimension to normalize");
        return GRAPH_FAILED;
    }
    const int64_t width = x.GetDim(rank - 1);
    if (!HasUnknownRank(gamma) &&
        (gamma.GetDimNum() != 1 || (gamma.GetDim(0) >= 0 && width >= 0 && gamma.GetDim(0) != width))) {
        Refuse("shape inference", "gamma must have one dimension, as long as the last one of x");
        return GRAPH_FAILED;
    }
    context->GetOutputShape(1)->SetDim(rank - 1, 1);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context)
{
    if (context->GetInputDataType(0) != context->GetInputDataType(1)) {
        Refuse("dtype inference", "x and gamma differ in dtype");
        return GRAPH_FAILED;
    }
    context->SetOutputDataType(0, context->GetInputDataType(0));
    context->SetOutputDataType(1, DT_FLOAT);
    return GRAPH_SUCCESS;
}

} // namespace ge

namespace ops {

class RmsNormCustom : public OpDef {
public:
    explicit RmsNormCustom(const char* name) : OpDef(name)
    {
        // AutoContiguous: aclnnRmsNormCustom makes strided and expanded inputs dense before the kernel sees them.
        this->Input("x")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .UnknownShapeFormat({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .AutoContiguous();
        this->Input("gamma")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .UnknownShapeFormat({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .AutoContiguous();
        this->Output("y")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .UnknownShapeFormat({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
        this->Output("rstd")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_FLOAT})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .UnknownShapeFormat({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
        this->Attr("epsilon").AttrType(OPTIONAL).Float(1e-06);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore()
            .SetTiling(optiling::TilingFunc)
            .AddConfig("ascend910b")
            .AddConfig("ascend910_93");
    }
};

OP_ADD(RmsNormCustom);

} // namespace ops
