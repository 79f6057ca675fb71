// What threads call of the device: meetings of a warp, barriers, atomic operations, and memory past the data cache.
#pragma once

#include "cache_line.h"
#include "simt.h"
#include "simt_vectors.h"

#define OPHOOK_AT ::ophook::rt::At at = ::ophook::rt::At::here()

namespace ophook::simt {

template <typename T>
T meet(rt::Meet what, const char* call, T value, int64_t lane, int32_t width, rt::At at) {
  using Part = typename Parts<T>::type;
  T result;
  rt::simt_meet(what, call, rt::dtype_of<Part>(), &value, sizeof value, lane, width, &result, at);
  return result;
}
template <typename T>
constexpr bool is_shuffled = one_of<T, int32_t, uint32_t, float, int64_t, uint64_t, long long, unsigned long long, half,
                                    half2, bfloat16_t, bfloat16x2_t>;
template <typename T>
constexpr bool is_reduced = one_of<T, int32_t, uint32_t, float, half>;
// A number that is none of these becomes the one that C++ makes of it: a short, or a value of an enum, an int.
template <typename T, bool direct, typename = void>
struct TakenAs {
  using type = T;
};
template <typename T>
struct TakenAs<T, false, std::enable_if_t<std::is_convertible_v<T, int> && std::is_scalar_v<T>>> {
  using type = decltype(+T());
};
template <typename T, bool direct>
using Taken = typename TakenAs<T, direct>::type;

inline uint64_t votes(rt::Meet what, const char* call, int32_t predicate, rt::At at) {
  uint64_t both;  // the mask of those who say so, and of those who are here
  rt::simt_meet(what, call, rt::Dtype::u64, &predicate, sizeof both, 0, warpSize, &both, at);
  return both;
}
inline uint32_t lane() {
  return (threadIdx.x + threadIdx.y * blockDim.x + threadIdx.z * blockDim.x * blockDim.y) % warpSize;
}

template <typename T, typename... Types>
using Only = std::enable_if_t<one_of<T, Types...>, T>;
template <typename T>
using Value = std::common_type_t<T>;  // follows the pointer's type

template <typename T>
T atomic(rt::Atomic what, const char* call, T* address, T value, const T* compared, rt::At at) {
  using Part = typename Parts<T>::type;
  T before;
  rt::simt_atomic(what, call, address, rt::dtype_of<Part>(), Parts<T>::count, &value, compared, &before, at);
  return before;
}

}  // namespace ophook::simt

// ---- lanes of a warp ----
inline int32_t laneid() { return int32_t(ophook::simt::lane()); }
inline int32_t lanemask_eq() { return int32_t(1u << ophook::simt::lane()); }
inline int32_t lanemask_lt() { return int32_t((1u << ophook::simt::lane()) - 1); }
inline int32_t lanemask_le() { return lanemask_lt() | lanemask_eq(); }
inline int32_t lanemask_ge() { return ~lanemask_lt(); }
inline int32_t lanemask_gt() { return ~lanemask_le(); }

#define OPHOOK_SHUFFLE(name, kind, lane_type)                                                      \
  template <typename T>                                                                            \
  inline auto name(T var, lane_type lane, int32_t width = warpSize, OPHOOK_AT)                     \
      -> ophook::simt::Taken<T, ophook::simt::is_shuffled<T>> {                                    \
    using U = ophook::simt::Taken<T, ophook::simt::is_shuffled<T>>;                                \
    static_assert(ophook::simt::is_shuffled<U>, #name                                              \
                  " takes int32_t, uint32_t, float, int64_t, uint64_t, half, "                     \
                  "half2, bfloat16_t and bfloat16x2_t");                                           \
    return ophook::simt::meet<U>(ophook::rt::Meet::kind, #name, U(var), int64_t(lane), width, at); \
  }
OPHOOK_SHUFFLE(asc_shfl, shfl, int32_t)
OPHOOK_SHUFFLE(asc_shfl_up, shfl_up, uint32_t)
OPHOOK_SHUFFLE(asc_shfl_down, shfl_down, uint32_t)
OPHOOK_SHUFFLE(asc_shfl_xor, shfl_xor, int32_t)
#undef OPHOOK_SHUFFLE

#define OPHOOK_REDUCE(name, kind)                                                                 \
  template <typename T>                                                                           \
  inline auto name(T val, OPHOOK_AT) -> ophook::simt::Taken<T, ophook::simt::is_reduced<T>> {     \
    using U = ophook::simt::Taken<T, ophook::simt::is_reduced<T>>;                                \
    static_assert(ophook::simt::is_reduced<U>, #name " takes int32_t, uint32_t, float and half"); \
    return ophook::simt::meet<U>(ophook::rt::Meet::kind, #name, U(val), 0, warpSize, at);         \
  }
OPHOOK_REDUCE(asc_reduce_add, add)
OPHOOK_REDUCE(asc_reduce_max, max)
OPHOOK_REDUCE(asc_reduce_min, min)
#undef OPHOOK_REDUCE

inline uint32_t asc_ballot(int32_t predicate, OPHOOK_AT) {
  return uint32_t(ophook::simt::votes(ophook::rt::Meet::ballot, "asc_ballot", predicate, at));
}
inline int32_t asc_any(int32_t predicate, OPHOOK_AT) {
  return uint32_t(ophook::simt::votes(ophook::rt::Meet::ballot, "asc_any", predicate, at)) != 0;
}
inline int32_t asc_all(int32_t predicate, OPHOOK_AT) {
  const uint64_t both = ophook::simt::votes(ophook::rt::Meet::ballot, "asc_all", predicate, at);
  return uint32_t(both) == uint32_t(both >> 32);
}
inline uint32_t asc_activemask(OPHOOK_AT) {
  return uint32_t(ophook::simt::votes(ophook::rt::Meet::active, "asc_activemask", 1, at));
}

// ---- barriers ----
inline void asc_syncthreads(OPHOOK_AT) { ophook::rt::simt_barrier(at); }
inline void asc_threadfence() { ophook::rt::simt_fence(false); }
inline void asc_threadfence_block() { ophook::rt::simt_fence(true); }

// ---- atomic operations: which types each takes, in UB and global memory; 64 bits in global memory alone ----
#define OPHOOK_ATOMIC(name, kind, ...)                                                                        \
  template <typename T, typename = ophook::simt::Only<T, __VA_ARGS__>>                                        \
  inline T asc_atomic_##name(T* address, ophook::simt::Value<T> val, OPHOOK_AT) {                             \
    return ophook::simt::atomic<T>(ophook::rt::Atomic::kind, "asc_atomic_" #name, address, val, nullptr, at); \
  }
#define OPHOOK_WHOLE int32_t, uint32_t, int64_t, uint64_t, long long, unsigned long long
#define OPHOOK_HALVES half, bfloat16_t, half2, bfloat16x2_t
OPHOOK_ATOMIC(add, add, OPHOOK_WHOLE, float, OPHOOK_HALVES)
OPHOOK_ATOMIC(sub, sub, OPHOOK_WHOLE, float, OPHOOK_HALVES)
OPHOOK_ATOMIC(exch, exchange, OPHOOK_WHOLE, float, half2, bfloat16x2_t)
OPHOOK_ATOMIC(max, max, OPHOOK_WHOLE, float, OPHOOK_HALVES)
OPHOOK_ATOMIC(min, min, OPHOOK_WHOLE, float, OPHOOK_HALVES)
OPHOOK_ATOMIC(inc, inc, uint32_t, uint64_t, unsigned long long)
OPHOOK_ATOMIC(dec, dec, uint32_t, uint64_t, unsigned long long)
OPHOOK_ATOMIC(and, bit_and, OPHOOK_WHOLE)
OPHOOK_ATOMIC(or, bit_or, OPHOOK_WHOLE)
OPHOOK_ATOMIC(xor, bit_xor, OPHOOK_WHOLE)
#undef OPHOOK_ATOMIC
template <typename T, typename = ophook::simt::Only<T, OPHOOK_WHOLE, float, half2, bfloat16x2_t>>
inline T asc_atomic_cas(T* address, ophook::simt::Value<T> compare, ophook::simt::Value<T> val, OPHOOK_AT) {
  return ophook::simt::atomic<T>(ophook::rt::Atomic::compare, "asc_atomic_cas", address, val, &compare, at);
}
#undef OPHOOK_WHOLE
#undef OPHOOK_HALVES
namespace AscendC::Simt {  // older names
#define OPHOOK_ATOMIC(Name, name)                                                   \
  template <typename T, typename... Values>                                         \
  __aicore__ inline auto Atomic##Name(T* address, Values... values) {               \
    return asc_atomic_##name(address, static_cast<std::remove_cv_t<T>>(values)...); \
  }
OPHOOK_ATOMIC(Add, add)
OPHOOK_ATOMIC(Sub, sub)
OPHOOK_ATOMIC(Exch, exch)
OPHOOK_ATOMIC(Max, max)
OPHOOK_ATOMIC(Min, min)
OPHOOK_ATOMIC(Cas, cas)
#undef OPHOOK_ATOMIC
}  // namespace AscendC::Simt

// ---- memory ----
template <typename T>
inline T asc_ldca(T* address) {
  return *address;
}
template <typename T>
inline std::remove_const_t<T> asc_ldcg(T* address, OPHOOK_AT) {
  ophook::rt::simt_uncached(address, sizeof(T), false, at);
  std::remove_const_t<T> value;
  __builtin_memcpy(&value, const_cast<const std::remove_const_t<T>*>(address), sizeof value);
  return value;
}
template <typename T>
inline void asc_stcg(T* address, ophook::simt::Value<T> val, OPHOOK_AT) {
  ophook::rt::simt_uncached(address, sizeof(T), true, at);
  __builtin_memcpy(address, &val, sizeof val);
}
template <typename T>
inline void asc_stwt(T* address, ophook::simt::Value<T> val, OPHOOK_AT) {
  ophook::rt::simt_uncached(address, sizeof(T), true, at);
  __builtin_memcpy(address, &val, sizeof val);
}
inline void asc_dcci_entire(void* dst, OPHOOK_AT) { asc_dcci_single(dst, at); }
inline void asc_nop() {}

// Which memory an address is of, as kernels of threads alone may ask. An address of one memory is its distance from the
// memory's begin.
#define OPHOOK_SPACE(Name, name, space)                                                                            \
  inline unsigned int __is##Name(const void* ptr, OPHOOK_AT) {                                                     \
    ophook::rt::simt_only("__is" #Name, true, at);                                                                 \
    return ophook::rt::simt_in(ophook::rt::Space::space, ptr);                                                     \
  }                                                                                                                \
  inline size_t __cvta_generic_to_##name(const void* ptr, OPHOOK_AT) {                                             \
    ophook::rt::simt_only("__cvta_generic_to_" #name, true, at);                                                   \
    return size_t(static_cast<const char*>(ptr) -                                                                  \
                  static_cast<const char*>(ophook::rt::simt_base(ophook::rt::Space::space)));                      \
  }                                                                                                                \
  inline void* __cvta_##name##_to_generic(size_t rawbits, OPHOOK_AT) {                                             \
    ophook::rt::simt_only("__cvta_" #name "_to_generic", true, at);                                                \
    return const_cast<char*>(static_cast<const char*>(ophook::rt::simt_base(ophook::rt::Space::space)) + rawbits); \
  }
OPHOOK_SPACE(Global, global, global)
OPHOOK_SPACE(Ubuf, ubuf, ubuf)
OPHOOK_SPACE(Local, local, local)
#undef OPHOOK_SPACE

#undef OPHOOK_AT
