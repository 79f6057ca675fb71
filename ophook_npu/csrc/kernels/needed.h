// A check that fails where an argument is null that this call needs.
#pragma once

#include <c10/util/StringUtil.h>

#include "kernels/absent.h"

#define SIM_NEEDED(there, ...)                                                                \
  do                                                                                          \
    if (!(there)) [[unlikely]]                                                                \
      throw ::sim::Absent({__func__, __FILE__, uint32_t(__LINE__)}, ::c10::str(__VA_ARGS__)); \
  while (0)
