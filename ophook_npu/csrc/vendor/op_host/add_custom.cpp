// Host side of AddCustom: prototype, shape and dtype inference, tiling. Compiled against CANN's headers; run on the CPU, not
// on an Ascend host (tests/unit/kernel). The decisions that it takes are in ../op_kernel/add_custom_plan.h.

#include "add_custom_tiling.h"

#include <algorithm>
#include <cstdio>

#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

#include "../op_kernel/add_custom_plan.h"

namespace {

constexpr uint64_t kAlignBytes = 256; // one vector instruction; a multiple of the 32-byte block that DataCopy wants
constexpr uint64_t kReservedBytes = 8 * 1024; // of local memory, for the framework
constexpr int64_t kUnknownRank = -2;

void Refuse(const char* step, const char* why)
{
    std::fprintf(stderr, "[AddCustom %s] %s\n", step, why);
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

bool HasUnknownRank(const gert::Shape& shape)
{
    return shape.GetDimNum() == 1 && shape.GetDim(0) == kUnknownRank;
}

} // namespace

namespace optiling {

static ge::graphStatus TilingFunc(gert::TilingContext* context)
{
    const gert::Shape& xShape = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& yShape = context->GetInputShape(1)->GetStorageShape();
    const ge::DataType dtype = context->GetInputDesc(0)->GetDataType();
    if (!RankFits(xShape) || !RankFits(yShape)) {
        Refuse("tiling", "x or y has more than 8 dimensions");
        return ge::GRAPH_FAILED;
    }
    if (BytesPerElement(dtype) == 0 || context->GetInputDesc(1)->GetDataType() != dtype) {
        Refuse("tiling", "x and y must have one dtype out of float16, float, bfloat16, int32");
        return ge::GRAPH_FAILED;
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

    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    uint64_t localBytes = 0;
    platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, localBytes);
    const uint64_t cores = platform.GetCoreNumAiv();
    const uint64_t align = kAlignBytes / ElementSize(dtype);
    if (cores == 0 || localBytes <= kReservedBytes + align * BytesPerElement(dtype)) {
        Refuse("tiling", "the platform reports no vector cores or no local memory");
        return ge::GRAPH_FAILED;
    }
    const uint64_t limit = (localBytes - kReservedBytes) / BytesPerElement(dtype) / align * align;
    // Not const: set_* of some CANN releases take pointers to non-const.
    add_custom_plan::Plan plan = add_custom_plan::MakePlan(x, y, rank);
    const add_custom_plan::Tiles tiles = add_custom_plan::MakeTiles(plan, limit, align, cores);

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
    data.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(data.GetDataSize());
    // An empty result still launches one core, which finds no tile and returns.
    context->SetBlockDim(static_cast<uint32_t>(std::max<uint64_t>(1, std::min(cores, tiles.total))));
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}

} // namespace optiling

namespace ge {

static graphStatus InferShape(gert::InferShapeContext* context)
{
    const gert::Shape* xShape = context->GetInputShape(0);
    const gert::Shape* yShape = context->GetInputShape(1);
    gert::Shape* zShape = context->GetOutputShape(0);
    if (xShape == nullptr || yShape == nullptr || zShape == nullptr) {
        Refuse("shape inference", "a shape is missing");
        return GRAPH_FAILED;
    }
    if (HasUnknownRank(*xShape) || HasUnknownRank(*yShape)) {
        zShape->SetDimNum(1);
        zShape->SetDim(0, kUnknownRank);
        return GRAPH_SUCCESS;
    }
    if (!RankFits(*xShape) || !RankFits(*yShape)) {
        Refuse("shape inference", "x or y has more than 8 dimensions");
        return GRAPH_FAILED;
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
        Refuse("dtype inference", "x and y differ in dtype");
        return GRAPH_FAILED;
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
