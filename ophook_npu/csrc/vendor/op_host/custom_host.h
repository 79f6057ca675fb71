// What the host sides of these operators have in common: they refuse with a word of why, ask the platform for what it
// has, and hand the tiling over.
#ifndef CUSTOM_HOST_H
#define CUSTOM_HOST_H

#include <algorithm>
#include <cstdio>

#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace custom_host {

constexpr uint64_t kReservedBytes = 8 * 1024; // of local memory, for the framework and what is not counted by element
constexpr int64_t kUnknownRank = -2;

inline ge::graphStatus Refuse(const char* op, const char* step, const char* why)
{
    std::fprintf(stderr, "[%s %s] %s\n", op, step, why);
    return ge::GRAPH_FAILED;
}

inline bool HasUnknownRank(const gert::Shape& shape)
{
    return shape.GetDimNum() == 1 && shape.GetDim(0) == kUnknownRank;
}

inline uint64_t RoundUp(uint64_t count, uint64_t align)
{
    return (std::max<uint64_t>(count, 1) + align - 1) / align * align;
}

// Vector cores, and bytes of local memory for tiles. False: no core, or not `least` bytes.
struct Platform {
    uint64_t cores;
    uint64_t bytes = 0;

    explicit Platform(gert::TilingContext* context)
    {
        auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
        platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, bytes);
        bytes -= std::min(bytes, kReservedBytes);
        cores = platform.GetCoreNumAiv();
    }
    bool Has(uint64_t least) const { return cores != 0 && bytes > least; }
};

// `work`: pieces to be dealt to the cores. Nothing to do still launches one core, which returns.
template <typename Data>
ge::graphStatus Launch(gert::TilingContext* context, Data& data, uint64_t cores, uint64_t work)
{
    data.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(data.GetDataSize());
    context->SetBlockDim(static_cast<uint32_t>(std::max<uint64_t>(1, std::min(cores, work))));
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}

} // namespace custom_host

#endif // CUSTOM_HOST_H
