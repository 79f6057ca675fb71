// How a kernel learns its tiling. The structure that GET_TILING_DATA means is written by the build, from what the host
// side registered; it is included before the kernel.
#pragma once

#include <tuple>

#include "runtime.h"

namespace ophook::rt {
template <typename T>
T tiling_data(const void* from, const char* name, At at = At::here()) {
  T data;
  copy_tiling(&data, from, sizeof(T), name, at);
  return data;
}
// The prelude has ophook_tiling_by_key where keys have structures of their own.
template <typename T>
T tiling_data_by_key(const void* from, const char* name, At at = At::here()) {
  const auto read = [&](void* own, size_t bytes, const char* of) { copy_tiling(own, from, bytes, of, at); };
  if constexpr (requires(T& to) { ophook_tiling_by_key(uint64_t{}, to, read); }) {
    T to{};
    if (ophook_tiling_by_key(tiling_key(), to, read)) return to;
  }
  return tiling_data<T>(from, name, at);
}
template <typename T, size_t count>
void copy_array(T (&to)[count], const T (&from)[count]) {
  for (size_t i = 0; i < count; ++i) to[i] = from[i];
}
}  // namespace ophook::rt

#define GET_TILING_DATA_WITH_STRUCT(type, name, tiling) type name = ::ophook::rt::tiling_data<type>(tiling, #type)
#ifndef GET_TILING_DATA  // unit tests of kernels bring their own
#define GET_TILING_DATA(name, tiling) \
  OphookDefaultTiling name = ::ophook::rt::tiling_data_by_key<OphookDefaultTiling>(tiling, "OphookDefaultTiling")
#endif
#define GET_TILING_DATA_MEMBER(type, member, name, tiling) \
  auto name = ::ophook::rt::tiling_data<type>(tiling, #type).member
#ifndef __tiling_data_ptr__  // what such a pointer is declared with; unit tests of kernels bring their own
#define __tiling_data_ptr__ __gm__ const
#endif
// A pointer to the tiling as it came; and copies, on the core's stack, of a structure or an array that it holds.
#define GET_TILING_DATA_PTR_WITH_STRUCT(type, name, tiling)                 \
  const auto name##_whole = ::ophook::rt::tiling_data<type>(tiling, #type); \
  __tiling_data_ptr__ type* const name = &name##_whole
#define COPY_TILING_WITH_STRUCT(type, from, name) \
  const type name##_copy = from;                  \
  const type* const name = &name##_copy
#define COPY_TILING_WITH_ARRAY(type, count, from, name) \
  type name##_copy[count];                              \
  ::ophook::rt::copy_array(name##_copy, from);          \
  const type(*const name)[count] = &name##_copy
#define REGISTER_NONE_TILING static_assert(true)  // the kernel says its structures itself
#define REGISTER_TILING_DEFAULT(type) using OphookDefaultTiling = type
#define REGISTER_TILING_FOR_TILINGKEY(condition, type)
#define TILING_KEY_IS(key) (::ophook::rt::tiling_key() == static_cast<uint64_t>(key))
#define TILING_KEY_LIST(first, second) (TILING_KEY_IS(first) || TILING_KEY_IS(second))
#define KERNEL_TASK_TYPE(key, type) static_assert(type >= 0, #type)
#ifdef ASCENDC_CPU_DEBUG  // SetKernelMode says it there; what is left to do is that cores of the other kind do nothing
#define OPHOOK_TASK_TYPE(line) ophook_task_type_##line
#define OPHOOK_TASK_TYPE_IN(line) OPHOOK_TASK_TYPE(line)
#define KERNEL_TASK_TYPE_DEFAULT(type)                                                       \
  static_assert(type >= 0, #type);                                                           \
  [[maybe_unused]] const bool OPHOOK_TASK_TYPE_IN(__LINE__) =                                \
      ::ophook::rt::runs_on(type != KERNEL_TYPE_AIV_ONLY && type != KERNEL_TYPE_MIX_AIV_1_0, \
                            type != KERNEL_TYPE_AIC_ONLY && type != KERNEL_TYPE_MIX_AIC_1_0)
#else
#define KERNEL_TASK_TYPE_DEFAULT(type) static_assert(type >= 0, #type)
#endif

// What a graph compiler may take of a kernel to make one of several (a SuperKernel): none does here, so that the kernel
// itself runs.
namespace sk {
struct SkSystemArgs;
}
#define __sk__
#define SK_BIND(kernel, capability, ...)                                        \
  static_assert(std::tuple_size_v<decltype(std::make_tuple(__VA_ARGS__))> <= 4, \
                "SK_BIND: up to four functions (SK_BIND.md)")

enum KernelMetaType {
  KERNEL_TYPE_AIV_ONLY,
  KERNEL_TYPE_AIC_ONLY,
  KERNEL_TYPE_MIX_AIV_1_0,
  KERNEL_TYPE_MIX_AIC_1_0,
  KERNEL_TYPE_MIX_AIC_1_1,
  KERNEL_TYPE_MIX_AIC_1_2,
  KERNEL_TYPE_AICORE,  // these are for products whose cores have both units
  KERNEL_TYPE_VECTORCORE,
  KERNEL_TYPE_MIX_AICORE,
  KERNEL_TYPE_MIX_VECTOR_CORE,
  KERNEL_TYPE_MAX
};
