// What programs for Ascend 950 call in functions of threads by names that no page has, with kernel_operator.h alone.
#pragma once

#include "simt_device.h"
#include "simt_whole.h"

#define OPHOOK_AT ::ophook::rt::At at = ::ophook::rt::At::here()

// Which cache keeps a value makes no other value: only whether the data cache may hold an old one does.
enum class L1CacheType { NON_CACHEABLE, CACHEABLE };
enum class LD_L2CacheType { L2_CACHE_HINT_NORMAL_FV, L2_CACHE_HINT_NOTALLOC_CLEAN };
enum class ST_L2CacheType { L2_CACHE_HINT_NORMAL_FV };
template <LD_L2CacheType, L1CacheType cached, typename T>
inline std::remove_const_t<T> __ldg(T* address, OPHOOK_AT) {
  if constexpr (cached == L1CacheType::CACHEABLE) return asc_ldca(address);
  else return asc_ldcg(address, at);
}
template <ST_L2CacheType, L1CacheType cached, typename T>
inline void __stg(T* address, ophook::simt::Value<T> val, OPHOOK_AT) {
  if constexpr (cached == L1CacheType::CACHEABLE) *address = val;
  else asc_stcg(address, val, at);
}
#define OPHOOK_SHUFFLE(name, lane_type)                                              \
  template <typename T>                                                              \
  inline auto __##name(T var, lane_type lane, int32_t width = warpSize, OPHOOK_AT) { \
    return asc_##name(var, lane, width, at);                                         \
  }
OPHOOK_SHUFFLE(shfl, int32_t)
OPHOOK_SHUFFLE(shfl_up, uint32_t)
OPHOOK_SHUFFLE(shfl_down, uint32_t)
OPHOOK_SHUFFLE(shfl_xor, int32_t)
#undef OPHOOK_SHUFFLE
inline void __threadfence() { asc_threadfence(); }
template <typename T>
inline T atomicAdd(T* address, ophook::simt::Value<T> val, OPHOOK_AT) {
  return asc_atomic_add(address, val, at);
}

namespace AscendC::Simt {
template <typename T>
__aicore__ inline int32_t Ffs(T x) {
  return sizeof(x) == 8 ? __ffs(static_cast<long long>(x)) : __ffs(static_cast<int>(x));
}
__aicore__ inline void ThreadBarrier(OPHOOK_AT) { asc_syncthreads(at); }
}  // namespace AscendC::Simt

#undef OPHOOK_AT
