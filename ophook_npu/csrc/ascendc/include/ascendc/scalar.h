// Functions of the scalar unit.
#pragma once

#include <cmath>
#include <cstdlib>

#include "types.h"

using std::abs;  // kernels call it without a namespace for floats, of which C's own makes whole numbers

// The compiler's: x with one bit cleared or set.
__aicore__ inline uint64_t sbitset0(uint64_t x, int64_t bit) { return x & ~(uint64_t{1} << (bit & 63)); }
__aicore__ inline uint64_t sbitset1(uint64_t x, int64_t bit) { return x | uint64_t{1} << (bit & 63); }

namespace AscendC {

template <int countValue>
__aicore__ constexpr inline int64_t GetBitCount(uint64_t valueIn) {
  static_assert(countValue == 0 || countValue == 1, "GetBitCount: the value is 0 or 1");
  return __builtin_popcountll(countValue ? valueIn : ~valueIn);
}
__aicore__ constexpr inline int64_t CountLeadingZero(uint64_t valueIn) {
  return valueIn ? __builtin_clzll(valueIn) : 64;
}
// Of the bits below the sign, how many in a row are as the sign; -1 where all are.
__aicore__ constexpr inline int64_t CountBitsCntSameAsSignBit(int64_t valueIn) {
  const auto bits = static_cast<uint64_t>(valueIn < 0 ? ~valueIn : valueIn);
  return bits ? __builtin_clzll(bits) - 1 : -1;
}
// The place of the first bit from the lowest on; -1: there is none.
template <int countValue>
__aicore__ constexpr inline int64_t GetSFFValue(uint64_t valueIn) {
  static_assert(countValue == 0 || countValue == 1, "GetSFFValue: the value is 0 or 1");
  const uint64_t bits = countValue ? valueIn : ~valueIn;
  return bits ? __builtin_ctzll(bits) : -1;
}

// Their names up to CANN 8.5.
template <int countValue>
__aicore__ constexpr inline int64_t ScalarGetCountOfValue(uint64_t valueIn) {
  return GetBitCount<countValue>(valueIn);
}
__aicore__ constexpr inline int64_t ScalarCountLeadingZero(uint64_t valueIn) { return CountLeadingZero(valueIn); }
template <int countValue>
__aicore__ constexpr inline int64_t ScalarGetSFFValue(uint64_t valueIn) {
  return GetSFFValue<countValue>(valueIn);
}

}  // namespace AscendC

// The instructions, as the vendor's programs call them; a kernel's own functions of these names go before them.
#define OPHOOK_INSTRUCTION(name, Type, function)                                                                   \
  template <typename T, typename... None>                                                                          \
  __aicore__ constexpr inline std::enable_if_t<!sizeof...(None) && std::is_integral_v<T>, int64_t> name(T value,   \
                                                                                                        None...) { \
    return AscendC::function(Type(value));                                                                         \
  }
OPHOOK_INSTRUCTION(clz, uint64_t, CountLeadingZero)
OPHOOK_INSTRUCTION(sflbits, int64_t, CountBitsCntSameAsSignBit)
OPHOOK_INSTRUCTION(bcnt0, uint64_t, GetBitCount<0>)
OPHOOK_INSTRUCTION(bcnt1, uint64_t, GetBitCount<1>)
OPHOOK_INSTRUCTION(sff0, uint64_t, GetSFFValue<0>)
OPHOOK_INSTRUCTION(sff1, uint64_t, GetSFFValue<1>)
#undef OPHOOK_INSTRUCTION
