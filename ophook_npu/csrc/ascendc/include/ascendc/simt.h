// Threads of Ascend 950 (SIMT): what the device's compiler has built in for them, and the calls of the runtime.
//
// A thread block runs on one vector core. Its threads take turns on the core's stack of time: each runs until it ends
// or waits for others. How they meet, and what they may do with memory, is the runtime's business (runtime/simt.cpp).
#pragma once

#include <cstring>
#include <type_traits>

#include "enums.h"
#include "runtime.h"

// The translation looks for both (ophook_npu.kernel.threads).
#if !defined(OPHOOK_ASC_PROGRAM) && !defined(OPHOOK_OF_THREADS)
#define __simt_vf__
#define __launch_bounds__(threads)
#endif
#ifndef LAUNCH_BOUND
#define LAUNCH_BOUND(threads) __launch_bounds__(threads)
#endif
#define __simt_callee__
#ifndef __host__
#define __host__
#endif
#ifndef __callee__
#define __callee__
#endif

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
};
constexpr int32_t warpSize = 32;

namespace ophook::rt {

constexpr uint64_t total(const dim3& d) { return uint64_t(d.x) * d.y * d.z; }
constexpr uint32_t kSimtThreads = 2048;     // of a block
constexpr uint32_t kSimtCache = 32 * 1024;  // bytes of UB that the data cache of threads has at least
struct SimtLaunch {
  dim3 blocks = dim3(1), threads = dim3(1);
  uint64_t dynamic = 0;  // bytes of UB for `extern __ubuf__` arrays
};
struct SimtBody {  // what each thread does, with what it is given
  void (*call)(const void*);
  const void* data;
  size_t bytes;
};
template <typename F>
SimtBody simt_body(const F& body) {
  return {[](const void* data) { (*static_cast<const F*>(data))(); }, &body, sizeof body};
}
// Runs a function by so many threads on the core that calls it.
OPHOOK_RT void simt_call(dim3 threads, SimtBody body, At at);
// The same for a kernel that is one: its blocks are the cores of the launch.
OPHOOK_RT void simt_kernel(const char* name, const SimtLaunch& launch, SimtBody body);
// What <<<>>> gave a kernel that calls such functions itself.
OPHOOK_RT void simt_dynamic(uint64_t bytes);
OPHOOK_RT void* simt_dynamic_array();
// The first thing that a thread does, where its function says how many threads it takes.
OPHOOK_RT void simt_bound(uint64_t most, const char* function, At at);

OPHOOK_RT void simt_barrier(At at);
OPHOOK_RT void simt_fence(bool of_block);
// A read or write past the core's data cache, which other blocks see.
OPHOOK_RT void simt_uncached(const void* address, uint32_t bytes, bool write, At at);

enum class Meet : uint8_t { shfl, shfl_up, shfl_down, shfl_xor, add, max, min, ballot, active, gather };
// What the lanes of a warp do together; all that are active come to the same place.
OPHOOK_RT void simt_meet(Meet what, const char* call, Dtype dtype, const void* value, uint32_t bytes, int64_t lane,
                         int32_t width, void* result, At at);

// Of all lanes of a group: `everybody` has room for 16 bytes of each of 32.
OPHOOK_RT void simt_gather(const char* call, const void* value, uint32_t bytes, void* everybody, uint32_t lanes, At at);
// A group of several warps, which begins with a thread of this number: all wait for each other; what a thread leaves
// for the others, and what another one left.
OPHOOK_RT void simt_tile(uint32_t first, uint32_t count, At at);
OPHOOK_RT void simt_bring(const void* value, uint32_t bytes);
OPHOOK_RT void simt_brought(uint32_t thread, void* value, uint32_t bytes);

enum class Atomic : uint8_t { add, sub, exchange, max, min, inc, dec, compare, bit_and, bit_or, bit_xor };
// On `count` elements in a row, each by itself; *before: what was there.
OPHOOK_RT void simt_atomic(Atomic what, const char* call, void* address, Dtype dtype, uint32_t count, const void* value,
                           const void* compared, void* before, At at);
OPHOOK_RT uint64_t simt_clock();
// Ends the block where its kernel is one of threads and must not be, or the other way round.
OPHOOK_RT void simt_only(const char* call, bool whole, At at);
enum class Space : uint8_t { global, ubuf, local };
OPHOOK_RT bool simt_in(Space space, const void* address);
OPHOOK_RT const void* simt_base(Space space);

// An array of UB outside of functions, which each core has for itself: what its name stands for. `Array` is T[] where
// <<<>>> says how long it is.
template <typename Array>
struct UbArray {
  const char* name;
  At at = At::here();
  operator std::decay_t<Array>() const {
    if constexpr (std::extent_v<Array> == 0) return static_cast<std::decay_t<Array>>(simt_dynamic_array());
    else return *static_cast<Array*>(local_array(int(AscendC::TPosition::VECCALC), sizeof(Array), name, at));
  }
};

}  // namespace ophook::rt

// Where the running thread stands: what the device's compiler has as variables. The runtime sets them whenever another
// thread goes on, so that they are constants to each.
struct OphookIndex {
  unsigned int x, y, z;
  operator dim3() const { return dim3(x, y, z); }
};
extern OPHOOK_RT __thread const OphookIndex threadIdx, blockIdx, blockDim, gridDim;

// A function of threads, as `asc_vf_call<function>(dim3(…), arguments…)` has it; a vector function of registers is
// called as any other.
namespace ophook::rt {
struct SimtCall {  // how many threads, and where that is said
  SimtCall(const dim3& threads, At at = At::here()) : threads(threads), at(at) {}
  dim3 threads;
  At at;
};
template <typename T>
using OtherThanDim3 = std::enable_if_t<!std::is_same_v<std::decay_t<T>, dim3>>;
}  // namespace ophook::rt
template <auto funcPtr>
__aicore__ inline void asc_vf_call() {
  funcPtr();
}
template <auto funcPtr, typename First, typename... Args, typename = ophook::rt::OtherThanDim3<First>>
__aicore__ inline void asc_vf_call(First&& first, Args&&... args) {
  funcPtr(static_cast<First&&>(first), static_cast<Args&&>(args)...);
}
template <auto funcPtr, typename... Args>
__aicore__ inline void asc_vf_call(ophook::rt::SimtCall call, Args&&... args) {
#if defined(OPHOOK_ASC_PROGRAM) || defined(OPHOOK_OF_THREADS)
  const auto body = [&] { funcPtr(args...); };
  ::ophook::rt::simt_call(call.threads, ::ophook::rt::simt_body(body), call.at);
#else  // nobody translates its arrays of UB, and nothing sees what it reads and writes
  ::ophook::rt::refuse("asc_vf_call", "this source was compiled without what makes threads of its functions", call.at);
#endif
}

// What the vendor's own operators call, and no page has: the same by older names, and divisions by a number that is
// known before as products with its inverse.
namespace AscendC {
namespace Simt {
using Dim3 = ::dim3;
template <auto funcPtr, typename... Args>
__aicore__ inline void VF_CALL(::ophook::rt::SimtCall call, Args&&... args) {
  asc_vf_call<funcPtr>(call, static_cast<Args&&>(args)...);
}
template <int32_t dim = 0>
inline auto part_of(const OphookIndex& index) {
  static_assert(dim >= 0 && dim < 3, "a dimension is 0, 1 or 2");
  return int32_t(dim == 0 ? index.x : dim == 1 ? index.y : index.z);
}
template <int32_t dim = 0>
__aicore__ inline int32_t GetThreadNum() {
  return part_of<dim>(blockDim);
}
template <int32_t dim = 0>
__aicore__ inline int32_t GetThreadIdx() {
  return part_of<dim>(threadIdx);
}
__aicore__ inline int32_t GetBlockIdx() { return int32_t(blockIdx.x); }
__aicore__ inline int32_t GetBlockNum() { return int32_t(gridDim.x); }

template <typename T>
__aicore__ inline T Min(T x, std::common_type_t<T> y) {
  return y < x ? y : x;
}
template <typename T>
__aicore__ inline T Max(T x, std::common_type_t<T> y) {
  return x < y ? y : x;
}
__aicore__ inline float Sin(float x) { return __builtin_sinf(x); }
__aicore__ inline float Cos(float x) { return __builtin_cosf(x); }
__aicore__ inline float Log(float x) { return __builtin_logf(x); }
template <typename T = float>
__aicore__ inline bool IsNan(T x) {
  return x != x;
}

template <typename T>
using Twice = std::conditional_t<sizeof(T) == 8, unsigned __int128, uint64_t>;
template <typename T>
__aicore__ inline T UintDiv(T dividend, std::common_type_t<T> magic, std::common_type_t<T> shift) {
  static_assert(std::is_unsigned_v<T> && sizeof(T) >= 4, "UintDiv takes uint32_t and uint64_t");
  const Twice<T> high = (Twice<T>(dividend) * magic) >> (8 * sizeof(T));
  return T((high + dividend) >> shift);
}
}  // namespace Simt
template <auto funcPtr, typename... Args>
__aicore__ inline void VF_CALL(Args&&... args) {
  asc_vf_call<funcPtr>(static_cast<Args&&>(args)...);
}
template <typename T>
__aicore__ inline void GetUintDivMagicAndShift(T& magic, T& shift, std::common_type_t<T> divisor) {
  static_assert(std::is_unsigned_v<T> && sizeof(T) >= 4, "GetUintDivMagicAndShift takes uint32_t and uint64_t");
  using Twice = Simt::Twice<T>;
  for (shift = 0; shift < 8 * sizeof(T) && (Twice(1) << shift) < divisor; ++shift) {
  }
  magic = T((((Twice(1) << shift) - divisor) << (8 * sizeof(T))) / (divisor ? divisor : 1) + 1);
}
}  // namespace AscendC
