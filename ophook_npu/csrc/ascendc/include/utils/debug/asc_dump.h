// Prints what memory holds, by its address: of device memory, or of a local memory of this core.
#pragma once
#include <cstdio>

#include "../../kernel_operator.h"

#define OPHOOK_DUMP(name)                                                              \
  template <typename T>                                                                \
  __aicore__ inline void name(T* input, uint32_t desc, uint32_t dump_size,             \
                              ophook::rt::At at = ophook::rt::At::here()) {            \
    ophook::rt::dump_at(#name, input, ophook::rt::dtype_of<T>(), desc, dump_size, at); \
  }
OPHOOK_DUMP(asc_dump)
OPHOOK_DUMP(asc_dump_gm)
OPHOOK_DUMP(asc_dump_ubuf)
OPHOOK_DUMP(asc_dump_l1buf)
OPHOOK_DUMP(asc_dump_cbuf)
#undef OPHOOK_DUMP
