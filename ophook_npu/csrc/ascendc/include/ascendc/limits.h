// What an Ascend 950 has for scalars: the limits of data types, atomic operations on global memory, and waiting.
#pragma once

#include <limits>

#include "sync.h"
#include "vector.h"

namespace AscendC {

template <int count = 1>  // cycles; a kernel takes none here
__aicore__ inline void Nop() {}

// Of floats by their bits; an instruction fills a tensor with each.
template <typename T>
class NumericLimits {
  static constexpr bool real = std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t> || std::is_same_v<T, float>;
  static_assert(real || (std::is_integral_v<T> && sizeof(T) <= 4 && !std::is_same_v<T, bool>),
                "NumericLimits: whole numbers of 8 to 32 bits, half, bfloat16_t and float");
  static constexpr T value(uint16_t of_half, uint16_t of_bfloat16, uint32_t of_float) {
    if constexpr (std::is_same_v<T, float>) return __builtin_bit_cast(float, of_float);
    else return __builtin_bit_cast(T, std::is_same_v<T, half> ? of_half : of_bfloat16);
  }

 public:
#define OPHOOK_LIMIT(Name, whole, of_half, of_bfloat16, of_float)                                          \
  constexpr __aicore__ static inline T Name() {                                                            \
    static_assert(real || whole != 0, "NumericLimits: " #Name " is there for half, bfloat16_t and float"); \
    if constexpr (real) return value(of_half, of_bfloat16, of_float);                                      \
    else return whole < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();                 \
  }                                                                                                        \
  __aicore__ static inline void Name(const LocalTensor<T>& dstLocal, uint32_t count) {                     \
    Duplicate(dstLocal, Name(), int32_t(count));                                                           \
  }
  OPHOOK_LIMIT(Max, 1, 0x7bff, 0x7f7f, 0x7f7fffff)
  OPHOOK_LIMIT(Min, -1, 0x0400, 0x0080, 0x00800000)
  OPHOOK_LIMIT(Lowest, -1, 0xfbff, 0xff7f, 0xff7fffff)
  OPHOOK_LIMIT(Infinity, 0, 0x7c00, 0x7f80, 0x7f800000)
  OPHOOK_LIMIT(NegativeInfinity, 0, 0xfc00, 0xff80, 0xff800000)
  OPHOOK_LIMIT(QuietNaN, 0, 0x7e00, 0x7fc0, 0x7fc00000)
  OPHOOK_LIMIT(SignalingNaN, 0, 0x7d00, 0x7fa0, 0x7fa00000)
  OPHOOK_LIMIT(DeNormMin, 0, 0x0001, 0x0001, 0x00000001)
#undef OPHOOK_LIMIT
};

namespace atomic_details {
template <typename T, typename F>
T changed(const char* call, __gm__ T* address, F now, ophook::rt::At at) {
  const ophook::rt::Global place{reinterpret_cast<uint8_t*>(address), sizeof(T), ophook::rt::dtype_of<T>()};
  T before;
  ophook::rt::read_global_uncached(call, place, sizeof(T), &before, at);  // no other core runs before the write
  const T after = now(before);
  ophook::rt::write_global_uncached(call, place, sizeof(T), &after, at);
  return before;
}
template <typename T, typename... Types>
constexpr bool one_of = (std::is_same_v<T, Types> || ...);
template <typename T>
constexpr bool is_counted = one_of<T, int32_t, uint32_t, float, int64_t, uint64_t>;
template <typename T>
constexpr bool is_word = one_of<T, uint32_t, uint64_t>;
}  // namespace atomic_details
// Each gives what was there before.
#define OPHOOK_ATOMIC(Name, kind, types, after)                                                                \
  template <typename T>                                                                                        \
  __aicore__ inline T Name(__gm__ T* address, T value, ophook::rt::At at = ophook::rt::At::here()) {           \
    static_assert(atomic_details::kind<T>, #Name " takes " types);                                             \
    return atomic_details::changed(#Name, address, [=]([[maybe_unused]] T before) -> T { return after; }, at); \
  }
OPHOOK_ATOMIC(AtomicAdd, is_counted, "int32_t, uint32_t, float, int64_t and uint64_t", T(before + value))
OPHOOK_ATOMIC(AtomicMax, is_counted, "int32_t, uint32_t, float, int64_t and uint64_t", before < value ? value : before)
OPHOOK_ATOMIC(AtomicMin, is_counted, "int32_t, uint32_t, float, int64_t and uint64_t", value < before ? value : before)
OPHOOK_ATOMIC(AtomicExch, is_word, "uint32_t and uint64_t", value)
#undef OPHOOK_ATOMIC
template <typename T>
__aicore__ inline T AtomicCas(__gm__ T* address, T value1, T value2, ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(atomic_details::is_word<T>, "AtomicCas takes uint32_t and uint64_t");
  return atomic_details::changed(
      "AtomicCas", address, [=](T before) { return before == value1 ? value2 : before; }, at);
}

}  // namespace AscendC
