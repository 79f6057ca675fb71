// Runs AddCustom's kernel for one dtype (-DDTYPE_X=…) over the stand-in, tiled as the host side tiles.
#include "kernel_operator.h"

#include "op_kernel/add_custom.cpp"

namespace {
std::string message;
}

extern "C" const char* last_message() { return message.c_str(); }

extern "C" int broadcast_dim(int64_t x, int64_t y, int64_t* z) { return add_custom_plan::BroadcastDim(x, y, z) ? 0 : 1; }

// tiles_out: the number of tiles, and of merged dimensions including the innermost. 0 on success.
extern "C" int run(const int64_t* xShape, const int64_t* yShape, uint32_t rank, uint8_t* x, uint64_t xBytes, uint8_t* y,
    uint64_t yBytes, uint8_t* z, uint64_t zBytes, uint64_t cores, uint64_t limit, uint64_t align, uint64_t localBytes,
    uint64_t* tilesOut)
{
    try {
        const auto plan = add_custom_plan::MakePlan(xShape, yShape, rank);
        const auto tiles = add_custom_plan::MakeTiles(plan, limit, align, cores);
        AddCustomTilingData data{};
        std::memcpy(data.extent, plan.extent, sizeof(data.extent));
        std::memcpy(data.xStride, plan.xStride, sizeof(data.xStride));
        std::memcpy(data.yStride, plan.yStride, sizeof(data.yStride));
        data.inner = plan.inner;
        data.tile = tiles.tile;
        data.tilesPerRow = tiles.perRow;
        data.totalTiles = tiles.total;
        data.dims = plan.dims;
        data.xDense = plan.xDense;
        data.yDense = plan.yDense;
        tilesOut[0] = tiles.total;
        tilesOut[1] = plan.dims + 1;
        standin::memory = {{x, xBytes, false}, {y, yBytes, false}, {z, zBytes, true}};
        standin::localBytes = localBytes;
        standin::blockNum = static_cast<int64_t>(tiles.total < cores ? (tiles.total == 0 ? 1 : tiles.total) : cores);
        for (standin::blockIdx = 0; standin::blockIdx < standin::blockNum; ++standin::blockIdx) {
            ::add_custom(x, y, z, nullptr, reinterpret_cast<uint8_t*>(&data));
        }
        return 0;
    } catch (const std::exception& error) {
        message = error.what();
        return 1;
    }
}
