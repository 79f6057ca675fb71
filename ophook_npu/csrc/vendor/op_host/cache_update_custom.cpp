// Host side of CacheUpdateCustom: prototype, shape and dtype inference, tiling. Run on the CPU, not on an Ascend host.

#include "cache_update_custom_tiling.h"

#include <algorithm>
#include <cstdio>

#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace {

constexpr uint64_t kReservedBytes = 8 * 1024; // of local memory, for the framework and what is not counted by element

void Refuse(const char* step, const char* why)
{
    std::fprintf(stderr, "[CacheUpdateCustom %s] %s\n", step, why);
}

constexpr int64_t kUnknownRank = -2;

bool HasUnknownRank(const gert::Shape& shape)
{
    return shape.GetDimNum() == 1 && shape.GetDim(0) == kUnknownRank;
}

constexpr uint64_t kBlockBytes = 32;

uint64_t ElementSize(ge::DataType dtype)
{
    switch (dtype) {
        case ge::DT_FLOAT:
        case ge::DT_INT32:
            return 4;
        case ge::DT_FLOAT16:
        case ge::DT_BF16:
            return 2;
        default:
            return 0;
    }
}

// updates must be cache, with as many rows as index has elements; dimensions that are not known yet may be anything.
bool ShapesFit(const gert::Shape& cache, const gert::Shape& index, const gert::Shape& updates)
{
    auto differ = [](int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; };
    bool fit = cache.GetDimNum() > 0 && index.GetDimNum() == 1 && updates.GetDimNum() == cache.GetDimNum() &&
        !differ(updates.GetDim(0), index.GetDim(0));
    for (size_t i = 1; fit && i < cache.GetDimNum(); ++i) {
        fit = !differ(cache.GetDim(i), updates.GetDim(i));
    }
    if (!fit) {
        Refuse("shape inference", "cache is (N, ...), index (K), updates (K, ...)");
    }
    return fit;
}

} // namespace

namespace optiling {

static ge::graphStatus TilingFunc(gert::TilingContext* context)
{
    const gert::Shape& cache = context->GetInputShape(0)->GetStorageShape();
    const gert::Shape& index = context->GetInputShape(1)->GetStorageShape();
    const uint64_t size = ElementSize(context->GetInputDesc(0)->GetDataType());
    if (size == 0 || context->GetInputDesc(2)->GetDataType() != context->GetInputDesc(0)->GetDataType()) {
        Refuse("tiling", "cache and updates must have one dtype out of float16, float, bfloat16, int32");
        return ge::GRAPH_FAILED;
    }
    if (!ShapesFit(cache, index, context->GetInputShape(2)->GetStorageShape())) {
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
    uint64_t rowBytes = size;
    for (size_t i = 1; i < cache.GetDimNum(); ++i) {
        rowBytes *= static_cast<uint64_t>(cache.GetDim(i));
    }
    const uint64_t count = static_cast<uint64_t>(index.GetDim(0));
    const uint64_t limit = (localBytes - kReservedBytes) / 2 / kBlockBytes * kBlockBytes; // two buffers
    const uint64_t tile = std::min(limit, (std::max<uint64_t>(rowBytes, 1) + kBlockBytes - 1) / kBlockBytes * kBlockBytes);
    const uint64_t work = count * ((rowBytes + tile - 1) / tile);

    CacheUpdateCustomTilingData data;
    data.set_rows(static_cast<uint64_t>(cache.GetDim(0)));
    data.set_count(count);
    data.set_rowBytes(rowBytes);
    data.set_tile(tile);
    data.set_tilesPerRow((rowBytes + tile - 1) / tile);
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
    const gert::Shape& cache = *context->GetInputShape(0);
    const gert::Shape& index = *context->GetInputShape(1);
    const gert::Shape& updates = *context->GetInputShape(2);
    *context->GetOutputShape(0) = cache;
    if (HasUnknownRank(cache) || HasUnknownRank(index) || HasUnknownRank(updates)) {
        return GRAPH_SUCCESS;
    }
    return ShapesFit(cache, index, updates) ? GRAPH_SUCCESS : GRAPH_FAILED;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context)
{
    if (context->GetInputDataType(0) != context->GetInputDataType(2)) {
        Refuse("dtype inference", "cache and updates differ in dtype");
        return GRAPH_FAILED;
    }
    context->SetOutputDataType(0, context->GetInputDataType(0));
    return GRAPH_SUCCESS;
}

} // namespace ge

namespace ops {

class CacheUpdateCustom : public OpDef {
public:
    explicit CacheUpdateCustom(const char* name) : OpDef(name)
    {
        // AutoContiguous: aclnnCacheUpdateCustom makes strided and expanded inputs dense before the kernel sees them.
        this->Input("cache")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_BF16, ge::DT_BF16, ge::DT_INT32, ge::DT_INT32})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .UnknownShapeFormat({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .AutoContiguous();
        this->Input("index")
            .ParamType(REQUIRED)
            .DataType({ge::DT_INT32, ge::DT_INT64, ge::DT_INT32, ge::DT_INT64, ge::DT_INT32, ge::DT_INT64, ge::DT_INT32, ge::DT_INT64})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .UnknownShapeFormat({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .AutoContiguous();
        this->Input("updates")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_BF16, ge::DT_BF16, ge::DT_INT32, ge::DT_INT32})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .UnknownShapeFormat({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .AutoContiguous();
        this->Output("cache")
            .ParamType(REQUIRED)
            .DataType({ge::DT_FLOAT16, ge::DT_FLOAT16, ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_BF16, ge::DT_BF16, ge::DT_INT32, ge::DT_INT32})
            .Format({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND})
            .UnknownShapeFormat({ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND, ge::FORMAT_ND});
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore()
            .SetTiling(optiling::TilingFunc)
            .AddConfig("ascend910b")
            .AddConfig("ascend910_93");
    }
};

OP_ADD(CacheUpdateCustom);

} // namespace ops
