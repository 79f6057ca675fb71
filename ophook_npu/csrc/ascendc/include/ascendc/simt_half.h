// Functions of half, bfloat16_t and pairs of them for threads.
#pragma once

#include "simt_device.h"
#include "simt_math.h"

#define ASCRT_INF_FP16 __ushort_as_half(0x7c00U)
#define ASCRT_MAX_NORMAL_FP16 __ushort_as_half(0x7bffU)
#define ASCRT_MIN_DENORM_FP16 __ushort_as_half(0x0001U)
#define ASCRT_NAN_FP16 __ushort_as_half(0x7fffU)
#define ASCRT_NEG_ZERO_FP16 __ushort_as_half(0x8000U)
#define ASCRT_ONE_FP16 __ushort_as_half(0x3c00U)
#define ASCRT_ZERO_FP16 __ushort_as_half(0x0000U)
#define ASCRT_INF_BF16 __ushort_as_bfloat16(0x7f80U)
#define ASCRT_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7fU)
#define ASCRT_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001U)
#define ASCRT_NAN_BF16 __ushort_as_bfloat16(0x7fffU)
#define ASCRT_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000U)
#define ASCRT_ONE_BF16 __ushort_as_bfloat16(0x3f80U)
#define ASCRT_ZERO_BF16 __ushort_as_bfloat16(0x0000U)

namespace ophook::simt {

inline float wide(half x) { return float(x); }
inline float wide(bfloat16_t x) { return float(x); }
// Sums and products of half obey the chip's setting for what exceeds a type, those of bfloat16_t do not.
template <typename T>
T computed(float value) {
  return kept<T, std::is_same_v<T, half>>(value);
}
// The larger one; nan yields to a number, and -0 to 0.
inline float larger(float x, float y) {
  if (x != x || y != y) return x != x ? y : x;
  return x > y || (x == y && !std::signbit(x)) ? x : y;
}
inline float lesser(float x, float y) {
  if (x != x || y != y) return x != x ? y : x;
  return x < y || (x == y && std::signbit(x)) ? x : y;
}
inline float positive(float x) { return x < 0 ? 0.0f : x; }
inline bool any_nan(float x, float y) { return x != x || y != y; }
template <typename T>
T fused_in(T x, T y, T z) {
  const long double exact = (long double)(wide(x)) * wide(y) + wide(z);
  if (!std::isfinite(exact)) return computed<T>(float(exact));
  return computed<T>(float(rounded<Round::rn>(exact, Format<T>::digits, Format<T>::least)));
}

}  // namespace ophook::simt

inline half __ushort_as_half(const unsigned short int x) { return __builtin_bit_cast(half, x); }
inline bfloat16_t __ushort_as_bfloat16(const unsigned short int x) { return __builtin_bit_cast(bfloat16_t, x); }

// ---- one number ----
#define OPHOOK_OF_NUMBER(T)                                                                                   \
  inline T __hadd(const T x, const T y) {                                                                     \
    return ophook::simt::computed<T>(ophook::simt::wide(x) + ophook::simt::wide(y));                          \
  }                                                                                                           \
  inline T __hsub(const T x, const T y) {                                                                     \
    return ophook::simt::computed<T>(ophook::simt::wide(x) - ophook::simt::wide(y));                          \
  }                                                                                                           \
  inline T __hmul(const T x, const T y) {                                                                     \
    return ophook::simt::computed<T>(ophook::simt::wide(x) * ophook::simt::wide(y));                          \
  }                                                                                                           \
  inline T __hdiv(const T x, const T y) {                                                                     \
    return ophook::simt::computed<T>(ophook::simt::wide(x) / ophook::simt::wide(y));                          \
  }                                                                                                           \
  inline T __habs(T x) { return ophook::simt::computed<T>(std::fabs(ophook::simt::wide(x))); }                \
  inline T __hneg(const T x) { return ophook::simt::computed<T>(-ophook::simt::wide(x)); }                    \
  inline T __hfma(T x, T y, T z) { return ophook::simt::fused_in<T>(x, y, z); }                               \
  inline T __hfma_relu(const T x, const T y, const T z) {                                                     \
    return T(ophook::simt::positive(ophook::simt::wide(ophook::simt::fused_in<T>(x, y, z))));                 \
  }                                                                                                           \
  inline T __hmax(T x, T y) { return T(ophook::simt::larger(ophook::simt::wide(x), ophook::simt::wide(y))); } \
  inline T __hmin(T x, T y) { return T(ophook::simt::lesser(ophook::simt::wide(x), ophook::simt::wide(y))); } \
  inline T __hmax_nan(const T x, const T y) {                                                                 \
    return ophook::simt::any_nan(ophook::simt::wide(x), ophook::simt::wide(y)) ? T(NAN) : __hmax(x, y);       \
  }                                                                                                           \
  inline T __hmin_nan(const T x, const T y) {                                                                 \
    return ophook::simt::any_nan(ophook::simt::wide(x), ophook::simt::wide(y)) ? T(NAN) : __hmin(x, y);       \
  }                                                                                                           \
  inline bool __hisnan(T x) { return ophook::simt::wide(x) != ophook::simt::wide(x); }                        \
  inline bool __hisinf(T x) { return std::isinf(ophook::simt::wide(x)); }
OPHOOK_OF_NUMBER(half)
OPHOOK_OF_NUMBER(bfloat16_t)
#undef OPHOOK_OF_NUMBER

// The second of each is true where a number is nan, too.
#define OPHOOK_COMPARE(T, Pair, name, op)                                                          \
  inline bool __h##name(T x, T y) { return ophook::simt::wide(x) op ophook::simt::wide(y); }       \
  inline bool __h##name##u(T x, T y) {                                                             \
    return ophook::simt::any_nan(ophook::simt::wide(x), ophook::simt::wide(y)) || __h##name(x, y); \
  }                                                                                                \
  OPHOOK_COMPARE_PAIR(T, Pair, name, __h##name)                                                    \
  OPHOOK_COMPARE_PAIR(T, Pair, name##u, __h##name##u)
#define OPHOOK_COMPARE_PAIR(T, Pair, name, one)                                                            \
  inline bool __hb##name##x2(Pair x, Pair y) { return one(x.x, y.x) && one(x.y, y.y); }                    \
  inline Pair __h##name##x2(Pair x, Pair y) { return {T(float(one(x.x, y.x))), T(float(one(x.y, y.y)))}; } \
  inline unsigned int __h##name##x2_mask(Pair x, Pair y) {                                                 \
    return (one(x.x, y.x) ? 0xffffu : 0u) | (one(x.y, y.y) ? 0xffff0000u : 0u);                            \
  }
#define OPHOOK_COMPARES(T, Pair)  \
  OPHOOK_COMPARE(T, Pair, eq, ==) \
  OPHOOK_COMPARE_NE(T, Pair)      \
  OPHOOK_COMPARE(T, Pair, lt, <)  \
  OPHOOK_COMPARE(T, Pair, le, <=) \
  OPHOOK_COMPARE(T, Pair, gt, >)  \
  OPHOOK_COMPARE(T, Pair, ge, >=)
// Unequal and both numbers; C++ calls nan unequal to everything.
#define OPHOOK_COMPARE_NE(T, Pair)                                                        \
  inline bool __hne(T x, T y) {                                                           \
    const float a = ophook::simt::wide(x), b = ophook::simt::wide(y);                     \
    return a != b && !ophook::simt::any_nan(a, b);                                        \
  }                                                                                       \
  inline bool __hneu(T x, T y) { return ophook::simt::wide(x) != ophook::simt::wide(y); } \
  OPHOOK_COMPARE_PAIR(T, Pair, ne, __hne)                                                 \
  OPHOOK_COMPARE_PAIR(T, Pair, neu, __hneu)
OPHOOK_COMPARES(half, half2)
OPHOOK_COMPARES(bfloat16_t, bfloat16x2_t)
#undef OPHOOK_COMPARES
#undef OPHOOK_COMPARE_NE
#undef OPHOOK_COMPARE_PAIR
#undef OPHOOK_COMPARE

#define OPHOOK_FUNCTION(name, value)           \
  OPHOOK_FUNCTION_OF(half, half2, name, value) \
  OPHOOK_FUNCTION_OF(bfloat16_t, bfloat16x2_t, name, value)
#define OPHOOK_FUNCTION_OF(T, Pair, name, value) \
  inline T h##name(T given) {                    \
    const double x = ophook::simt::wide(given);  \
    return ophook::simt::kept<T>(float(value));  \
  }                                              \
  inline Pair h2##name(Pair x) { return {h##name(x.x), h##name(x.y)}; }
OPHOOK_FUNCTION(tanh, std::tanh(x))
OPHOOK_FUNCTION(exp, std::exp(x))
OPHOOK_FUNCTION(exp2, std::exp2(x))
OPHOOK_FUNCTION(exp10, std::pow(10.0, x))
OPHOOK_FUNCTION(log, std::log(x))
OPHOOK_FUNCTION(log2, std::log2(x))
OPHOOK_FUNCTION(log10, std::log10(x))
OPHOOK_FUNCTION(cos, std::cos(x))
OPHOOK_FUNCTION(sin, std::sin(x))
OPHOOK_FUNCTION(sqrt, std::sqrt(x))
OPHOOK_FUNCTION(rsqrt, 1 / std::sqrt(x))
OPHOOK_FUNCTION(rcp, 1 / x)
OPHOOK_FUNCTION(rint, std::nearbyint(x))
OPHOOK_FUNCTION(floor, std::floor(x))
OPHOOK_FUNCTION(ceil, std::ceil(x))
OPHOOK_FUNCTION(trunc, std::trunc(x))
#undef OPHOOK_FUNCTION_OF
#undef OPHOOK_FUNCTION

// ---- pairs ----
#define OPHOOK_PAIRS(T, Pair)                                                                                   \
  inline Pair __haddx2(const Pair x, const Pair y) { return {__hadd(x.x, y.x), __hadd(x.y, y.y)}; }             \
  inline Pair __hsubx2(const Pair x, const Pair y) { return {__hsub(x.x, y.x), __hsub(x.y, y.y)}; }             \
  inline Pair __hmulx2(const Pair x, const Pair y) { return {__hmul(x.x, y.x), __hmul(x.y, y.y)}; }             \
  inline Pair __hdivx2(const Pair x, const Pair y) { return {__hdiv(x.x, y.x), __hdiv(x.y, y.y)}; }             \
  inline Pair __habsx2(const Pair x) { return {__habs(x.x), __habs(x.y)}; }                                     \
  inline Pair __hnegx2(const Pair x) { return {__hneg(x.x), __hneg(x.y)}; }                                     \
  inline Pair __hfmax2(const Pair x, const Pair y, const Pair z) {                                              \
    return {__hfma(x.x, y.x, z.x), __hfma(x.y, y.y, z.y)};                                                      \
  }                                                                                                             \
  inline Pair __hfmax2_relu(const Pair x, const Pair y, const Pair z) {                                         \
    return {__hfma_relu(x.x, y.x, z.x), __hfma_relu(x.y, y.y, z.y)};                                            \
  }                                                                                                             \
  inline Pair __hcmadd(const Pair x, const Pair y, const Pair z) {                                              \
    return {__hfma(__hneg(x.y), y.y, __hfma(x.x, y.x, z.x)), __hfma(x.y, y.x, __hfma(x.x, y.y, z.y))};          \
  }                                                                                                             \
  inline Pair __hmaxx2(const Pair x, const Pair y) { return {__hmax(x.x, y.x), __hmax(x.y, y.y)}; }             \
  inline Pair __hminx2(const Pair x, const Pair y) { return {__hmin(x.x, y.x), __hmin(x.y, y.y)}; }             \
  inline Pair __hmaxx2_nan(const Pair x, const Pair y) { return {__hmax_nan(x.x, y.x), __hmax_nan(x.y, y.y)}; } \
  inline Pair __hminx2_nan(const Pair x, const Pair y) { return {__hmin_nan(x.x, y.x), __hmin_nan(x.y, y.y)}; } \
  inline Pair __isnanx2(Pair x) { return {T(float(__hisnan(x.x))), T(float(__hisnan(x.y)))}; }                  \
  inline float __low2float(const Pair x) { return ophook::simt::wide(x.x); }                                    \
  inline float __high2float(const Pair x) { return ophook::simt::wide(x.y); }                                   \
  inline Pair __lowhigh2highlow(const Pair x) { return {x.y, x.x}; }
OPHOOK_PAIRS(half, half2)
OPHOOK_PAIRS(bfloat16_t, bfloat16x2_t)
#undef OPHOOK_PAIRS
#define OPHOOK_HALVES(T, Pair, one, two)                                       \
  inline T __low2##one(const Pair x) { return x.x; }                           \
  inline T __high2##one(const Pair x) { return x.y; }                          \
  inline Pair __low2##two(const Pair x) { return {x.x, x.x}; }                 \
  inline Pair __high2##two(const Pair x) { return {x.y, x.y}; }                \
  inline Pair __lows2##two(const Pair x, const Pair y) { return {x.x, y.x}; }  \
  inline Pair __highs2##two(const Pair x, const Pair y) { return {x.y, y.y}; } \
  inline Pair __halves2##two(const T x, const T y) { return {x, y}; }
OPHOOK_HALVES(half, half2, half, half2)
OPHOOK_HALVES(bfloat16_t, bfloat16x2_t, bfloat16, bfloat162)
#undef OPHOOK_HALVES
inline bfloat16x2_t __bfloat162bfloat162(const bfloat16_t x) { return {x, x}; }

// ---- from type to type ----
#define OPHOOK_SATURATED(how, name, from, to) \
  OPHOOK_CONVERT(how, name, from, to)         \
  inline to name##_##how##_sat(const from x) { return ophook::simt::converted<to, ophook::simt::Round::how>(x); }
// What exceeds half here is infinite, unless the name says otherwise.
#define OPHOOK_FROM_INT(how, name, from, to)                                                                       \
  inline to name##_##how(const from x) { return ophook::simt::converted<to, ophook::simt::Round::how, false>(x); } \
  inline to name##_##how##_sat(const from x) { return ophook::simt::converted<to, ophook::simt::Round::how>(x); }
#define OPHOOK_PAIR(how, name, one, Pair)                                                   \
  inline Pair name##_##how(const float2 x) { return {one##_##how(x.x), one##_##how(x.y)}; } \
  inline Pair name##_##how##_sat(const float2 x) { return {one##_##how##_sat(x.x), one##_##how##_sat(x.y)}; }
#define OPHOOK_WHOLE_HALF(how, name, T)                                                                 \
  inline T name##_##how(const T x) {                                                                    \
    return ophook::simt::kept<T>(ophook::simt::whole<ophook::simt::Round::how>(ophook::simt::wide(x))); \
  }
OPHOOK_ROUNDS(OPHOOK_SATURATED, __float2half, float, half)
OPHOOK_SATURATED(ro, __float2half, float, half)
OPHOOK_ROUNDS(OPHOOK_PAIR, __float22half2, __float2half, half2)
OPHOOK_PAIR(ro, __float22half2, __float2half, half2)
OPHOOK_ROUNDS(OPHOOK_SATURATED, __bfloat162half, bfloat16_t, half)
OPHOOK_ROUNDS(OPHOOK_WHOLE_HALF, __half2half, half)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __half2int, half, int)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __half2uint, half, unsigned int)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __half2ll, half, long long)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __half2ull, half, unsigned long long)
OPHOOK_ROUNDS(OPHOOK_FROM_INT, __int2half, int, half)
OPHOOK_ROUNDS(OPHOOK_FROM_INT, __uint2half, unsigned int, half)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __ll2half, long long, half)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __ull2half, unsigned long long, half)
OPHOOK_ROUNDS(OPHOOK_SATURATED, __float2bfloat16, float, bfloat16_t)
OPHOOK_ROUNDS(OPHOOK_PAIR, __float22bfloat162, __float2bfloat16, bfloat16x2_t)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __half2bfloat16, half, bfloat16_t)
OPHOOK_ROUNDS(OPHOOK_WHOLE_HALF, __bfloat162bfloat16, bfloat16_t)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __bfloat162int, bfloat16_t, int)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __bfloat162uint, bfloat16_t, unsigned int)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __bfloat162ll, bfloat16_t, long long)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __bfloat162ull, bfloat16_t, unsigned long long)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __int2bfloat16, int, bfloat16_t)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __uint2bfloat16, unsigned int, bfloat16_t)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __ll2bfloat16, long long, bfloat16_t)
OPHOOK_ROUNDS(OPHOOK_CONVERT, __ull2bfloat16, unsigned long long, bfloat16_t)
#undef OPHOOK_SATURATED
#undef OPHOOK_FROM_INT
#undef OPHOOK_PAIR
#undef OPHOOK_WHOLE_HALF
inline half __float2half(const float x) { return __float2half_rn(x); }
inline bfloat16_t __float2bfloat16(const float x) { return __float2bfloat16_rn(x); }
inline bfloat16x2_t __float2bfloat162_rn(const float x) { return {__float2bfloat16_rn(x), __float2bfloat16_rn(x)}; }
inline half2 __floats2half2_rn(const float x, const float y) { return {__float2half_rn(x), __float2half_rn(y)}; }
inline bfloat16x2_t __floats2bfloat162_rn(const float x, const float y) {
  return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}
inline float __half2float(const half x) { return float(x); }
inline float __bfloat162float(const bfloat16_t x) { return float(x); }
inline float2 __half22float2(const half2 x) { return {float(x.x), float(x.y)}; }
inline float2 __bfloat1622float2(const bfloat16x2_t x) { return {float(x.x), float(x.y)}; }
