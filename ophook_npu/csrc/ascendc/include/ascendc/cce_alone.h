// What the device's compiler knows of a source that includes no header of Ascend C: its types, qualifiers and
// intrinsics. Other names stay free for the source.
#pragma once

#define int4b_t OphookInt4
#include "../kernel_operator.h"
#undef int4b_t

inline void preload(const void*, int64_t = 0) {}
inline int64_t get_icache_prl_st() { return 0; }

// Of functions of tiles, which PTO is made of, and of what they read and write.
// An Ascend 950's, which sources for both name.
template <typename... T>
void copy_gm_to_ubuf_align_v2(T...) {
  static_assert(sizeof...(T) > 100, "copy_gm_to_ubuf_align_v2: only an Ascend 950 has it");
}
template <typename... T>
void copy_ubuf_to_gm_align_v2(T...) {
  static_assert(sizeof...(T) > 100, "copy_ubuf_to_gm_align_v2: only an Ascend 950 has it");
}
#define __tf__
#define __in__
#define __out__
#define __cce_get_tile_ptr(tile) (tile)
