// `kernel<<<blocks, l2ctrl, stream>>>(arguments)` in a program's host code: what `ophook_npu.sim.program` writes in its
// place. The kernel becomes a task of the stream, core by core and with all checks, as a vendor package's kernels do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "ascendc/include/ascendc/architecture.h"
#include "ascendc/include/ascendc/compiler_names.h"
#if defined(__CCE_AICORE__) && __CCE_AICORE__ == 310
#include "ascendc/simt.h"
#else
namespace ophook::rt {
__attribute__((visibility("default"))) bool is_vector_core();
struct SimtLaunch;
}  // namespace ophook::rt
#endif

// Hidden: each library of kernels has its own, also where a program loads several (aclrtBinaryLoadFromFile).
#pragma GCC visibility push(hidden)
namespace ophook::program {

struct Pointer {  // an argument that may be device memory
  const void* address;
  int32_t element;      // bytes
  bool device = false;  // it was, when the kernel was launched
};

// Those of the arguments that may be device memory.
template <typename... T>
std::vector<Pointer> pointers_in(T... arguments) {
  std::vector<Pointer> found;
  (
      [&] {
        if constexpr (std::is_pointer_v<T>) {
          using U = std::remove_pointer_t<T>;
          if constexpr (std::is_void_v<U> || std::is_function_v<U>)
            found.push_back({reinterpret_cast<const void*>(arguments), 1});
          else found.push_back({arguments, int32_t(sizeof(U))});
        }
      }(),
      ...);
  return found;
}

// Which cores a kernel function runs on: its qualifiers or KERNEL_TASK_TYPE say so, where it is defined or declared.
struct Declared {
  Declared(const char* kernel, int kind);
};

struct Bound {  // a kernel with its arguments
  std::function<void()> run;
  std::vector<Pointer> pointers;
};

// A source that asks for which kind of core it is compiled is compiled for each, and what cube cores run is found by
// the name of the type that calls it (sim/program.py); nullptr: the same as vector cores.
using Call = void (*)(const void* kernel, const void* arguments);
Call of_cube(const char* type);

template <typename Kernel, typename... T>
struct Site {
  static void call(const void* kernel, const void* arguments) {
    std::apply(*static_cast<const Kernel*>(kernel), *static_cast<const std::tuple<T...>*>(arguments));
  }
};

template <typename Kernel, typename... T>
Bound bound(const Kernel& kernel, const std::tuple<T...>& arguments) {
  static const Call vector = Site<Kernel, T...>::call, cube = of_cube(typeid(Site<Kernel, T...>).name());
  return {[=] { (rt::is_vector_core() || !cube ? vector : cube)(&kernel, &arguments); },
          std::apply([](auto... value) { return pointers_in(value...); }, arguments)};
}

// A kernel with C linkage, which aclrtBinaryGetFunction finds by name: how it is called with arguments in memory.
struct Named {
  Named(const char* kernel, Bound (*bind)(const void* const* arguments), std::vector<size_t> sizes);
  Named(const char* kernel, Bound (*bind)(const void* const* arguments), std::vector<size_t> sizes,
        std::vector<uint64_t> keys);
};

template <auto Kernel>
struct Entry;
template <typename... T, void (*Kernel)(T...)>
struct Entry<Kernel> {
  static Bound bind(const void* const* arguments) {
    size_t next = 0;
    std::tuple<std::decay_t<T>...> values;
    std::apply([&](auto&... value) { (std::memcpy(&value, arguments[next++], sizeof value), ...); }, values);
    return bound([](T... value) { Kernel(value...); }, values);
  }
  static std::vector<size_t> sizes() { return {sizeof(std::decay_t<T>)...}; }
};

// What --npu-arch told.
#ifdef __CCE_AICORE__
constexpr int kArchitecture = __CCE_AICORE__;
#else
constexpr int kArchitecture = 0;
#endif
// 0, or the code with which the launch failed.
uint32_t enqueue(const char* kernel, uint64_t blocks, void* stream, Bound work, int architecture = kArchitecture);

// The same for a kernel of threads.
uint32_t enqueue_threads(const char* kernel, const rt::SimtLaunch& sizes, void* stream, Bound work, int architecture);

// What is left of a workspace behind the bytes of the system, as a kernel sees it of which HAVE_WORKSPACE is defined.
inline uint8_t* user_workspace(void* workspace) {
  constexpr size_t kSystem = 16 * 1024 * 1024;  // PlatformAscendC::GetLibApiWorkSpaceSize
  return static_cast<uint8_t*>(workspace) + kSystem;
}

// A task of the stream that runs on an AI CPU: what it returns is its status.
uint32_t enqueue_cpu(const char* kernel, uint64_t blocks, void* stream, std::function<uint32_t()> work);

// The same for a call that waits; `kind` as ascendc_options has it.
int run_now(const char* kernel, uint64_t blocks, int kind, uint64_t tiling_key, Bound work);

// An argument of a launch in a source of ascendc_library: void* for each pointer, whatever the kernel's is to.
struct Address {
  void* address;
  template <typename T>
  operator T*() const {
    return static_cast<T*>(address);
  }
};
template <typename T>
auto argument(T value) {
  if constexpr (std::is_convertible_v<T, void*> && std::is_pointer_v<T>) return Address{value};
  else return value;
}

template <typename Kernel>
struct Launch {
  const char* name;
  uint64_t blocks;
  void* stream;
  Kernel kernel;

  template <typename... T>
  uint32_t operator()(T... arguments) const {
    return enqueue(name, blocks, stream, bound(kernel, std::make_tuple(arguments...)));
  }
};

// The second and third may be left out: no special use of the second-level cache, the default stream. On Ascend 950 the
// second is how many bytes of UB the `extern __ubuf__` arrays of its threads have.
template <typename Kernel, typename Second = std::nullptr_t>
auto launch(const char* name, Kernel kernel, uint64_t blocks, Second second = {}, void* stream = nullptr) {
#if defined(__CCE_AICORE__) && __CCE_AICORE__ == 310
  if constexpr (std::is_integral_v<Second>) {
    auto with = [kernel, second](auto... arguments) { rt::simt_dynamic(uint64_t(second)), kernel(arguments...); };
    return Launch<decltype(with)>{name, blocks, stream, std::move(with)};
  } else
#endif
    return Launch<Kernel>{name, blocks, stream, std::move(kernel)};
}

// A kernel of an AI CPU: `kernel<<<blocks, nullptr, stream>>>(&arguments, bytes)`. It gets a copy of them. More than
// one block does nothing more.
template <typename R, typename P>
auto launch_cpu(const char* name, R (*kernel)(P*), uint64_t blocks, std::nullptr_t = {}, void* stream = nullptr) {
  static_assert(!std::is_void_v<R>, "a kernel of an AI CPU returns its status");
  return [=](const void* arguments, size_t bytes) {
    std::vector<std::max_align_t> copy(bytes / sizeof(std::max_align_t) + 1);
    std::memcpy(copy.data(), arguments, bytes);
    return enqueue_cpu(name, blocks, stream,
                       [=]() mutable { return uint32_t(kernel(reinterpret_cast<P*>(copy.data()))); });
  };
}

#if defined(__CCE_AICORE__) && __CCE_AICORE__ == 310
// A kernel of threads: `kernel<<<blocks, threads, bytes of UB, stream>>>(arguments)`.
template <typename Kernel>
struct ThreadLaunch {
  const char* name;
  rt::SimtLaunch sizes;
  void* stream;
  Kernel kernel;

  template <typename... T>
  uint32_t operator()(T... arguments) const {
    const auto body = [kernel = kernel, arguments...] { kernel(arguments...); };
    const auto run = [name = name, sizes = sizes, body] { rt::simt_kernel(name, sizes, rt::simt_body(body)); };
    return enqueue_threads(name, sizes, stream, {run, pointers_in(arguments...)}, kArchitecture);
  }
};
template <typename Kernel>
ThreadLaunch<Kernel> launch_threads(const char* name, Kernel kernel, dim3 blocks, dim3 threads, uint64_t bytes = 0,
                                    void* stream = nullptr) {
  return {name, {blocks, threads, bytes}, stream, std::move(kernel)};
}
#endif

}  // namespace ophook::program
#pragma GCC visibility pop
