// What kernels of AI CPUs call, in files named .aicpu: printf, assert and a barrier of memory. Such a kernel is a
// function of the program here, which a launch makes a task of the stream (csrc/ascendc/program/launch.h).
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace AscendC {

__attribute__((format(printf, 1, 2))) inline void printf(const char* fmt, ...) {
  va_list list;
  va_start(list, fmt);
  std::vprintf(fmt, list);
  va_end(list);
  std::fflush(stdout);
}

inline void DataStoreBarrier() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// The kernel ends there, and its task has failed; the program goes on.
[[noreturn]] inline void ophook_assertion(const char* expression, const char* file, int line) {
  printf("[ASSERT]` %s ' at %s:%d\n", expression, file, line);
  throw std::runtime_error(std::string("its assertion failed: ") + expression);
}

}  // namespace AscendC

#undef assert
#define assert(expression) ((expression) ? void() : ::AscendC::ophook_assertion(#expression, __FILE__, __LINE__))
