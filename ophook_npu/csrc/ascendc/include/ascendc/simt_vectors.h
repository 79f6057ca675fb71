// Short vectors of threads: char2 to float4, half2 and the other pairs.
#pragma once

#include "types.h"

#define OPHOOK_VECTORS(name, type)                                 \
  struct alignas(2 * sizeof(type)) name##2 { type x, y; };         \
  struct alignas(4 * sizeof(type)) name##3 { type x, y, z; };      \
  struct alignas(4 * sizeof(type)) name##4 { type x, y, z, w; };   \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; } \
  inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
OPHOOK_VECTORS(char, signed char)
OPHOOK_VECTORS(uchar, unsigned char)
OPHOOK_VECTORS(short, short)
OPHOOK_VECTORS(ushort, unsigned short)
OPHOOK_VECTORS(int, int)
OPHOOK_VECTORS(uint, unsigned int)
OPHOOK_VECTORS(long, long)
OPHOOK_VECTORS(ulong, unsigned long)
OPHOOK_VECTORS(longlong, long long)
OPHOOK_VECTORS(ulonglong, unsigned long long)
OPHOOK_VECTORS(float, float)
#undef OPHOOK_VECTORS

struct alignas(4) half2 {
  half x, y;
};
struct alignas(4) bfloat16x2_t {
  bfloat16_t x, y;
};
// Sums and the like of pairs; each part by itself.
#define OPHOOK_PAIR_OPERATOR(Pair, op)                             \
  inline Pair operator op(const Pair& a, const Pair& b) {          \
    return {decltype(a.x)(a.x op b.x), decltype(a.y)(a.y op b.y)}; \
  }                                                                \
  inline Pair& operator op## = (Pair & a, const Pair& b) { return a = a op b; }
#define OPHOOK_PAIR_OPERATORS(Pair, one)                                                      \
  OPHOOK_PAIR_OPERATOR(Pair, +)                                                               \
  OPHOOK_PAIR_OPERATOR(Pair, -)                                                               \
  OPHOOK_PAIR_OPERATOR(Pair, *)                                                               \
  OPHOOK_PAIR_OPERATOR(Pair, /)                                                               \
  inline Pair operator-(const Pair& a) { return {decltype(a.x)(-a.x), decltype(a.y)(-a.y)}; } \
  inline Pair& operator++(Pair& a) { return a = a + Pair{one, one}; }                         \
  inline Pair& operator--(Pair& a) { return a = a - Pair{one, one}; }                         \
  inline Pair operator++(Pair& a, int) {                                                      \
    const Pair before = a;                                                                    \
    ++a;                                                                                      \
    return before;                                                                            \
  }                                                                                           \
  inline Pair operator--(Pair& a, int) {                                                      \
    const Pair before = a;                                                                    \
    --a;                                                                                      \
    return before;                                                                            \
  }
OPHOOK_PAIR_OPERATORS(half2, half(1.0f))
OPHOOK_PAIR_OPERATORS(bfloat16x2_t, bfloat16_t(1.0f))
#undef OPHOOK_PAIR_OPERATORS
#undef OPHOOK_PAIR_OPERATOR
inline half2 make_half2(half x, half y) { return {x, y}; }
inline bfloat16x2_t make_bfloat162(bfloat16_t x, bfloat16_t y) { return {x, y}; }

namespace ophook::simt {

// What a vector is made of.
template <typename T>
struct Parts {
  using type = T;
  static constexpr uint32_t count = 1;
};
#define OPHOOK_PARTS(name, of)                                   \
  template <>                                                    \
  struct Parts<name> {                                           \
    using type = of;                                             \
    static constexpr uint32_t count = sizeof(name) / sizeof(of); \
  };
OPHOOK_PARTS(char2, signed char)
OPHOOK_PARTS(char4, signed char)
OPHOOK_PARTS(uchar2, unsigned char)
OPHOOK_PARTS(uchar4, unsigned char)
OPHOOK_PARTS(short2, short)
OPHOOK_PARTS(short4, short)
OPHOOK_PARTS(ushort2, unsigned short)
OPHOOK_PARTS(ushort4, unsigned short)
OPHOOK_PARTS(int2, int)
OPHOOK_PARTS(int4, int)
OPHOOK_PARTS(uint2, unsigned int)
OPHOOK_PARTS(uint4, unsigned int)
OPHOOK_PARTS(long2, long)
OPHOOK_PARTS(long4, long)
OPHOOK_PARTS(ulong2, unsigned long)
OPHOOK_PARTS(ulong4, unsigned long)
OPHOOK_PARTS(longlong2, long long)
OPHOOK_PARTS(longlong4, long long)
OPHOOK_PARTS(ulonglong2, unsigned long long)
OPHOOK_PARTS(ulonglong4, unsigned long long)
OPHOOK_PARTS(float2, float)
OPHOOK_PARTS(float4, float)
OPHOOK_PARTS(half2, half)
OPHOOK_PARTS(bfloat16x2_t, bfloat16_t)
#undef OPHOOK_PARTS

template <typename T, typename... Types>
constexpr bool one_of = (std::is_same_v<T, Types> || ...);

}  // namespace ophook::simt
