// Host side of AddCustom: prototype, shape and dtype inference, tiling. Compiled against CANN's headers; run on the CPU, not
// on an Ascend host (tests/unit/kernel). The decisions that it takes are in ../op_kernel/add_custom_plan.h.

#include "add_custom_tiling.h"
#include "custom_host.h"

#include "../op_kernel/add_custom_plan.h"

using custom_host::HasUnknownRank;

namespace {

constexpr uint64_t kAlignBytes = 256; // one vector instruction; a multiple of the 32-byte block that DataCopy wants

ge::graphStatus Refuse(const char* step, const char* why)
{
    return custom_host::Refuse("AddCustom", step, why);
}

// Local memory for one element of a tile, all buffers together: two for each of x, y, z; bf16 adds two in fp32.
uint64_t BytesPerElement(ge::DataType dtype)
{
    switch (dtype) {
        case ge::DT_FLOAT:
        case ge::DT_INT32:
            return 3 * 2 * 4;
        case ge::DT_FLOAT16:
            return 3 * 2 * 2;
        case ge::DT_BF16:
            return 3 * 2 * 2 + 2 * 4;
        default:
            return 0;
    }
}

uint64_t ElementSize(ge::DataType dtype)
{
    return dtype == ge::DT_FLOAT || dtype == ge::DT_INT32 ? 4 : 2;
}

// Both shapes at one rank, the shorter one padded with leading ones.
uint32_t Align(const gert::Shape& x, const gert::Shape& y, int64_t* xOut, int64_t* yOut)
{
    const size_t rank = std::max(x.GetDimNum(), y.GetDimNum());
    for (size_t back = 1; back <= rank; ++back) {
        xOut[rank - back] = back <= x.GetDimNum() ? x.GetDim(x.GetDimNum() - back) : 1;
        yOut[rank - back] = back <= y.GetDimNum() ? y.GetDim(y.GetDimNum() - back) : 1;
    }
    return static_cast<uint32_t>(rank);
}

bool RankFits(const gert::Shape& shape)
{
    return shape.GetDimNum() <= add_custom_plan::kMaxDims;
}

} // namespace

namespace optiling {

static ge::graphStatus TilingFunc(gert::TilingContext* context)
{
    const gert::Shape& xShape = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& yShape = context->GetInputShape(1)->GetStorageShape();
    const ge::DataType dtype = context->GetInputDesc(0)->GetDataType();
    if (!RankFits(xShape) || !RankFits(yShape)) {
        return Refuse("tiling", "x or y has more than 8 dimensions");
    }
    if (BytesPerElement(dtype) == 0 || context->GetInputDesc(1)->GetDataType() != dtype) {
        return Refuse("tiling", "x and y must have one dtype out of float16, float, bfloat16, int32");
    }
    int64_t x[add_custom_plan::kMaxDims] = {};
    int64_t y[add_custom_plan::kMaxDims] = {};
    const uint32_t rank = Align(xShape, yShape, x, y);
    for (uint32_t i = 0; i < rank; ++i) {
        int64_t z = 0;
        if (!add_custom_plan::BroadcastDim(x[i], y[i], &z)) {
            Refuse("tiling", "the shapes of x and y do not broadcast");
            return ge::GRAPH_FAILED;
        }
    }

    const custom_host::Platform platform(context);
    const uint64_t align = kAlignBytes / ElementSize(dtype);
    if (!platform.Has(align * BytesPerElement(dtype))) {
        return Refuse("tiling", "the platform reports no vector cores or no local memory");
    }
    const uint64_t limit = platform.bytes / BytesPerElement(dtype) / align * align;
    // Not const: set_* of some CANN releases take pointers to non-const.
    add_custom_plan::Plan plan = add_custom_plan::MakePlan(x, y, rank);
    const add_custom_plan::Tiles tiles = add_custom_plan::MakeTiles(plan, limit, align, platform.cores);

    AddCustomTilingData data;
    data.set_extent(plan.extent);
    data.set_xStride(plan.xStride);
    data.set_yStride(plan.yStride);
    data.set_inner(plan.inner);
    data.set_tile(tiles.tile);
    data.set_tilesPerRow(tiles.perRow);
    data.set_totalTiles(tiles.total);
    data.set_dims(plan.dims);
    data.set_xDense(plan.xDense ? 1 : 0);
    data.set_yDense(plan.yDense ? 1 : 0);
    data.set_reserved(0);
    return custom_host::Launch(context, data, platform.cores, tiles.total);
}

} // namespace optiling

namespace ge {

static graphStatus InferShape(gert::InferShapeContext* context)
{
    const gert::Shape* xShape = context->GetInputShape(0);
    const gert::Shape* yShape = context->GetInputShape(1);
    gert::Shape* zShape = context->GetOutputShape(0);
    if (xShape == nullptr || yShape == nullptr || zShape == nullptr) {
        return Refuse("shape inference", "a shape is missing");
    }
    if (HasUnknownRank(*xShape) || HasUnknownRank(*yShape)) {
        zShape->SetDimNum(1);
        zShape->SetDim(0, custom_host::kUnknownRank);
        return GRAPH_SUCCESS;
    }
    if (!RankFits(*xShape) || !RankFits(*yShape)) {
        return Refuse("shape inference", "x or y has more than 8 dimensions");
    }
    int64_t x[add_custom_plan::kMaxDims] = {};
    int64_t y[add_custom_plan::kMaxDims] = {};
    const uint32_t rank = Align(*xShape, *yShape, x, y);
    zShape->SetDimNum(rank);
    for (uint32_t i = 0; i < rank; ++i) {
        int64_t z = 0;
        if (!add_custom_plan::BroadcastDim(x[i], y[i], &z)) {
            Refuse("shape inference", "the shapes of x and y do not broadcast");
            return GRAPH_FAILED;
        }
        zShape->SetDim(i, z);
    }
    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context)
{
    if (context->GetInputDataType(0) != context->GetInputDataType(1)) {
        return Refuse("dtype inference", "x and y differ in dtype");
    }
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}

} // namespace ge

namespace ops {

class AddCustom : public OpDef {
public:
    explicit AddCustom(const char* name) : OpDef(name)
    {
        // AutoContiguous: aclnnAddCustom makes strided and expanded inputs dense before the kernel sees them.
        this->Input("x")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16, ge::DT_INT32})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .UnknownShapeFormat({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .AutoContiguous();
        this->Input("y")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16, ge::DT_INT32})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .UnknownShapeFormat({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .AutoContiguous();
        this->Output("z")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_BF16, ge::DT_INT32})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .UnknownShapeFormat({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore()
            .SetTiling(optiling::TilingFunc)
            .AddConfig("ascend910b")
            .AddConfig("ascend910_93");
    }
};

OP_ADD(AddCustom);

} // namespace ops
