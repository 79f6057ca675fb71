// A line of the data cache, by an address in it: what the C interface and threads have alike.
#pragma once

#include "runtime.h"

inline void asc_dcci_single(void* dst, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::cache_clean({static_cast<uint8_t*>(dst), 0, ophook::rt::Dtype::u8}, false, at);
}
