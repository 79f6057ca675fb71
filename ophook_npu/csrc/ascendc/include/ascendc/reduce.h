// Reductions, comparisons, selections, and instructions that move elements within local memory.
#pragma once

#include "vector.h"

namespace ophook::rt {
enum class Fold : uint8_t { sum, max, min };
// One value (and with `index` its place, after it) of `cover.low` elements.
OPHOOK_RT void reduce(const char* call, Fold fold, Local dst, Local src, Local work, Cover cover, uint32_t src_repeat,
                      bool index, At at);
// One value for each repeat (lanes 256 / size), each block of 32 bytes (lanes 32 / size), or each pair (lanes 2).
// `order`: -1 the value, else as ReduceOrder has it; or a sum of all repeats, which last_sum tells.
constexpr int kIntoRegister = -2;
OPHOOK_RT void reduce_groups(const char* call, Fold fold, Local dst, Local src, uint32_t group, Cover cover,
                             uint32_t dst_repeat, uint32_t src_block, uint32_t src_repeat, int order, At at);
OPHOOK_RT void compare_into_register(Local a, Local b, int mode, Cover cover, Step sa, Step sb, At at);
OPHOOK_RT void read_compared(Local dst, At at);
OPHOOK_RT void set_compared(const char* call, Local src, At at);
OPHOOK_RT Scalar compared_scalar(Dtype dtype);  // what lies there as the first number
OPHOOK_RT Local compared_address();             // the bits at the address that lies there
// An empty mask is the register that Compare without a destination and set_compared write.
// The scalar stands in the place of b, or with `scalar_first` of a.
OPHOOK_RT void select(Local dst, Local mask, Local a, const Local* b, Scalar scalar, int mode, Cover cover, Step d,
                      Step sa, Step sb, At at, bool scalar_first = false);
OPHOOK_RT uint64_t last_sum();  // the bits of the last ReduceSum of the first elements of a tensor
struct Extreme {
  float value = 0;
  uint32_t index = 0;
};
OPHOOK_RT Extreme last_extreme();
OPHOOK_RT void gather_blocks(Local dst, Local src, Local offsets, uint32_t repeats, uint32_t dst_block,
                             uint32_t dst_repeat, At at);
OPHOOK_RT void gather(Local dst, Local src, Local offsets, uint32_t base, Cover cover, Step d, At at);
OPHOOK_RT void broadcast_blocks(Local dst, Local src, uint32_t repeat, uint32_t dst_block, uint32_t dst_repeat, At at);
OPHOOK_RT void copy_blocks(Local dst, Local src, Cover cover, Step d, Step s, At at);
OPHOOK_RT void ramp(const char* call, Local dst, Scalar first, Scalar step, Cover cover, Step d, At at);
OPHOOK_RT void transpose16(Local dst, Local src, At at);
constexpr uint32_t kMaskOfCore = ~0u;  // gather_mask: a repeat is as long as the mask counts, else 256 bytes
OPHOOK_RT void gather_mask(Local dst, Local src, const Local* pattern, int builtin, bool reduce_mode, uint32_t mask,
                           uint32_t block, uint32_t repeats, uint32_t repeat_stride, uint32_t pattern_stride,
                           uint64_t* count, At at);
OPHOOK_RT uint64_t last_gathered();  // how many elements the last GatherMask took
}  // namespace ophook::rt

namespace AscendC {

struct GatherMaskParams {
  GatherMaskParams() = default;
  GatherMaskParams(uint8_t block, uint16_t repeats, uint16_t repeat_stride, uint8_t pattern_stride)
      : src0BlockStride(block),
        repeatTimes(repeats),
        src0RepeatStride(repeat_stride),
        src1RepeatStride(pattern_stride) {}
  uint8_t src0BlockStride = 1;
  uint16_t repeatTimes = 0, src0RepeatStride = 8;
  uint8_t src1RepeatStride = 0;
};
struct BrcbRepeatParams {
  BrcbRepeatParams() = default;
  BrcbRepeatParams(uint16_t block, uint16_t repeat) : dstBlkStride(block), dstRepStride(repeat) {}
  uint16_t dstBlkStride = 1, dstRepStride = 8;
};

// Without isSetMask the count is what SetVectorMask set, in counter mode.
template <typename T, bool isSetMask = true>
__aicore__ inline void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,
                                 const int32_t count, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::reduce("ReduceSum", ophook::rt::Fold::sum, dst.view(), src.view(), work.view(),
                     cover::first(count, isSetMask), 8, false, at);
}
#define OPHOOK_REDUCE_REPEATS(name, fold, mask_type)                                                            \
  template <typename T>                                                                                         \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work, \
                              mask_type, const int32_t repeat, const int32_t srcRepStride,                      \
                              ophook::rt::At at = ophook::rt::At::here()) {                                     \
    ophook::rt::reduce(#name, ophook::rt::Fold::fold, dst.view(), src.view(), work.view(),                      \
                       cover::fixed(cover::of<T>(mask, repeat, true)), uint32_t(srcRepStride), false, at);      \
  }
#define OPHOOK_REDUCE_INDEX(name, fold)                                                                            \
  template <typename T>                                                                                            \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,    \
                              const int32_t count, bool calIndex = false,                                          \
                              ophook::rt::At at = ophook::rt::At::here()) {                                        \
    ophook::rt::reduce(#name, ophook::rt::Fold::fold, dst.view(), src.view(), work.view(), cover::count(count), 8, \
                       calIndex, at);                                                                              \
  }
#define OPHOOK_REDUCE_INDEX_REPEATS(name, fold, mask_type)                                                        \
  template <typename T>                                                                                           \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& work,   \
                              mask_type, const int32_t repeat, const int32_t srcRepStride, bool calIndex = false, \
                              ophook::rt::At at = ophook::rt::At::here()) {                                       \
    ophook::rt::reduce(#name, ophook::rt::Fold::fold, dst.view(), src.view(), work.view(),                        \
                       cover::fixed(cover::of<T>(mask, repeat, true)), uint32_t(srcRepStride), calIndex, at);     \
  }
OPHOOK_REDUCE_INDEX(ReduceMax, max)
OPHOOK_REDUCE_INDEX(ReduceMin, min)
#undef OPHOOK_REDUCE_INDEX

#define OPHOOK_GROUPS(name, fold, group, mask_type)                                                                  \
  template <typename T, bool isSetMask = true>                                                                       \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat, mask_type, \
                              const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,    \
                              ophook::rt::At at = ophook::rt::At::here()) {                                          \
    ophook::rt::reduce_groups(#name, ophook::rt::Fold::fold, dst.view(), src.view(), group,                          \
                              cover::of<T>(mask, repeat, isSetMask), uint32_t(dstRepStride), uint32_t(srcBlkStride), \
                              uint32_t(srcRepStride), -1, at);                                                       \
  }
#define OPHOOK_WHOLE_SUM(mask_type)                                                                                   \
  template <typename T, bool isSetMask = true>                                                                        \
  __aicore__ inline void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, mask_type,              \
                                        const int32_t repeat, const int32_t dstRepStride, const int32_t srcBlkStride, \
                                        const int32_t srcRepStride, ophook::rt::At at = ophook::rt::At::here()) {     \
    ophook::rt::reduce_groups("WholeReduceSum", ophook::rt::Fold::sum, dst.view(), src.view(), 256 / sizeof(T),       \
                              cover::of<T>(mask, repeat, isSetMask), uint32_t(dstRepStride), uint32_t(srcBlkStride),  \
                              uint32_t(srcRepStride), -1, at);                                                        \
  }
// Older: WholeReduceSum with repeat and mask the other way round, and a stride that has no effect.
#define OPHOOK_REPEAT_SUM(mask_type)                                                                                 \
  template <typename T, bool isSetMask = true>                                                                       \
  __aicore__ inline void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat, \
                                         mask_type, const int32_t, const int32_t srcBlkStride,                       \
                                         const int32_t dstRepStride, const int32_t srcRepStride,                     \
                                         ophook::rt::At at = ophook::rt::At::here()) {                               \
    WholeReduceSum<T, isSetMask>(dst, src, mask, repeat, dstRepStride, srcBlkStride, srcRepStride, at);              \
  }
#define OPHOOK_WHOLE(name, fold, mask_type)                                                                          \
  template <typename T, bool isSetMask = true>                                                                       \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, mask_type, const int32_t repeat, \
                              const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,    \
                              ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,                                    \
                              ophook::rt::At at = ophook::rt::At::here()) {                                          \
    ophook::rt::reduce_groups(#name, ophook::rt::Fold::fold, dst.view(), src.view(), 256 / sizeof(T),                \
                              cover::of<T>(mask, repeat, isSetMask), uint32_t(dstRepStride), uint32_t(srcBlkStride), \
                              uint32_t(srcRepStride), int(order), at);                                               \
  }
#define OPHOOK_EITHER_MASK(mask_type)                           \
  OPHOOK_REDUCE_REPEATS(ReduceSum, sum, mask_type)              \
  OPHOOK_REDUCE_INDEX_REPEATS(ReduceMax, max, mask_type)        \
  OPHOOK_REDUCE_INDEX_REPEATS(ReduceMin, min, mask_type)        \
  OPHOOK_GROUPS(BlockReduceSum, sum, 32 / sizeof(T), mask_type) \
  OPHOOK_GROUPS(BlockReduceMax, max, 32 / sizeof(T), mask_type) \
  OPHOOK_GROUPS(BlockReduceMin, min, 32 / sizeof(T), mask_type) \
  OPHOOK_GROUPS(PairReduceSum, sum, 2, mask_type)               \
  OPHOOK_WHOLE_SUM(mask_type)                                   \
  OPHOOK_REPEAT_SUM(mask_type)                                  \
  OPHOOK_WHOLE(WholeReduceMax, max, mask_type)                  \
  OPHOOK_WHOLE(WholeReduceMin, min, mask_type)
OPHOOK_EITHER_MASK(const int32_t mask)
OPHOOK_EITHER_MASK(const uint64_t mask[])
#undef OPHOOK_EITHER_MASK
#undef OPHOOK_GROUPS
#undef OPHOOK_WHOLE_SUM
#undef OPHOOK_REPEAT_SUM
#undef OPHOOK_WHOLE

template <typename T, typename U>
__aicore__ inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                               CMPMODE mode, uint32_t count, ophook::rt::At at = ophook::rt::At::here()) {
  const auto b = src1.view();
  ophook::rt::compare("Compare", dst.view(), src0.view(), &b, {}, int(mode), cover::count(int32_t(count)), {}, {}, at);
}
namespace cover {
// A mask of Compare and Compares has an effect on an Ascend950 alone; elsewhere they take all 256 bytes of a repeat.
template <typename T, typename M>
Cover compared(M mask, int32_t repeat, bool set) {
#if __NPU_ARCH__ == 3510
  return of(mask, repeat, set);
#else
  return fixed(lanes(256 / sizeof(T), uint32_t(repeat)));
#endif
}
}  // namespace cover
// The second puts it into the register that GetCmpMask reads.
#define OPHOOK_COMPARE(mask_type)                                                                                   \
  template <typename T, typename U, bool isSetMask = true>                                                          \
  __aicore__ inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, \
                                 CMPMODE mode, mask_type, uint8_t repeatTime, const BinaryRepeatParams& p,          \
                                 ophook::rt::At at = ophook::rt::At::here()) {                                      \
    const auto b = src1.view();                                                                                     \
    ophook::rt::compare("Compare", dst.view(), src0.view(), &b, {}, int(mode),                                      \
                        cover::compared<T>(mask, repeatTime, isSetMask), {p.src0BlkStride, p.src0RepStride},        \
                        {p.src1BlkStride, p.src1RepStride}, at);                                                    \
  }                                                                                                                 \
  template <typename T, bool isSetMask = true>                                                                      \
  __aicore__ inline void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, mask_type,   \
                                 const BinaryRepeatParams& p, ophook::rt::At at = ophook::rt::At::here()) {         \
    ophook::rt::compare_into_register(src0.view(), src1.view(), int(mode), cover::of<T>(mask, 1, isSetMask),        \
                                      {p.src0BlkStride, p.src0RepStride}, {p.src1BlkStride, p.src1RepStride}, at);  \
  }
OPHOOK_COMPARE(const uint64_t mask)
OPHOOK_COMPARE(const uint64_t mask[])
#undef OPHOOK_COMPARE
template <typename T>
__aicore__ inline void SetCmpMask(const LocalTensor<T>& src, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::set_compared("SetCmpMask", src.view(), at);
}
template <typename T>
__aicore__ inline void GetCmpMask(const LocalTensor<T>& dst, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::read_compared(dst.view(), at);
}
#define OPHOOK_COMPARES_REPEATS(name, mask_type)                                                                    \
  template <typename T, typename U, bool isSetMask = true>                                                          \
  __aicore__ inline void name(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T scalar, CMPMODE mode,  \
                              mask_type, uint8_t repeatTime, const UnaryRepeatParams& p,                            \
                              ophook::rt::At at = ophook::rt::At::here()) {                                         \
    ophook::rt::compare(#name, dst.view(), src0.view(), nullptr, ophook::rt::scalar_of(scalar), int(mode),          \
                        cover::compared<T>(mask, repeatTime, isSetMask), {p.srcBlkStride, p.srcRepStride}, {}, at); \
  }
#define OPHOOK_COMPARES(name)                                                                                      \
  template <typename T, typename U>                                                                                \
  __aicore__ inline void name(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T scalar, CMPMODE mode, \
                              uint32_t count, ophook::rt::At at = ophook::rt::At::here()) {                        \
    ophook::rt::compare(#name, dst.view(), src0.view(), nullptr, ophook::rt::scalar_of(scalar), int(mode),         \
                        cover::count(int32_t(count)), {}, {}, at);                                                 \
  }                                                                                                                \
  template <typename T, typename U, typename X, typename = IfElement<T, X>>                                        \
  __aicore__ inline void name(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const Element<X>& scalar,     \
                              CMPMODE mode, uint32_t count) {                                                      \
    const T value = scalar;                                                                                        \
    name(dst, src0, value, mode, count, scalar.at());                                                              \
  }                                                                                                                \
  OPHOOK_COMPARES_REPEATS(name, const uint64_t mask)                                                               \
  OPHOOK_COMPARES_REPEATS(name, const uint64_t mask[])
OPHOOK_COMPARES(Compares)
OPHOOK_COMPARES(CompareScalar)  // its name before CANN 8.5
#undef OPHOOK_COMPARES
#undef OPHOOK_COMPARES_REPEATS
template <typename T, typename U>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                              const LocalTensor<T>& src1, SELMODE mode, uint32_t count,
                              ophook::rt::At at = ophook::rt::At::here()) {
  const auto b = src1.view();
  ophook::rt::select(dst.view(), selMask.view(), src0.view(), &b, {}, int(mode), cover::count(int32_t(count)), {}, {},
                     {}, at);
}
template <typename T, typename U>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                              T src1, SELMODE mode, uint32_t count, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::select(dst.view(), selMask.view(), src0.view(), nullptr, ophook::rt::scalar_of(src1), int(mode),
                     cover::count(int32_t(count)), {}, {}, {}, at);
}
template <typename T, typename U, typename V, typename = IfTrait<T, V>>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                              V src1, SELMODE mode, uint32_t count, ophook::rt::At at = ophook::rt::At::here()) {
  Select<V, U>(dst.template ReinterpretCast<V>(), selMask, src0.template ReinterpretCast<V>(), src1, mode, count, at);
}
#define OPHOOK_SELECT(mask_type)                                                                                      \
  template <typename T, typename U, bool isSetMask = true>                                                            \
  __aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, \
                                const LocalTensor<T>& src1, SELMODE mode, mask_type, uint8_t repeatTime,              \
                                const BinaryRepeatParams& p, ophook::rt::At at = ophook::rt::At::here()) {            \
    const auto b = src1.view();                                                                                       \
    ophook::rt::select(dst.view(), selMask.view(), src0.view(), &b, {}, int(mode),                                    \
                       cover::of<T>(mask, repeatTime, true), {p.dstBlkStride, p.dstRepStride},                        \
                       {p.src0BlkStride, p.src0RepStride}, {p.src1BlkStride, p.src1RepStride}, at);                   \
  }                                                                                                                   \
  template <typename T, typename U, bool isSetMask = true>                                                            \
  __aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, \
                                T src1, SELMODE mode, mask_type, uint8_t repeatTime, const BinaryRepeatParams& p,     \
                                ophook::rt::At at = ophook::rt::At::here()) {                                         \
    ophook::rt::select(dst.view(), selMask.view(), src0.view(), nullptr, ophook::rt::scalar_of(src1), int(mode),      \
                       cover::of<T>(mask, repeatTime, true), {p.dstBlkStride, p.dstRepStride},                        \
                       {p.src0BlkStride, p.src0RepStride}, {}, at);                                                   \
  }                                                                                                                   \
  template <typename T, typename U, bool isSetMask = true, typename V, typename = IfTrait<T, V>>                      \
  __aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, \
                                V src1, SELMODE mode, mask_type, uint8_t repeatTime, const BinaryRepeatParams& p,     \
                                ophook::rt::At at = ophook::rt::At::here()) {                                         \
    Select<V, U, isSetMask>(dst.template ReinterpretCast<V>(), selMask, src0.template ReinterpretCast<V>(), src1,     \
                            mode, mask, repeatTime, p, at);                                                           \
  }
OPHOOK_SELECT(uint64_t mask)
OPHOOK_SELECT(uint64_t mask[])
#undef OPHOOK_SELECT
// With the mask that SetVectorMask set, and what SetCmpMask put into the register: the scalar, or which to take.
template <typename T, typename U>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
                              uint8_t repeatTime, const BinaryRepeatParams& p,
                              ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::select(dst.view(), selMask.view(), src0.view(), nullptr,
                     ophook::rt::compared_scalar(ophook::rt::dtype_of<T>()), int(SELMODE::VSEL_TENSOR_SCALAR_MODE),
                     cover::preset(repeatTime), {p.dstBlkStride, p.dstRepStride}, {p.src0BlkStride, p.src0RepStride},
                     {}, at);
}
template <typename T, SELMODE selMode>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                              uint8_t repeatTime, const BinaryRepeatParams& p,
                              ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(selMode != SELMODE::VSEL_TENSOR_SCALAR_MODE, "Select: with a scalar it takes selMask, and one tensor");
  constexpr bool by_address = selMode == SELMODE::VSEL_TENSOR_TENSOR_MODE;
  const auto b = src1.view();
  ophook::rt::select(dst.view(), by_address ? ophook::rt::compared_address() : ophook::rt::Local{}, src0.view(), &b, {},
                     int(selMode), cover::preset(repeatTime), {p.dstBlkStride, p.dstRepStride},
                     {p.src0BlkStride, p.src0RepStride}, {p.src1BlkStride, p.src1RepStride}, at);
}

template <typename T>
__aicore__ inline void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                              const LocalTensor<AlikeT<T, uint32_t>>& srcOffset, const uint32_t srcBaseAddr,
                              const uint32_t count, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::gather(dst.view(), src.view(), srcOffset.view(), srcBaseAddr, cover::count(int32_t(count)), {}, at);
}
#define OPHOOK_GATHER(mask_type)                                                                                    \
  template <typename T>                                                                                             \
  __aicore__ inline void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,                               \
                                const LocalTensor<AlikeT<T, uint32_t>>& srcOffset, const uint32_t srcBaseAddr,      \
                                mask_type, const uint8_t repeatTime, const uint16_t dstRepStride,                   \
                                ophook::rt::At at = ophook::rt::At::here()) {                                       \
    ophook::rt::gather(dst.view(), src.view(), srcOffset.view(), srcBaseAddr, cover::of<T>(mask, repeatTime, true), \
                       {1, dstRepStride}, at);                                                                      \
  }
OPHOOK_GATHER(const uint64_t mask)
OPHOOK_GATHER(const uint64_t mask[])
#undef OPHOOK_GATHER
template <typename T, typename U>
__aicore__ inline void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                                  const LocalTensor<U>& src1Pattern, const bool reduceMode, const uint32_t mask,
                                  const GatherMaskParams& p, uint64_t& rsvdCnt,
                                  ophook::rt::At at = ophook::rt::At::here()) {
  const auto pattern = src1Pattern.view();
  ophook::rt::gather_mask(dst.view(), src0.view(), &pattern, 0, reduceMode, mask, p.src0BlockStride, p.repeatTimes,
                          p.src0RepeatStride, p.src1RepeatStride, &rsvdCnt, at);
}
template <typename T>
__aicore__ inline void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t src1Pattern,
                                  const bool reduceMode, const uint32_t mask, const GatherMaskParams& p,
                                  uint64_t& rsvdCnt, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::gather_mask(dst.view(), src0.view(), nullptr, src1Pattern, reduceMode, mask, p.src0BlockStride,
                          p.repeatTimes, p.src0RepeatStride, 0, &rsvdCnt, at);
}
template <typename T>
__aicore__ inline void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t repeatTime,
                            const BrcbRepeatParams& p, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::broadcast_blocks(dst.view(), src0.view(), repeatTime, p.dstBlkStride, p.dstRepStride, at);
}
#define OPHOOK_COPY(mask_type)                                                                   \
  template <typename T, bool isSetMask = true>                                                   \
  __aicore__ inline void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, mask_type,   \
                              const uint8_t repeatTime, const CopyRepeatParams& p,               \
                              ophook::rt::At at = ophook::rt::At::here()) {                      \
    ophook::rt::copy_blocks(dst.view(), src.view(), cover::of<T>(mask, repeatTime, isSetMask),   \
                            {p.dstStride, p.dstRepeatSize}, {p.srcStride, p.srcRepeatSize}, at); \
  }
OPHOOK_COPY(const uint64_t mask)
OPHOOK_COPY(const uint64_t mask[])
#undef OPHOOK_COPY
template <typename T>
__aicore__ inline void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                 ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::transpose16(dst.view(), src.view(), at);
}
template <typename T>
__aicore__ inline void CreateVecIndex(LocalTensor<T> dst, const T& first, uint32_t count,
                                      ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::ramp("CreateVecIndex", dst.view(), ophook::rt::scalar_of(first), ophook::rt::scalar_of(T(1)),
                   cover::count(int32_t(count)), {}, at);
}
#define OPHOOK_VEC_INDEX(mask_type)                                                                           \
  template <typename T>                                                                                       \
  __aicore__ inline void CreateVecIndex(LocalTensor<T>& dst, const T& first, mask_type, uint8_t repeatTime,   \
                                        uint16_t dstBlkStride, uint8_t dstRepStride,                          \
                                        ophook::rt::At at = ophook::rt::At::here()) {                         \
    ophook::rt::ramp("CreateVecIndex", dst.view(), ophook::rt::scalar_of(first), ophook::rt::scalar_of(T(1)), \
                     cover::of<T>(mask, repeatTime, true), {dstBlkStride, dstRepStride}, at);                 \
  }
OPHOOK_VEC_INDEX(uint64_t mask)
OPHOOK_VEC_INDEX(uint64_t mask[])
#undef OPHOOK_VEC_INDEX
template <typename T>
__aicore__ inline void ArithProgression(const LocalTensor<T>& dst, const T first, const T step, const int32_t count,
                                        ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::ramp("ArithProgression", dst.view(), ophook::rt::scalar_of(first), ophook::rt::scalar_of(step),
                   cover::count(count), {}, at);
}

// What the last ReduceSum of the first elements of a tensor gave.
template <typename T>
__aicore__ inline T GetReduceRepeatSumSpr() {
  static_assert(std::is_same_v<T, half> || std::is_same_v<T, float>, "GetReduceRepeatSumSpr: half or float");
  const uint64_t bits = ophook::rt::last_sum();
  T sum;
  __builtin_memcpy(&sum, &bits, sizeof(T));
  return sum;
}
template <typename T>
__aicore__ inline T GetAccVal() {  // its name up to CANN 8.5
  return GetReduceRepeatSumSpr<T>();
}
__aicore__ inline int64_t GetAccVal() { return int64_t(ophook::rt::last_sum()); }  // no page has this form
#if __NPU_ARCH__ == 2201
// What all repeats of the last ReduceRepeat with MAX or MIN have as greatest or least, and where, as a number in the
// bits of T; of the last ReduceMax or ReduceMin the value alone: the page says that the index is not the right one,
// here ~0.
template <typename T>
__aicore__ inline void GetReduceRepeatMaxMinSpr(T& maxMinValue, T& maxMinIndex) {
  static_assert(std::is_same_v<T, half> || std::is_same_v<T, float>, "GetReduceRepeatMaxMinSpr: half or float");
  const ophook::rt::Extreme found = ophook::rt::last_extreme();
  maxMinValue = T(found.value);
  __builtin_memcpy(&maxMinIndex, &found.index, sizeof(T));
}
// Its name before CANN 9.1.
template <typename T>
__aicore__ inline void GetReduceMaxMinCount(T& maxMinValue, T& maxMinIndex) {
  GetReduceRepeatMaxMinSpr(maxMinValue, maxMinIndex);
}
#endif
struct GatherRepeatParams {
  GatherRepeatParams() = default;
  GatherRepeatParams(uint8_t block, uint8_t repeat) : dstBlkStride(block), dstRepStride(repeat) {}
  uint8_t dstBlkStride = 1, dstRepStride = 8;
};
// Blocks of 32 bytes, eight a repeat, from offsets in bytes.
template <typename T>
__aicore__ inline void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                               const LocalTensor<AlikeT<T, uint32_t>>& offset, const uint8_t repeatTime,
                               const GatherRepeatParams& p, ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(std::is_same_v<PrimT<T>, uint16_t> || std::is_same_v<PrimT<T>, uint32_t>,
                "Gatherb on an Atlas A2 or A3: uint16_t or uint32_t");
  ophook::rt::gather_blocks(dst.view(), src.view(), offset.view(), repeatTime, p.dstBlkStride ? p.dstBlkStride : 1,
                            p.dstRepStride, at);
}

// The names that take the operation as an argument of the template: of a repeat, of each block of 32 bytes, of pairs.
template <ReduceType type, typename T, typename U, bool isSetMask = true, typename Mask>
__aicore__ inline void ReduceRepeat(const LocalTensor<T>& dst, const LocalTensor<U>& src, const Mask& mask,
                                    const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,
                                    const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                                    ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(std::is_same_v<T, U>, "ReduceRepeat: source and destination have one type");
  if constexpr (type == ReduceType::SUM)
    WholeReduceSum<T, isSetMask>(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, at);
  else if constexpr (type == ReduceType::MAX)
    WholeReduceMax<T, isSetMask>(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, order, at);
  else WholeReduceMin<T, isSetMask>(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, order, at);
}
template <ReduceType type, typename T, typename U, bool isSetMask = true, typename Mask>
__aicore__ inline void ReduceDataBlock(const LocalTensor<T>& dst, const LocalTensor<U>& src, const Mask& mask,
                                       const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,
                                       const int32_t srcRepStride, ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(std::is_same_v<T, U>, "ReduceDataBlock: source and destination have one type");
  if constexpr (type == ReduceType::SUM)
    BlockReduceSum<T, isSetMask>(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, at);
  else if constexpr (type == ReduceType::MAX)
    BlockReduceMax<T, isSetMask>(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, at);
  else BlockReduceMin<T, isSetMask>(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, at);
}
template <ReduceType type, typename T, typename U, bool isSetMask = true, typename Mask>
__aicore__ inline void ReducePairElem(const LocalTensor<T>& dst, const LocalTensor<U>& src, const Mask& mask,
                                      const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,
                                      const int32_t srcRepStride, ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(std::is_same_v<T, U> && type == ReduceType::SUM, "ReducePairElem: sums, of one type");
  PairReduceSum<T, isSetMask>(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, at);
}

}  // namespace AscendC
