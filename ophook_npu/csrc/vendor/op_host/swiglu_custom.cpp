// Host side of SwigluCustom: prototype, shape and dtype inference, tiling. Run on the CPU, not on an Ascend host.

#include "swiglu_custom_tiling.h"

#include <algorithm>
#include <cstdio>

#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace {

constexpr uint64_t kReservedBytes = 8 * 1024; // of local memory, for the framework and what is not counted by element

void Refuse(const char* step, const char* why)
{
    std::fprintf(stderr, "[SwigluCustom %s] %s\n", step, why);
}

constexpr uint64_t kAlign = 128; // elements: one vector instruction of fp16, a multiple of every block

// Local memory for one element of a tile, all buffers together; 0: not a type of this operator.
uint64_t BytesPerElement(ge::DataType dtype)
{
    switch (dtype) {
        case ge::DT_FLOAT:
            return 3 * 2 * 4 + 4;
        case ge::DT_FLOAT16:
        case ge::DT_BF16:
            return 3 * 2 * 2 + 3 * 4;
        default:
            return 0;
    }
}

constexpr int64_t kUnknownRank = -2;

bool HasUnknownRank(const gert::Shape& shape)
{
    return shape.GetDimNum() == 1 && shape.GetDim(0) == kUnknownRank;
}

// Which dimension is halved; false: there is no such one, or it cannot be halved.
bool HalvedDim(const gert::Shape& x, int64_t dim, size_t* at)
{
    const int64_t rank = static_cast<int64_t>(x.GetDimNum());
    if (dim < -rank || dim >= rank) {
        Refuse("shape inference", "x has no such dimension");
        return false;
    }
    *at = static_cast<size_t>(dim < 0 ? dim + rank : dim);
    if (x.GetDim(*at) > 0 && x.GetDim(*at) % 2 != 0) {
        Refuse("shape inference", "x has an odd number of elements along dim");
        return false;
    }
    return true;
}

} // namespace

namespace optiling {

static ge::graphStatus TilingFunc(gert::TilingContext* context)
{
    const gert::Shape& x = context->GetInputShape(0)->GetStorageShape();
    const uint64_t bytes = BytesPerElement(context->GetInputDesc(0)->GetDataType());
    size_t at = 0;
    if (bytes == 0) {
        Refuse("tiling", "x must be float16, float or bfloat16");
        return ge::GRAPH_FAILED;
    }
    if (!HalvedDim(x, *context->GetAttrs()->GetInt(0), &at)) {
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
    uint64_t rows = 1;
    uint64_t inner = 1;
    for (size_t i = 0; i < x.GetDimNum(); ++i) {
        (i < at ? rows : inner) *= static_cast<uint64_t>(x.GetDim(i));
    }
    inner /= 2;
    // Long runs are cut so far that every core gets work.
    const uint64_t limit = (localBytes - kReservedBytes) / bytes / kAlign * kAlign;
    const uint64_t share = std::min(inner, (rows * inner + cores - 1) / cores);
    const uint64_t tile = std::min(limit, (std::max<uint64_t>(share, 1) + kAlign - 1) / kAlign * kAlign);
    const uint64_t work = rows * ((inner + tile - 1) / tile);

    SwigluCustomTilingData data;
    data.set_rows(rows);
    data.set_inner(inner);
    data.set_tile(tile);
    data.set_tilesPerRow((inner + tile - 1) / tile);
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
    *context->GetOutputShape(0) = x;
    size_t at = 0;
    if (HasUnknownRank(x)) {
        return GRAPH_SUCCESS;
    }
    if (!HalvedDim(x, *context->GetAttrs()->GetInt(0), &at)) {
        return GRAPH_FAILED;
    }
    const int64_t extent = x.GetDim(at);
    context->GetOutputShape(0)->SetDim(at, extent < 0 ? extent : extent / 2);
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context)
{
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}

} // namespace ge

namespace ops {

class SwigluCustom : public OpDef {
public:
    explicit SwigluCustom(const char* name) : OpDef(name)
    {
        // AutoContiguous: aclnnSwigluCustom makes strided and expanded inputs dense before the kernel sees them.
        this->Input("x")
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
        this->Attr("dim").AttrType(OPTIONAL).Int(-1);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore()
            .SetTiling(optiling::TilingFunc)
            .AddConfig("ascend910b")
            .AddConfig("ascend910_93");
    }
};

OP_ADD(SwigluCustom);

} // namespace ops
