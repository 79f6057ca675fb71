// printf as kernels call it without a namespace.
#pragma once
#include <cstdio>

#include "../../kernel_operator.h"

#ifdef OPHOOK_ASC_PROGRAM  // ophook_npu.sim.program gives printf a name of its own, on the host and in kernels
template <typename First, typename... Rest>
inline int printf(const char* format, First first, Rest... rest) {
  return ophook::rt::print(true, format, ophook::rt::printed(first), ophook::rt::printed(rest)...);
}
#endif
