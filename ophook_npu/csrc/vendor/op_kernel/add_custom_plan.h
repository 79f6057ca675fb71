// How AddCustom walks a broadcast addition. Plain C++: host tiling, the kernel and a test on any machine include it.
//
// Neighbouring dimensions that broadcast alike are merged. What is left is a row-major nest: `rows` runs of `inner`
// elements of z. Within a run each input is either dense (inner elements in a row) or one value for the whole run, and
// never both inputs one value, since such a dimension has extent 1 and is dropped. Runs are cut into tiles of at most
// `tile` elements, and tiles are dealt to the cores in equal, contiguous shares.
#ifndef ADD_CUSTOM_PLAN_H
#define ADD_CUSTOM_PLAN_H

#include <cstdint>

// Kernel code defines this as __aicore__ before it includes the file.
#ifndef ADD_CUSTOM_DEVICE
#define ADD_CUSTOM_DEVICE
#endif

namespace add_custom_plan {

constexpr uint32_t kMaxDims = 8; // the rank limit of aclTensor and ge::Tensor
constexpr int64_t kUnknown = -1; // a dimension that is known only at run time

// One dimension of the result's shape. False: the two extents do not broadcast.
inline bool BroadcastDim(int64_t x, int64_t y, int64_t* z)
{
    if (x == y || y == 1) {
        *z = x;
    } else if (x == 1 || x == kUnknown) {
        *z = y; // an unknown extent beside y != 1 can only be y or 1
    } else if (y == kUnknown) {
        *z = x;
    } else {
        return false;
    }
    return true;
}

struct Plan {
    uint32_t dims;              // merged dimensions before the innermost one
    uint64_t extent[kMaxDims];  // of z, outermost first
    uint64_t xStride[kMaxDims]; // in elements, 0 where x broadcasts
    uint64_t yStride[kMaxDims];
    uint64_t rows;
    uint64_t inner;
    bool xDense;
    bool yDense;
};

// x, y: extents of one rank (shorter shapes padded with leading ones) that broadcast, all known. Rank 0 is a scalar.
inline Plan MakePlan(const int64_t* x, const int64_t* y, uint32_t rank)
{
    Plan plan{};
    uint64_t extent[kMaxDims] = {};
    bool xDense[kMaxDims] = {};
    bool yDense[kMaxDims] = {};
    uint32_t merged = 0;
    for (uint32_t i = 0; i < rank; ++i) {
        const int64_t z = x[i] == 1 ? y[i] : x[i];
        if (z == 1) {
            continue;
        }
        const bool xd = x[i] == z;
        const bool yd = y[i] == z;
        if (merged > 0 && xDense[merged - 1] == xd && yDense[merged - 1] == yd) {
            extent[merged - 1] *= static_cast<uint64_t>(z);
            continue;
        }
        extent[merged] = static_cast<uint64_t>(z);
        xDense[merged] = xd;
        yDense[merged] = yd;
        ++merged;
    }
    if (merged == 0) {
        plan.rows = 1;
        plan.inner = 1;
        plan.xDense = true;
        plan.yDense = true;
        return plan;
    }
    plan.dims = merged - 1;
    plan.inner = extent[merged - 1];
    plan.xDense = xDense[merged - 1];
    plan.yDense = yDense[merged - 1];
    plan.rows = 1;
    uint64_t xSize = plan.xDense ? plan.inner : 1;
    uint64_t ySize = plan.yDense ? plan.inner : 1;
    for (uint32_t i = plan.dims; i-- > 0;) {
        plan.extent[i] = extent[i];
        plan.xStride[i] = xDense[i] ? xSize : 0;
        plan.yStride[i] = yDense[i] ? ySize : 0;
        xSize *= xDense[i] ? extent[i] : 1;
        ySize *= yDense[i] ? extent[i] : 1;
        plan.rows *= extent[i];
    }
    return plan;
}

struct Tiles {
    uint64_t tile;   // elements in a tile, the last one of a run excepted; a multiple of `align`
    uint64_t perRow;
    uint64_t total;
};

// limit: elements that fit the local memory, a multiple of align. Short runs are not cut; long ones are cut so far that
// every core gets work.
inline Tiles MakeTiles(const Plan& plan, uint64_t limit, uint64_t align, uint64_t cores)
{
    const uint64_t share = (plan.rows * plan.inner + cores - 1) / cores;
    uint64_t tile = plan.inner < share ? plan.inner : share;
    tile = (tile + align - 1) / align * align;
    if (tile > limit) {
        tile = limit;
    }
    Tiles tiles{};
    tiles.tile = tile == 0 ? align : tile;
    tiles.perRow = (plan.inner + tiles.tile - 1) / tiles.tile;
    tiles.total = plan.rows * tiles.perRow;
    return tiles;
}

// Tiles [*first, *first + *count) belong to this core; shares differ by one at most.
ADD_CUSTOM_DEVICE inline void ShareOf(uint64_t total, uint64_t cores, uint64_t core, uint64_t* first, uint64_t* count)
{
    const uint64_t base = total / cores;
    const uint64_t rest = total % cores;
    *first = core * base + (core < rest ? core : rest);
    *count = base + (core < rest ? 1 : 0);
}

// Where a row begins in x and y. Data: anything with the fields dims, extent, xStride, yStride.
template <typename Data>
ADD_CUSTOM_DEVICE inline void RowOffsets(const Data& data, uint64_t row, uint64_t* x, uint64_t* y)
{
    *x = 0;
    *y = 0;
    for (uint32_t i = data.dims; i-- > 0;) {
        const uint64_t index = row % data.extent[i];
        row /= data.extent[i];
        *x += index * data.xStride[i];
        *y += index * data.yStride[i];
    }
}

} // namespace add_custom_plan

#endif // ADD_CUSTOM_PLAN_H
