// What Ascend C adds to C++: address-space and function qualifiers, half and bfloat16_t.
//
// On the device the qualifiers choose an address space; here all memory is the host's and the checks are the runtime's.
// half converts to and from float by itself, as on the device. bfloat16_t does not: it has no arithmetic there, and a
// kernel that adds two of them does not compile here either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#define __aicore__
#define __forceinline__ inline __attribute__((always_inline))
#define __host_aicore__
#define __gm__
// Where the source is translated (ophook_npu.kernel.build), an array of one of these lies in a local memory.
#if !defined(OPHOOK_ASC_PROGRAM) && !defined(OPHOOK_OF_THREADS)
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#endif
#define __biasbuf__  // which has no arrays
#define __local_mem__ __ubuf__
#define __sync_noalias__
#ifndef OPHOOK_ASC_PROGRAM  // in one that launches its own kernels they stay until the launches are read
#define __global__ __attribute__((visibility("default")))
#define __vector__
#define __cube__
#define __mix__(cubes, vectors)
#endif
#define __kfc_workspace__
#define __inout_pipe__(pipe)
#define __force_inline__ inline
#define __VEC_SCOPE__  // a block of vector functions, as the vendor's own operators mark it

// Sources ask for the architecture: Atlas A2 and A3.
#ifndef __CCE_AICORE__
#define __CCE_AICORE__ 220
#endif
#include "ascendc/architecture.h"
#include "ascendc/c_numbers_8.h"
#if defined(OPHOOK_ASC_PROGRAM) && (__NPU_ARCH__ == 3510 || defined(OPHOOK_MARKED))
// There kernels of threads and others stand in one source: kernel/threads.py knows the others by this. And sim/sides.py
// tells the AI core's functions from the host's.
#undef __aicore__
#define __aicore__ __attribute__((ophook_aicore))
#endif

#define GM_ADDR __gm__ uint8_t*

namespace ophook::rt {

// Round to nearest even. Subnormals are kept.
constexpr uint16_t half_bits(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to 65536 or more
  if (magnitude < 0x38800000u) {                                               // below the smallest normal number
    if (magnitude < 0x33000000u) return static_cast<uint16_t>(sign);
    const uint32_t shift = 126u - (magnitude >> 23);
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1), middle = 1u << (shift - 1);
    return static_cast<uint16_t>(sign | (kept + (rest > middle || (rest == middle && (kept & 1)))));
  }
  const uint32_t rebased = magnitude - 0x38000000u;
  return static_cast<uint16_t>(sign | ((rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13));
}
constexpr float half_value(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 0x1fu, mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return __builtin_bit_cast(float, sign | 0x7f800000u | (mantissa << 13));
  if (exponent) return __builtin_bit_cast(float, sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float small = static_cast<float>(mantissa) * 5.9604644775390625e-8f;  // 2^-24
  return sign ? -small : small;
}
constexpr uint16_t bfloat16_bits(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
constexpr float bfloat16_value(uint16_t bits) { return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16); }

}  // namespace ophook::rt

struct half {
  half() = default;
  constexpr half(float value) : bits(ophook::rt::half_bits(value)) {}
  constexpr half(double value) : half(static_cast<float>(value)) {}
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
  constexpr half(T value) : half(static_cast<float>(value)) {}
  constexpr operator float() const { return ophook::rt::half_value(bits); }
  constexpr half& operator+=(half other) { return *this = half(float(*this) + float(other)); }
  constexpr half& operator-=(half other) { return *this = half(float(*this) - float(other)); }
  constexpr half& operator*=(half other) { return *this = half(float(*this) * float(other)); }
  constexpr half& operator/=(half other) { return *this = half(float(*this) / float(other)); }
  uint16_t bits;
};

struct bfloat16_t {
  bfloat16_t() = default;
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  constexpr bfloat16_t(T value) : bits(ophook::rt::bfloat16_bits(static_cast<float>(value))) {}
  constexpr bfloat16_t(half value) : bfloat16_t(float(value)) {}
  constexpr operator float() const { return __builtin_bit_cast(float, uint32_t(bits) << 16); }
  uint16_t bits;
};
#define __bf16 bfloat16_t  // the compiler's own names of both
#define __fp16 half
#if __NPU_ARCH__ == 3510  // whose compiler computes with it
template <typename T>
using OphookBfloat16 = std::enable_if_t<std::is_same_v<T, bfloat16_t>, T>;  // and nothing that becomes one
#define OPHOOK_COMPUTED(op)                                            \
  template <typename T>                                                \
  constexpr OphookBfloat16<T> operator op(T a, T b) {                  \
    return T(float(a) op float(b));                                    \
  }                                                                    \
  template <typename T>                                                \
  constexpr OphookBfloat16<T>& operator op## = (T & a, bfloat16_t b) { \
    return a = a op b;                                                 \
  }
OPHOOK_COMPUTED(+)
OPHOOK_COMPUTED(-)
OPHOOK_COMPUTED(*)
OPHOOK_COMPUTED(/)
#undef OPHOOK_COMPUTED
template <typename T>
constexpr OphookBfloat16<T> operator-(T a) {
  return T(-float(a));
}
#else
// The device's compiler converts it, and computes nothing with it.
#define OPHOOK_NOT_COMPUTED(op)                                                                          \
  template <typename A, typename B,                                                                      \
            typename = std::enable_if_t<std::is_same_v<A, bfloat16_t> || std::is_same_v<B, bfloat16_t>>> \
  void operator op(A, B) = delete;
OPHOOK_NOT_COMPUTED(+)
OPHOOK_NOT_COMPUTED(-)
OPHOOK_NOT_COMPUTED(*)
OPHOOK_NOT_COMPUTED(/)
OPHOOK_NOT_COMPUTED(<)
OPHOOK_NOT_COMPUTED(>)
OPHOOK_NOT_COMPUTED(<=)
OPHOOK_NOT_COMPUTED(>=)
OPHOOK_NOT_COMPUTED(==)
OPHOOK_NOT_COMPUTED(!=)
#undef OPHOOK_NOT_COMPUTED
#endif

struct int4b_t {
  int4b_t() = default;
  constexpr int4b_t(int value) : bits(static_cast<int8_t>(value)) {}
  int8_t bits;
};
// A constant structure from its bytes: how a kernel that is compiled ahead of time has its tiling (AOT compilation).
template <typename T>
constexpr T convert_from_bytes(const uint8_t* bytes) {
  struct {
    uint8_t values[sizeof(T)];
  } copy{};
  for (size_t i = 0; i < sizeof(T); ++i) copy.values[i] = bytes[i];
  return __builtin_bit_cast(T, copy);
}

namespace AscendC {
using ::int4b_t;
// Templates for several products name them on each.
using ::fp4x2_e1m2_t, ::fp4x2_e2m1_t, ::fp8_e4m3fn_t, ::fp8_e5m2_t, ::fp8_e8m0_t, ::hifloat8_t;
}  // namespace AscendC
using float32_t = float;
using float16_t = half;

// Hints of the device's compiler, which are functions there. On the host side headers have macros of these names, which
// the parentheses keep out.
constexpr bool(likely)(bool condition) { return condition; }
constexpr bool(unlikely)(bool condition) { return condition; }

// Of two numbers, as the device's compiler has them without a namespace. Templates of any number of parameters, so that
// a kernel's own functions and templates with these names go before them.
template <typename A, typename B, typename... None>
using OphookLesser =
    std::enable_if_t<!sizeof...(None) && std::is_arithmetic_v<A> && std::is_arithmetic_v<B>, std::common_type_t<A, B>>;
template <typename A, typename B, typename... None>
constexpr OphookLesser<A, B, None...> min(A a, B b, None...) {
  using T = std::common_type_t<A, B>;
  return T(a) < T(b) ? T(a) : T(b);
}
template <typename A, typename B, typename... None>
constexpr OphookLesser<A, B, None...> max(A a, B b, None...) {
  using T = std::common_type_t<A, B>;
  return T(a) < T(b) ? T(b) : T(a);
}

namespace AscendC {

namespace trait_details {
template <typename T, typename = void>
struct Value {
  using Type = T;
};
template <typename T>
struct Value<T, std::void_t<typename T::LiteType, typename T::LiteLayoutType>> {
  using Type = typename T::LiteType;
};
}  // namespace trait_details
// Of a tensor that is described by a TensorTrait: the type of its elements. Else the type itself.
template <typename T>
using PrimT = typename trait_details::Value<T>::Type;

}  // namespace AscendC
