// Host side of SwigluCustom: prototype, shape and dtype inference, tiling. Run on the CPU, not on an Ascend host.

#include "swiglu_custom_tiling.h"
#include "custom_host.h"

using custom_host::HasUnknownRank;

namespace {

ge::graphStatus Refuse(const char* step, const char* why)
{
    return custom_host::Refuse("SwigluCustom", step, why);
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
        return Refuse("tiling", "x must be float16, float or bfloat16");
    }
    if (!HalvedDim(x, *context->GetAttrs()->GetInt(0), &at)) {
        return ge::GRAPH_FAILED;
    }
    const custom_host::Platform platform(context);
    if (!platform.Has(custom_host::kReservedBytes)) {
        return Refuse("tiling", "the platform reports no vector cores or no local memory");
    }
    uint64_t rows = 1;
    uint64_t inner = 1;
    for (size_t i = 0; i < x.GetDimNum(); ++i) {
        (i < at ? rows : inner) *= static_cast<uint64_t>(x.GetDim(i));
    }
    inner /= 2;
    // Long runs are cut so far that every core gets work.
    const uint64_t limit = platform.bytes / bytes / kAlign * kAlign;
    const uint64_t share = std::min(inner, (rows * inner + platform.cores - 1) / platform.cores);
    const uint64_t tile = std::min(limit, custom_host::RoundUp(share, kAlign));
    const uint64_t work = rows * ((inner + tile - 1) / tile);

    SwigluCustomTilingData data;
    data.set_rows(rows);
    data.set_inner(inner);
    data.set_tile(tile);
    data.set_tilesPerRow((inner + tile - 1) / tile);
    return custom_host::Launch(context, data, platform.cores, work);
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
