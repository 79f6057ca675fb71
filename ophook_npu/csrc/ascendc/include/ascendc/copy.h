// DataCopy and DataCopyPad between device memory and local memory.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "tensor.h"

namespace AscendC {

namespace copy_details {
// Lengths and gaps are in blocks of 32 bytes; the bias table has blocks of 64, the buffer of Fixpipe's factors of 128.
inline ophook::rt::Blocks in_blocks(const DataCopyParams& p, uint64_t length = 32, uint64_t to = 32) {
  return {p.blockCount, p.blockLen * length, uint64_t(p.srcStride) * 32, p.dstStride * to};
}
inline ophook::rt::Blocks in_blocks_of(ophook::rt::Memory memory, const DataCopyParams& p) {
  if (memory == ophook::rt::Memory::bt) return in_blocks(p, 64, 64);
  if (memory != ophook::rt::Memory::fb) return in_blocks(p);
  ophook::rt::Blocks blocks = in_blocks(p, 128, 128);  // both strides from begin to begin
  return blocks.from_gap -= blocks.length, blocks.to_gap -= blocks.length, blocks;
}
template <typename T>
uint64_t bits_of(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}
// A copy again and again, as SetLoopModePara and functions of the C interface have said: how far apart, in bytes.
template <typename F>
void looped(bool in, F copy) {
  const ophook::rt::CopyLoops loops = ophook::rt::copy_loops(in);
  for (uint64_t outer = 0; outer < loops.size[1]; ++outer)
    for (uint64_t inner = 0; inner < loops.size[0]; ++inner)
      copy(inner * loops.local[0] + outer * loops.local[1], inner * loops.global[0] + outer * loops.global[1]);
}
inline ophook::rt::Local later(ophook::rt::Local tensor, uint64_t bytes) {
  return tensor.offset += uint32_t(bytes), tensor.bytes -= uint32_t(bytes < tensor.bytes ? bytes : tensor.bytes),
         tensor;
}
inline ophook::rt::Global later(ophook::rt::Global tensor, uint64_t bytes) {
  return tensor.data += bytes, tensor.bytes -= bytes < tensor.bytes ? bytes : tensor.bytes, tensor;
}
inline void padded_in(ophook::rt::Local to, ophook::rt::Global from, const ophook::rt::Blocks& blocks,
                      const ophook::rt::Padding& padding, ophook::rt::At at) {
  looped(true, [&](uint64_t local, uint64_t far) {
    ophook::rt::copy_in("DataCopyPad", later(to, local), later(from, far), blocks, &padding, at);
  });
}
inline void padded_out(ophook::rt::Global to, ophook::rt::Local from, const ophook::rt::Blocks& blocks,
                       ophook::rt::At at) {
  looped(false, [&](uint64_t local, uint64_t far) {
    ophook::rt::copy_out("DataCopyPad", later(to, far), later(from, local), blocks, true, at);
  });
}
}  // namespace copy_details

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const uint32_t count,
                                ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::copy_in("DataCopy", dst.view(), src.view(), {1, uint64_t(count) * sizeof(T), 0, 0}, nullptr, at);
}
template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count,
                                ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::copy_out("DataCopy", dst.view(), src.view(), {1, uint64_t(count) * sizeof(T), 0, 0}, false, at);
}
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count,
                                ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::copy_local("DataCopy", dst.view(), src.view(), {1, uint64_t(count) * sizeof(T), 0, 0}, at);
}
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params,
                                ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::copy_in("DataCopy", dst.view(), src.view(), copy_details::in_blocks(params), nullptr, at);
}
template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params,
                                ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::copy_out("DataCopy", dst.view(), src.view(), copy_details::in_blocks(params), false, at);
}
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params,
                                ophook::rt::At at = ophook::rt::At::here()) {
  const auto to = dst.view();
  ophook::rt::copy_local("DataCopy", to, src.view(), copy_details::in_blocks_of(to.memory, params), at);
}
// A bias of half is float in the table of C2; blockLen counts what is read.
template <typename T, typename U>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& params,
                                ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(std::is_same_v<T, float> && std::is_same_v<U, half>,
                "DataCopy of a bias: half to float, or one type (L1ToBiasTable-Buffer)");
  ophook::rt::copy_local("DataCopy", dst.view(), src.view(), copy_details::in_blocks(params, 64, 64), at);
}

// What is computed on the way from L0C to UB, which only cores with both units have; on other routes, as the page says,
// the copy is the one without it.
enum class DeqScale : uint8_t { DEQ_NONE, DEQ16, VDEQ16 };
struct DataCopyEnhancedParams {
  BlockMode blockMode = BlockMode::BLOCK_MODE_NORMAL;
  DeqScale deqScale = DeqScale::DEQ_NONE;
  uint64_t deqValue = 0;
  uint8_t sidStoreMode = 0;
  bool isRelu = false;
  pad_t padMode = pad_t::PAD_NONE;
  uint64_t padValue = 0;
  uint64_t deqTensorAddr = 0;
};
template <typename To, typename From>
__aicore__ inline auto DataCopy(const To& dst, const From& src, const DataCopyParams& params,
                                const DataCopyEnhancedParams&, ophook::rt::At at = ophook::rt::At::here())
    -> decltype(DataCopy(dst, src, params, at)) {
  DataCopy(dst, src, params, at);
}
// CO1 to CO2: lengths, and gaps in CO1, count matrices of 16 by 16.
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params,
                                const DataCopyEnhancedParams& on_the_way, ophook::rt::At at = ophook::rt::At::here()) {
  constexpr uint64_t square = 16 * 16 * sizeof(T);
  if (!ophook::rt::leaves_l0c(src.view())) return DataCopy(dst, src, params, at);
  ophook::rt::copy_product(
      dst.view(), src.view(),
      {params.blockCount, params.blockLen * square, params.srcStride * square, params.dstStride * uint64_t{32}},
      int(on_the_way.blockMode), int(on_the_way.deqScale), on_the_way.isRelu, at);
}

// Parts of a matrix of several dimensions, from startIndex to endIndex: in the innermost one pieces of burstLen blocks
// with stride elements between them, in the others every (stride + 1)-th.
struct SliceInfo {
  uint32_t startIndex = 0, endIndex = 0, stride = 0, burstLen = 0, shapeValue = 0;
};
namespace copy_details {
// Where each piece begins, in elements.
inline std::vector<uint64_t> pieces(const SliceInfo slices[], uint32_t dims, uint64_t burst) {
  std::vector<uint64_t> starts{0};
  uint64_t row = 1;
  for (uint32_t d = 0; d < dims; ++d) {
    const SliceInfo& s = slices[d];
    const uint64_t step = d ? uint64_t(s.stride) + 1 : burst + s.stride;
    std::vector<uint64_t> all;
    for (uint64_t i = s.startIndex; i <= s.endIndex; i += step)
      for (const uint64_t start : starts) all.push_back(start + i * row);
    starts = std::move(all), row *= s.shapeValue;
  }
  return starts;
}
template <typename F>
void slices(const SliceInfo to[], const SliceInfo from[], uint32_t dims, uint32_t size, ophook::rt::At at, F copy) {
  const uint64_t burst = uint64_t(from[0].burstLen) * 32 / size;
  if (!dims || dims > 8 || !burst || from[0].burstLen != to[0].burstLen)
    return ophook::rt::refuse("DataCopy", "slices have 1 to 8 dimensions, and pieces as long on both sides", at);
  const auto starts = pieces(from, dims, burst), ends = pieces(to, dims, burst);
  if (starts.size() != ends.size())
    return ophook::rt::refuse("DataCopy", "the slices of both sides have different sizes", at);
  for (size_t i = 0; i < starts.size(); ++i) copy(ends[i], starts[i], burst * size);
}
}  // namespace copy_details
template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const SliceInfo dstSliceInfo[],
                                const SliceInfo srcSliceInfo[], const uint32_t dimValue = 1,
                                ophook::rt::At at = ophook::rt::At::here()) {
  copy_details::slices(
      dstSliceInfo, srcSliceInfo, dimValue, sizeof(T), at, [&](uint64_t to, uint64_t from, uint64_t bytes) {
        ophook::rt::copy_in("DataCopy", dst[uint32_t(to)].view(), src[from].view(), {1, bytes, 0, 0}, nullptr, at);
      });
}
template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const SliceInfo dstSliceInfo[],
                                const SliceInfo srcSliceInfo[], const uint32_t dimValue = 1,
                                ophook::rt::At at = ophook::rt::At::here()) {
  copy_details::slices(
      dstSliceInfo, srcSliceInfo, dimValue, sizeof(T), at, [&](uint64_t to, uint64_t from, uint64_t bytes) {
        ophook::rt::copy_out("DataCopy", dst[to].view(), src[uint32_t(from)].view(), {1, bytes, 0, 0}, false, at);
      });
}

#if __NPU_ARCH__ == 3510
enum class PaddingMode : uint8_t { Normal = 0, Compact };
#define OPHOOK_PADDED template <typename T, PaddingMode mode = PaddingMode::Normal>
#define OPHOOK_COMPACT mode == PaddingMode::Compact

struct LoopModeParams {
  uint32_t loop1Size = 0, loop2Size = 0;
  uint64_t loop1SrcStride = 0, loop1DstStride = 0, loop2SrcStride = 0, loop2DstStride = 0;
};
enum class DataCopyMVType : uint8_t { UB_TO_OUT = 0, OUT_TO_UB = 1 };
__aicore__ inline void SetLoopModePara(const LoopModeParams& loopParams, DataCopyMVType type,
                                       ophook::rt::At at = ophook::rt::At::here()) {
  const bool in = type == DataCopyMVType::OUT_TO_UB;
  const uint64_t sources[] = {loopParams.loop1SrcStride, loopParams.loop2SrcStride};
  const uint64_t ends[] = {loopParams.loop1DstStride, loopParams.loop2DstStride};
  ophook::rt::CopyLoops loops{{loopParams.loop1Size, loopParams.loop2Size}};
  for (int i = 0; i < 2; ++i) {
    loops.local[i] = in ? ends[i] : sources[i], loops.global[i] = in ? sources[i] : ends[i];
    if (loops.size[i] >= 1u << 21 || loops.local[i] >= 1u << 21 || loops.local[i] % 32 || loops.global[i] >= 1ull << 40)
      return ophook::rt::refuse("SetLoopModePara",
                                "sizes and strides in UB are below 2^21, those also multiples of 32 bytes; strides in "
                                "global memory below 2^40",
                                at);
  }
  ophook::rt::copy_loops(in) = loops;
}
__aicore__ inline void ResetLoopModePara(DataCopyMVType type) {
  ophook::rt::copy_loops(type == DataCopyMVType::OUT_TO_UB) = {};
}
#else
#define OPHOOK_PADDED template <typename T>
#define OPHOOK_COMPACT false
#endif

// Lengths are in bytes; gaps are in bytes on the side of device memory and in 32-byte blocks on the other.
OPHOOK_PADDED
__aicore__ inline void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                                   const DataCopyExtParams& params, const DataCopyPadExtParams<T>& pad,
                                   ophook::rt::At at = ophook::rt::At::here()) {
  copy_details::padded_in(
      dst.view(), src.view(),
      {params.blockCount, params.blockLen, uint64_t(params.srcStride), uint64_t(params.dstStride) * 32, OPHOOK_COMPACT},
      {pad.isPad, pad.leftPadding, pad.rightPadding, copy_details::bits_of(T(pad.paddingValue))}, at);
}
OPHOOK_PADDED
__aicore__ inline void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params,
                                   const DataCopyPadParams& pad, ophook::rt::At at = ophook::rt::At::here()) {
  copy_details::padded_in(
      dst.view(), src.view(),
      {params.blockCount, params.blockLen, uint64_t(params.srcStride), uint64_t(params.dstStride) * 32, OPHOOK_COMPACT},
      {pad.isPad, pad.leftPadding, pad.rightPadding, pad.paddingValue}, at);
}
OPHOOK_PADDED
__aicore__ inline void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                                   const DataCopyExtParams& params, ophook::rt::At at = ophook::rt::At::here()) {
  copy_details::padded_out(
      dst.view(), src.view(),
      {params.blockCount, params.blockLen, uint64_t(params.srcStride) * 32, uint64_t(params.dstStride), OPHOOK_COMPACT},
      at);
}
OPHOOK_PADDED
__aicore__ inline void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params,
                                   ophook::rt::At at = ophook::rt::At::here()) {
  copy_details::padded_out(
      dst.view(), src.view(),
      {params.blockCount, params.blockLen, uint64_t(params.srcStride) * 32, uint64_t(params.dstStride), OPHOOK_COMPACT},
      at);
}
#undef OPHOOK_PADDED
#undef OPHOOK_COMPACT

// From NZ, columns of blocks that are 16 elements wide, to rows: the vendor's own makes it of copies, too.
struct Nz2NdParamsFull {
  Nz2NdParamsFull() = default;
  Nz2NdParamsFull(uint16_t matrices, uint16_t rows, uint16_t columns, uint16_t next_src, uint16_t next_column,
                  uint16_t next_row, uint16_t next_dst)
      : ndNum(matrices),
        nValue(rows),
        dValue(columns),
        srcNdMatrixStride(next_src),
        srcNStride(next_column),
        dstDStride(next_row),
        dstNdMatrixStride(next_dst) {}
  uint16_t ndNum = 0, nValue = 0, dValue = 0;
  uint16_t srcNdMatrixStride = 0;                  // 256 elements
  uint16_t srcNStride = 0;                         // 16 elements
  uint16_t dstDStride = 0, dstNdMatrixStride = 0;  // elements
};
template <typename T>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const Nz2NdParamsFull& p,
                                ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "DataCopy with Nz2NdParamsFull: 16 or 32 bits");
  if (p.ndNum > 4095 || !p.nValue || p.nValue > 8192 || !p.dValue || p.dValue > 8192 || p.dValue % 16 ||
      !p.srcNdMatrixStride || p.srcNdMatrixStride > 512 || p.srcNStride > 4096 || !p.dstDStride || !p.dstNdMatrixStride)
    return ophook::rt::refuse("DataCopy",
                              "ndNum is 0 to 4095, nValue 1 to 8192, dValue a multiple of 16 up to 8192, "
                              "srcNdMatrixStride 1 to 512, srcNStride 0 to 4096, dstDStride and dstNdMatrixStride from "
                              "1 on",
                              at);
  constexpr uint64_t kSize = sizeof(T), kWidth = 16 * kSize;
  for (uint64_t matrix = 0; matrix < p.ndNum; ++matrix)
    for (uint64_t column = 0; column < p.dValue / 16u; ++column)
      ophook::rt::copy_out(
          "DataCopy", copy_details::later(dst.view(), (matrix * p.dstNdMatrixStride + column * 16) * kSize),
          copy_details::later(src.view(), (matrix * p.srcNdMatrixStride * 256 + column * p.srcNStride * 16) * kSize),
          {p.nValue, kWidth, 0, uint64_t(p.dstDStride) * kSize - kWidth}, true, at);
}

template <typename T, TPosition pos = TPosition::MAX>
__aicore__ inline void SetPadValue(T paddingValue) {
  static_assert(pos == TPosition::MAX || pos == TPosition::VECIN || pos == TPosition::VECOUT,
                "SetPadValue: VECIN, VECOUT or MAX");
  static_assert(!std::is_same_v<T, bool>, "SetPadValue takes no bool on an Atlas A2");
  ophook::rt::pad_value(copy_details::bits_of(paddingValue));
}
template <typename T>
__aicore__ inline void SetAtomicAdd() {
  ophook::rt::atomic(1, ophook::rt::dtype_of<T>());
}
template <typename T>
__aicore__ inline void SetAtomicMax() {
  ophook::rt::atomic(2, ophook::rt::dtype_of<T>());
}
template <typename T>
__aicore__ inline void SetAtomicMin() {
  ophook::rt::atomic(3, ophook::rt::dtype_of<T>());
}
// The type alone: what is done, SetAtomicAdd and its kind have said.
template <typename T>
__aicore__ inline void SetAtomicType() {
  static_assert(std::is_same_v<T, int8_t> || std::is_same_v<T, int16_t> || std::is_same_v<T, half> ||
                    std::is_same_v<T, bfloat16_t> || std::is_same_v<T, int32_t> || std::is_same_v<T, float>,
                "SetAtomicType: int8_t, int16_t, half, bfloat16_t, int32_t or float (SetAtomicType.md)");
  ophook::rt::atomic(-1, ophook::rt::dtype_of<T>());
}
enum class AtomicDtype { ATOMIC_NONE = 0, ATOMIC_F32, ATOMIC_F16, ATOMIC_S16, ATOMIC_S32, ATOMIC_S8, ATOMIC_BF16 };
enum class AtomicOp { ATOMIC_SUM = 0 };
namespace copy_details {
constexpr ophook::rt::Dtype kAtomic[] = {ophook::rt::Dtype::other, ophook::rt::Dtype::f32, ophook::rt::Dtype::f16,
                                         ophook::rt::Dtype::i16,   ophook::rt::Dtype::i32, ophook::rt::Dtype::i8,
                                         ophook::rt::Dtype::bf16};
}  // namespace copy_details
template <AtomicDtype type, AtomicOp op>
__aicore__ inline void SetStoreAtomicConfig() {
  ophook::rt::atomic(type == AtomicDtype::ATOMIC_NONE ? 0 : 1, copy_details::kAtomic[int(type)]);
}
__aicore__ inline void GetStoreAtomicConfig(uint16_t& atomicType, uint16_t& atomicOp) {
  const ophook::rt::Dtype now = ophook::rt::atomic_type();
  atomicType = atomicOp = 0;
  for (uint16_t i = 1; i < 7; ++i)
    if (copy_details::kAtomic[i] == now) atomicType = i;
}
__aicore__ inline void DisableDmaAtomic() { ophook::rt::atomic(0, ophook::rt::Dtype::other); }
__aicore__ inline void SetAtomicNone() { ophook::rt::atomic(0, ophook::rt::Dtype::other); }

#if __NPU_ARCH__ == 3510
#define OPHOOK_CACHED static_assert(true)
#else
#define OPHOOK_CACHED                                \
  static_assert(target != DcciDst::CACHELINE_ATOMIC, \
                "DataCacheCleanAndInvalid: an Atlas A2 has no CACHELINE_ATOMIC (DataCacheCleanAndInvalid.md)")
#endif
// A core's cache holds no values of its own here, but what it has written back and fetched anew orders cores.
template <typename T, CacheLine line, DcciDst target = DcciDst::CACHELINE_OUT>
__aicore__ inline void DataCacheCleanAndInvalid(const GlobalTensor<T>& dst,
                                                ophook::rt::At at = ophook::rt::At::here()) {
  OPHOOK_CACHED;
  if (target != DcciDst::CACHELINE_UB) ophook::rt::cache_clean(dst.view(), line == CacheLine::ENTIRE_DATA_CACHE, at);
}
template <typename T, CacheLine line, DcciDst target>
__aicore__ inline void DataCacheCleanAndInvalid(const LocalTensor<T>&) {
  OPHOOK_CACHED;
}
#undef OPHOOK_CACHED
// Instructions are the host's here, and there at once.
__aicore__ inline void ICachePreLoad(const int64_t) {}
__aicore__ inline int64_t GetICachePreloadStatus() { return 0; }
// Where a measurement on the device begins and ends.
__aicore__ inline void MetricsProfStart() {}
__aicore__ inline void MetricsProfStop() {}
template <typename T>
__aicore__ inline void DataCachePreload(const GlobalTensor<uint64_t>&, const T) {
  static_assert(std::is_integral_v<T>, "DataCachePreload: an offset in bytes");
}

}  // namespace AscendC
__aicore__ inline void icache_preload(int64_t) {}  // as sources say it that call the instruction
#define PRELOAD(len) icache_preload(len)           // as the vendor's operators say it
