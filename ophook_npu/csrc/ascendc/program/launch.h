// `kernel<<<blocks, l2ctrl, stream>>>(arguments)` in a program's host code: what `ophook_npu.sim.program` writes in its
// place. The kernel becomes a task of the stream, core by core and with all checks, as a vendor package's kernels do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <tuple>
#include <type_traits>
#include <utility>

namespace ophook::program {

struct Pointer {  // an argument that may be device memory
  const void* address;
  int32_t element;  // bytes
};

// Which cores a kernel function runs on: its qualifiers or KERNEL_TASK_TYPE say so, where it is defined or declared.
struct Declared {
  Declared(const char* kernel, int kind);
};

// 0, or the code with which the launch failed.
uint32_t enqueue(const char* kernel, uint64_t blocks, void* stream, std::function<void()> run, const Pointer* pointers,
             size_t pointer_count);

template <typename Kernel>
struct Launch {
  const char* name;
  uint64_t blocks;
  void* stream;
  Kernel kernel;

  template <typename... T>
  uint32_t operator()(T... arguments) const {
    Pointer pointers[sizeof...(T) + 1] = {};
    size_t count = 0;
    ([&] {
      if constexpr (std::is_pointer_v<T>) {
        using U = std::remove_pointer_t<T>;
        if constexpr (std::is_void_v<U> || std::is_function_v<U>) pointers[count++] = {reinterpret_cast<const void*>(arguments), 1};
        else pointers[count++] = {arguments, int32_t(sizeof(U))};
      }
    }(), ...);
    auto run = [kernel = kernel, copy = std::make_tuple(arguments...)] { std::apply(kernel, copy); };
    return enqueue(name, blocks, stream, std::move(run), pointers, count);
  }
};

// The second and third may be left out: no special use of the second-level cache, the default stream.
template <typename Kernel, typename L2 = std::nullptr_t>
Launch<Kernel> launch(const char* name, Kernel kernel, uint64_t blocks, L2 = {}, void* stream = nullptr) {
  return {name, blocks, stream, std::move(kernel)};
}

}  // namespace ophook::program
