// Functions of the scalar unit.
#pragma once

#include <bit>

#include "types.h"

namespace AscendC {

template <int countValue>
__aicore__ constexpr inline int64_t GetBitCount(uint64_t valueIn) {
  static_assert(countValue == 0 || countValue == 1, "GetBitCount: the value is 0 or 1");
  return std::popcount(countValue ? valueIn : ~valueIn);
}
__aicore__ constexpr inline int64_t CountLeadingZero(uint64_t valueIn) { return std::countl_zero(valueIn); }
// Of the bits below the sign, how many in a row are as the sign; -1 where all are.
__aicore__ constexpr inline int64_t CountBitsCntSameAsSignBit(int64_t valueIn) {
  const auto bits = static_cast<uint64_t>(valueIn < 0 ? ~valueIn : valueIn);
  return bits ? std::countl_zero(bits) - 1 : -1;
}
// The place of the first bit from the lowest on; -1: there is none.
template <int countValue>
__aicore__ constexpr inline int64_t GetSFFValue(uint64_t valueIn) {
  static_assert(countValue == 0 || countValue == 1, "GetSFFValue: the value is 0 or 1");
  const uint64_t bits = countValue ? valueIn : ~valueIn;
  return bits ? std::countr_zero(bits) : -1;
}

}  // namespace AscendC
