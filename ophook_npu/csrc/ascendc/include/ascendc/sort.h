// Sorting: pairs of a value and its index, 8 bytes each, from the largest value to the smallest.
#pragma once

#include "advanced.h"

namespace ophook::rt {
// Groups of 32 (all of them as one where `whole`) from values and indices to pairs.
OPHOOK_RT void sort(const char* call, Local dst, Local values, Local indices, const Local* work, int32_t repeats,
                    bool whole, At at);
OPHOOK_RT void merge_sorted(Local dst, const Local* lists, const uint16_t* lengths, uint16_t valid, int32_t repeats,
                            bool suspend, uint32_t* taken, At at);
OPHOOK_RT void split_pairs(Local values, Local indices, Local pairs, int32_t repeats, At at);
OPHOOK_RT const uint32_t* last_merge();
// Of an Ascend950: values by themselves, and where each came from.
OPHOOK_RT void sort_values(Local dst, const Local* dst_index, Local src, const Local* src_index, const Local* work,
                           uint32_t count, bool descending, At at);
}  // namespace ophook::rt

namespace AscendC {

struct MrgSort4Info {
  MrgSort4Info() = default;
  MrgSort4Info(const uint16_t lengths[4], bool suspend, uint16_t valid, uint16_t repeats)
      : ifExhaustedSuspension(suspend), validBit(valid), repeatTimes(repeats) {
    for (int i = 0; i < 4; ++i) elementLengths[i] = lengths[i];
  }
  uint16_t elementLengths[4] = {};
  bool ifExhaustedSuspension = false;
  uint16_t validBit = 0;
  uint8_t repeatTimes = 1;
};
template <typename T>
struct MrgSortSrcList {
  MrgSortSrcList() = default;
  MrgSortSrcList(const LocalTensor<T>& a, const LocalTensor<T>& b, const LocalTensor<T>& c, const LocalTensor<T>& d)
      : src1(a), src2(b), src3(c), src4(d) {}
  LocalTensor<T> src1, src2, src3, src4;
};

// Elements of T that `count` pairs take.
template <typename T>
__aicore__ inline uint32_t GetSortLen(const uint32_t count) {
  return count * uint32_t(8 / sizeof(T));
}
template <typename T>
__aicore__ inline uint32_t GetSortOffset(const uint32_t offset) {
  return offset * uint32_t(8 / sizeof(T));
}

template <typename T>
__aicore__ inline void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                              const LocalTensor<AlikeT<T, uint32_t>>& src1, const int32_t repeatTime,
                              ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::sort("Sort32", dst.view(), src0.view(), src1.view(), nullptr, repeatTime, false, at);
}
template <typename T, bool isFullSort>
__aicore__ inline void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat, const LocalTensor<uint32_t>& index,
                            LocalTensor<T>& tmp, const int32_t repeatTime, ophook::rt::At at = ophook::rt::At::here()) {
  const auto work = tmp.view();
  ophook::rt::sort("Sort", dst.view(), concat.view(), index.view(), isFullSort ? &work : nullptr, repeatTime,
                   isFullSort, at);
}
// The processors here sort values and indices as they lie: nothing is put together before.
template <typename T>
__aicore__ inline void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>&, const int32_t) {
  concat = src;
}
template <typename T>
__aicore__ inline void Extract(const LocalTensor<T>& dstValue, const LocalTensor<uint32_t>& dstIndex,
                               const LocalTensor<T>& sorted, const int32_t repeatTime,
                               ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::split_pairs(dstValue.view(), dstIndex.view(), sorted.view(), repeatTime, at);
}
template <typename T, bool isExhaustedSuspension = false>
__aicore__ inline void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& sortList,
                               const uint16_t elementCountList[4], uint32_t sortedNum[4], uint16_t validBit,
                               const int32_t repeatTime, ophook::rt::At at = ophook::rt::At::here()) {
  const ophook::rt::Local lists[] = {sortList.src1.view(), sortList.src2.view(), sortList.src3.view(),
                                     sortList.src4.view()};
  ophook::rt::merge_sorted(dst.view(), lists, elementCountList, validBit, repeatTime, isExhaustedSuspension, sortedNum,
                           at);
}
template <typename T>
__aicore__ inline void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params,
                               ophook::rt::At at = ophook::rt::At::here()) {
  const ophook::rt::Local lists[] = {src.src1.view(), src.src2.view(), src.src3.view(), src.src4.view()};
  uint32_t taken[4];
  ophook::rt::merge_sorted(dst.view(), lists, params.elementLengths, params.validBit, params.repeatTimes,
                           params.ifExhaustedSuspension, taken, at);
}
// How many of each list the last MrgSort took.
__aicore__ inline void GetMrgSortResult(uint16_t& list1, uint16_t& list2, uint16_t& list3, uint16_t& list4) {
  const uint32_t* taken = ophook::rt::last_merge();
  list1 = uint16_t(taken[0]), list2 = uint16_t(taken[1]), list3 = uint16_t(taken[2]), list4 = uint16_t(taken[3]);
}

#if __NPU_ARCH__ == 3510
namespace sort_details {
using ophook::rt::At;
using ophook::rt::Local;
template <SortConfig config, typename T, typename U>
void sort(const LocalTensor<T>& dst, const Local* dst_index, const LocalTensor<T>& src, const Local* src_index,
          const Local* work, uint32_t count, At at) {
  constexpr bool merges = config.type == SortType::MERGE_SORT;
  static_assert(type_details::listed<T>("half, float") ||
                    (!merges && type_details::listed<T>("uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, "
                                                        "bfloat16_t, uint64_t, int64_t")),
                "Sort: all numbers with RADIX_SORT, half and float with MERGE_SORT");
  static_assert(type_details::listed<U>(merges ? "uint32_t" : "uint32_t, int32_t, uint64_t, int64_t"),
                "Sort: indices are of uint32_t; with RADIX_SORT also of int32_t, uint64_t or int64_t");
  if (merges && count % 32) return ophook::rt::refuse("Sort", "MERGE_SORT sorts a multiple of 32 elements", at);
  ophook::rt::sort_values(dst.view(), dst_index, src.view(), src_index, work, count, config.isDescend, at);
}
}  // namespace sort_details
// The values; and their places; and what stands at the same places. With a tensor for what lies between, or none.
#define OPHOOK_SORT(work, ...)                                                                                      \
  template <typename T, bool isReuseSource = false, SortConfig config = DEFAULT_SORT_CONFIG>                        \
  __aicore__ inline void Sort(LocalTensor<T>& dst, const LocalTensor<T>& src, __VA_ARGS__ const uint32_t calCount,  \
                              ophook::rt::At at = ophook::rt::At::here()) {                                         \
    sort_details::sort<config, T, uint32_t>(dst, nullptr, src, nullptr, work, calCount, at);                        \
  }                                                                                                                 \
  template <typename T, bool isReuseSource = false, SortConfig config = DEFAULT_SORT_CONFIG>                        \
  __aicore__ inline void Sort(LocalTensor<T>& dst, LocalTensor<uint32_t>& dstIndex, const LocalTensor<T>& src,      \
                              __VA_ARGS__ const uint32_t calCount, ophook::rt::At at = ophook::rt::At::here()) {    \
    const auto to = dstIndex.view();                                                                                \
    sort_details::sort<config, T, uint32_t>(dst, &to, src, nullptr, work, calCount, at);                            \
  }                                                                                                                 \
  template <typename T, typename U, bool isReuseSource = false, SortConfig config = DEFAULT_SORT_CONFIG>            \
  __aicore__ inline void Sort(const LocalTensor<T>& dst, const LocalTensor<U>& dstIndex, const LocalTensor<T>& src, \
                              const LocalTensor<U>& srcIndex, __VA_ARGS__ const uint32_t calCount,                  \
                              ophook::rt::At at = ophook::rt::At::here()) {                                         \
    const auto to = dstIndex.view(), from = srcIndex.view();                                                        \
    sort_details::sort<config, T, U>(dst, &to, src, &from, work, calCount, at);                                     \
  }
OPHOOK_SORT(nullptr, )
OPHOOK_SORT(advanced_details::Work(tmp), const LocalTensor<uint8_t>& tmp, )
#undef OPHOOK_SORT
#endif

}  // namespace AscendC
