// Plain C++ in place of the Ascend C calls that AddCustom's kernel makes: one core at a time, every access checked.
// It shows what the kernel computes and where it reads and writes; not what a compiler for Ascend makes of it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#define __aicore__
#define __global__
#define __gm__
using GM_ADDR = uint8_t*;
using half = _Float16;

struct bfloat16_t {
    uint16_t bits;
    bfloat16_t() = default;
    explicit bfloat16_t(int zero) : bits(static_cast<uint16_t>(zero)) {}
};

// As the host's tiling class lays it out in ../../../op_plugin_patch/ascendc/op_host/add_custom_tiling.h.
struct AddCustomTilingData {
    uint64_t extent[8], xStride[8], yStride[8];
    uint64_t inner, tile, tilesPerRow, totalTiles;
    uint32_t dims, xDense, yDense, reserved;
};
#define GET_TILING_DATA(name, tiling) const AddCustomTilingData name = *reinterpret_cast<AddCustomTilingData*>(tiling)

namespace standin {
struct Range {
    const uint8_t* begin;
    uint64_t bytes;
    bool writable;
};
inline std::vector<Range> memory; // device memory that the kernel may touch
inline uint64_t localBytes = 0;
inline int64_t blockIdx = 0;
inline int64_t blockNum = 1;

inline void Check(bool ok, const std::string& what)
{
    if (!ok) {
        throw std::runtime_error(what);
    }
}
inline void CheckGlobal(const void* at, uint64_t bytes, bool write)
{
    const uint8_t* p = static_cast<const uint8_t*>(at);
    for (const Range& range : memory) {
        if (p >= range.begin && p + bytes <= range.begin + range.bytes && (range.writable || !write)) {
            return;
        }
    }
    throw std::runtime_error("global memory touched outside x, y and z, or an input written");
}
} // namespace standin

namespace AscendC {
enum class QuePosition { VECIN, VECOUT, VECCALC };
enum class RoundMode { CAST_NONE, CAST_RINT };
struct DataCopyExtParams {
    uint16_t blockCount;
    uint32_t blockLen, srcStride, dstStride, rsv;
};
template <typename T>
struct DataCopyPadExtParams {
    bool isPad;
    uint8_t left, right;
    T value;
};

inline int64_t GetBlockIdx() { return standin::blockIdx; }
inline int64_t GetBlockNum() { return standin::blockNum; }

template <typename T>
struct LocalTensor {
    uint8_t* data = nullptr;
    uint64_t bytes = 0;
    T* At(uint32_t count) const
    {
        standin::Check(data != nullptr && count * sizeof(T) <= bytes, "local tensor used beyond its buffer");
        return reinterpret_cast<T*>(data);
    }
};

template <typename T>
struct GlobalTensor {
    T* data = nullptr;
    void SetGlobalBuffer(T* p) { data = p; }
    GlobalTensor operator[](uint64_t offset) const { return GlobalTensor{data + offset}; }
    T GetValue(uint64_t offset) const
    {
        standin::CheckGlobal(data + offset, sizeof(T), false);
        return data[offset];
    }
};

struct Buffers {
    std::vector<std::vector<uint8_t>> storage;
    std::deque<uint8_t*> free;
    uint64_t bytes = 0;
};

template <QuePosition position, int32_t depth>
struct TQue : Buffers {
    std::deque<uint8_t*> queued;
    template <typename T>
    LocalTensor<T> AllocTensor()
    {
        standin::Check(!free.empty(), "queue has no free buffer: never initialised, or a tensor was not freed");
        uint8_t* data = free.front();
        free.pop_front();
        std::memset(data, 0xCD, bytes); // stale contents must not look right
        return {data, bytes};
    }
    template <typename T>
    void EnQue(LocalTensor<T>& tensor)
    {
        standin::Check(queued.size() < depth, "more tensors queued than the queue is deep");
        queued.push_back(tensor.data);
    }
    template <typename T>
    LocalTensor<T> DeQue()
    {
        standin::Check(!queued.empty(), "nothing queued");
        uint8_t* data = queued.front();
        queued.pop_front();
        return {data, bytes};
    }
    template <typename T>
    void FreeTensor(LocalTensor<T>& tensor) { free.push_back(tensor.data); }
};

template <QuePosition position>
struct TBuf : Buffers {
    template <typename T>
    LocalTensor<T> Get() { return {storage.at(0).data(), bytes}; }
};

struct TPipe {
    uint64_t used = 0;
    void Init(Buffers& buffers, int32_t count, uint32_t bytes)
    {
        standin::Check(bytes % 32 == 0, "a buffer's size is no multiple of 32 bytes");
        used += static_cast<uint64_t>(count) * bytes;
        standin::Check(used <= standin::localBytes, "buffers exceed local memory");
        buffers.bytes = bytes;
        buffers.storage.assign(count, std::vector<uint8_t>(bytes));
        for (auto& one : buffers.storage) {
            buffers.free.push_back(one.data());
        }
    }
    template <QuePosition position, int32_t depth>
    void InitBuffer(TQue<position, depth>& queue, int32_t count, uint32_t bytes) { Init(queue, count, bytes); }
    template <QuePosition position>
    void InitBuffer(TBuf<position>& buffer, uint32_t bytes) { Init(buffer, 1, bytes); }
};

template <typename T>
void DataCopyPad(const LocalTensor<T>& to, const GlobalTensor<T>& from, const DataCopyExtParams& copy,
    const DataCopyPadExtParams<T>&)
{
    standin::CheckGlobal(from.data, copy.blockLen, false);
    std::memcpy(to.At(copy.blockLen / sizeof(T)), from.data, copy.blockLen);
}
template <typename T>
void DataCopyPad(const GlobalTensor<T>& to, const LocalTensor<T>& from, const DataCopyExtParams& copy)
{
    standin::CheckGlobal(to.data, copy.blockLen, true);
    std::memcpy(to.data, from.At(copy.blockLen / sizeof(T)), copy.blockLen);
}

// int32 wraps on the vector unit; signed overflow is undefined in C++.
template <typename T>
T Sum(T a, T b)
{
    if constexpr (std::is_same_v<T, int32_t>) {
        return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
    } else {
        return static_cast<T>(a + b);
    }
}
template <typename T>
void Add(const LocalTensor<T>& z, const LocalTensor<T>& x, const LocalTensor<T>& y, uint32_t count)
{
    T *to = z.At(count), *a = x.At(count), *b = y.At(count);
    for (uint32_t i = 0; i < count; ++i) {
        to[i] = Sum(a[i], b[i]);
    }
}
template <typename T>
void Adds(const LocalTensor<T>& z, const LocalTensor<T>& x, T value, uint32_t count)
{
    T *to = z.At(count), *a = x.At(count);
    for (uint32_t i = 0; i < count; ++i) {
        to[i] = Sum(a[i], value);
    }
}

inline float ToFloat(const bfloat16_t& value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }
inline void Cast(const LocalTensor<float>& to, const LocalTensor<bfloat16_t>& from, RoundMode mode, uint32_t count)
{
    standin::Check(mode == RoundMode::CAST_NONE, "widening takes CAST_NONE");
    for (uint32_t i = 0; i < count; ++i) {
        to.At(count)[i] = ToFloat(from.At(count)[i]);
    }
}
inline void Cast(const LocalTensor<bfloat16_t>& to, const LocalTensor<float>& from, RoundMode mode, uint32_t count)
{
    standin::Check(mode == RoundMode::CAST_RINT, "narrowing to nearest even is CAST_RINT");
    for (uint32_t i = 0; i < count; ++i) {
        const float value = from.At(count)[i];
        uint32_t bits = std::bit_cast<uint32_t>(value);
        if (std::isnan(value)) {
            bits |= 0x00400000; // stays a NaN when cut
        } else {
            bits += 0x7FFF + ((bits >> 16) & 1);
        }
        to.At(count)[i].bits = static_cast<uint16_t>(bits >> 16);
    }
}
} // namespace AscendC
