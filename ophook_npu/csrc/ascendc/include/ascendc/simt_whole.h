// Functions of whole numbers for threads that no library of the host has, too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ophook::simt {
template <typename T>
T reversed(T x) {
  T result = 0;
  for (size_t i = 0; i < sizeof(T) * 8; ++i) result = T(result << 1 | (x >> i & 1));
  return result;
}
inline int32_t low24(int32_t x) { return int32_t(uint32_t(x) << 8) >> 8; }
}  // namespace ophook::simt
#define OPHOOK_BITS(type, clz, ffs, popc)                                                          \
  inline unsigned type __brev(unsigned type x) { return ophook::simt::reversed(x); }               \
  inline int __clz(type x) { return x ? clz(static_cast<unsigned type>(x)) : int(sizeof(x) * 8); } \
  inline int __ffs(type x) { return ffs(x); }                                                      \
  inline int __popc(unsigned type x) { return popc(x); }
OPHOOK_BITS(int, __builtin_clz, __builtin_ffs, __builtin_popcount)
OPHOOK_BITS(long, __builtin_clzl, __builtin_ffsl, __builtin_popcountl)
OPHOOK_BITS(long long, __builtin_clzll, __builtin_ffsll, __builtin_popcountll)
#undef OPHOOK_BITS
inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int s) {
  const uint64_t both = uint64_t(y) << 32 | x;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) result |= uint32_t(both >> (s >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return result;
}
inline int __hadd(int x, int y) { return int((int64_t(x) + y) >> 1); }
inline int __rhadd(int x, int y) { return int((int64_t(x) + y + 1) >> 1); }
inline unsigned int __uhadd(unsigned int x, unsigned int y) { return unsigned((uint64_t(x) + y) >> 1); }
inline unsigned int __urhadd(unsigned int x, unsigned int y) { return unsigned((uint64_t(x) + y + 1) >> 1); }
inline int __mul24(int x, int y) { return int(int64_t(ophook::simt::low24(x)) * ophook::simt::low24(y)); }
inline unsigned int __umul24(unsigned int x, unsigned int y) {
  return unsigned(uint64_t(x & 0xffffff) * (y & 0xffffff));
}
inline int __mulhi(int x, int y) { return int(int64_t(x) * y >> 32); }
inline unsigned int __umulhi(unsigned int x, unsigned int y) { return unsigned(uint64_t(x) * y >> 32); }
inline long long __mul64hi(long long x, long long y) { return (long long)(__int128(x) * y >> 64); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return (unsigned long long)((unsigned __int128)(x)*y >> 64);
}
inline long long __mul_i32toi64(int x, int y) { return (long long)(x)*y; }
inline unsigned long long __mul_i32toi64(unsigned int x, unsigned int y) { return (unsigned long long)(x)*y; }
inline unsigned int __sad(int x, int y, unsigned int z) {
  const int64_t apart = int64_t(x) - y;
  return unsigned(apart < 0 ? -apart : apart) + z;
}
inline unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) { return (x > y ? x - y : y - x) + z; }
