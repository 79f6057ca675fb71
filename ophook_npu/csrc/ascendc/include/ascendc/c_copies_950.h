// The C interface of Ascend 950: copies between device memory and the unified buffer. Lengths and strides are in bytes,
// and a stride goes from one piece's beginning to the next one's.
#pragma once

#include "c_numbers_8.h"
#include "c_support.h"

// How long the L2 cache keeps what is copied: nothing here depends on it.
enum class asc_load_l2_cache_mode : uint8_t {
  NORMAL_FIRST_VICTIM = 0,
  NORMAL_LAST_VICTIM = 1,
  NORMAL_PERSISTENT = 2,
  NOTALLOC_KEEP = 4,
  NOTALLOC_CLEAN = 5,
  NOTALLOC_DROP = 6,
};
enum class asc_store_l2_cache_mode : uint8_t {
  NORMAL_FIRST_VICTIM = 0,
  NORMAL_LAST_VICTIM = 1,
  NORMAL_PERSISTENT = 2,
  NOTALLOC_CLEAN = 4,
};

namespace ophook::c {

// Strides as gaps: in the unified buffer each piece takes `held` bytes, whole blocks.
inline bool strided(const char* call, Blocks& pieces, uint64_t held, uint64_t local, uint64_t global, bool in,
                    At where) {
  if (pieces.count < 2) return true;
  if (local == pieces.length && global == pieces.length && held % pieces.length) {  // one after the other on both sides
    pieces = {1, pieces.length * pieces.count, 0, 0};
    return true;
  }
  if (local % 32)
    return refuse(call, "the stride in the unified buffer is no multiple of 32 bytes, which is not simulated", where),
           false;
  pieces.from_gap = in ? global - pieces.length : local - held;
  pieces.to_gap = in ? local - held : global - pieces.length;
  return true;
}
inline uint64_t whole_blocks(uint64_t bytes) { return (bytes + 31) / 32 * 32; }

template <typename T>
T* later(T* address, uint64_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(address) + bytes);
}

template <typename T>
void copy_in_align(T* dst, T* src, uint32_t count, uint32_t length, uint8_t left, uint8_t right, bool constant,
                   uint64_t src_stride, uint32_t dst_stride, At where) {
  const char* call = "asc_copy_gm2ub_align";
  Padding padding{!constant, left, right, 0};
  if (!constant && (left || right)) {  // with the first number that is copied
    if (count > 1)
      return refuse(call, "of several pieces no page says which number fills them up: enable_constant_pad is false",
                    where);
    std::memcpy(&padding.value, src, sizeof(T));
  }
  Blocks pieces{count, length, 0, 0};
  const uint64_t held = whole_blocks((uint64_t(left) + right) * sizeof(T) + length);
  if (!strided(call, pieces, held, dst_stride, src_stride, true, where)) return;
  AscendC::copy_details::looped(true, [&](uint64_t local, uint64_t far) {
    copy_in(call, at(call, later(dst, local), where), global(later(src, far)), pieces, &padding, where);
  });
}
template <typename T>
void copy_out_align(T* dst, T* src, uint32_t count, uint32_t length, uint64_t dst_stride, uint32_t src_stride,
                    At where) {
  const char* call = "asc_copy_ub2gm_align";
  Blocks pieces{count, length, 0, 0};
  if (!strided(call, pieces, whole_blocks(length), src_stride, dst_stride, false, where)) return;
  AscendC::copy_details::looped(false, [&](uint64_t local, uint64_t far) {
    copy_out(call, global(later(dst, far)), at(call, later(src, local), where), pieces, true, where);
  });
}

}  // namespace ophook::c

#include "c_macros.inc"

OPHOOK_WITH_SYNC(asc_copy_gm2ub, OPHOOK_ANY, (D * dst, S* src, uint32_t size), (dst, src, size),
                 ophook::rt::copy_in("asc_copy_gm2ub", OPHOOK_LOCAL(dst), ophook::c::global(src), {1, size, 0, 0},
                                     nullptr, where))
OPHOOK_ANY inline void asc_copy_gm2ub(D* dst, S* src, uint16_t n_burst, uint16_t len_burst, uint16_t src_stride,
                                      uint16_t dst_stride, OPHOOK_AT) {
  ophook::rt::Blocks pieces{n_burst, len_burst, 0, 0};
  const ophook::rt::Padding none;
  if (ophook::c::strided("asc_copy_gm2ub", pieces, ophook::c::whole_blocks(len_burst), dst_stride, src_stride, true,
                         where))
    ophook::rt::copy_in("asc_copy_gm2ub", OPHOOK_LOCAL(dst), ophook::c::global(src), pieces, &none, where);
}
OPHOOK_WITH_SYNC(asc_copy_ub2gm, OPHOOK_ANY, (D * dst, S* src, uint32_t size), (dst, src, size),
                 ophook::rt::copy_out("asc_copy_ub2gm", ophook::c::global(dst), OPHOOK_LOCAL(src), {1, size, 0, 0},
                                      false, where))
OPHOOK_ANY inline void asc_copy_ub2gm(D* dst, S* src, uint16_t n_burst, uint16_t len_burst, uint16_t dst_stride,
                                      uint16_t src_stride, OPHOOK_AT) {
  ophook::rt::Blocks pieces{n_burst, len_burst, 0, 0};
  if (ophook::c::strided("asc_copy_ub2gm", pieces, ophook::c::whole_blocks(len_burst), src_stride, dst_stride, false,
                         where))
    ophook::rt::copy_out("asc_copy_ub2gm", ophook::c::global(dst), OPHOOK_LOCAL(src), pieces, true, where);
}

#define OPHOOK_ALIGNED                                                                                           \
  OPHOOK_OF(int8_t, uint8_t, hifloat8_t, fp8_e5m2_t, fp8_e4m3fn_t, int16_t, uint16_t, half, bfloat16_t, int32_t, \
            uint32_t, float)
OPHOOK_WITH_SYNC(asc_copy_gm2ub_align, OPHOOK_ALIGNED, (T * dst, T* src, uint32_t size), (dst, src, size),
                 ophook::rt::copy_in("asc_copy_gm2ub_align", OPHOOK_LOCAL(dst), ophook::c::global(src), {1, size, 0, 0},
                                     nullptr, where))
OPHOOK_WITH_SYNC(asc_copy_ub2gm_align, OPHOOK_ALIGNED, (T * dst, T* src, uint32_t size), (dst, src, size),
                 ophook::rt::copy_out("asc_copy_ub2gm_align", ophook::c::global(dst), OPHOOK_LOCAL(src),
                                      {1, size, 0, 0}, false, where))
// The older form has the cache's mode as a number.
#define OPHOOK_CACHED(load, store)                                                                                   \
  OPHOOK_ALIGNED inline void asc_copy_gm2ub_align(                                                                   \
      T* dst, T* src, uint16_t n_burst, uint32_t len_burst, uint8_t left_padding_num, uint8_t right_padding_num,     \
      bool enable_constant_pad, load, uint64_t src_stride, uint32_t dst_stride, OPHOOK_AT) {                         \
    ophook::c::copy_in_align(dst, src, n_burst, len_burst, left_padding_num, right_padding_num, enable_constant_pad, \
                             src_stride, dst_stride, where);                                                         \
  }                                                                                                                  \
  OPHOOK_ALIGNED inline void asc_copy_ub2gm_align(T* dst, T* src, uint16_t n_burst, uint32_t len_burst, store,       \
                                                  uint64_t dst_stride, uint32_t src_stride, OPHOOK_AT) {             \
    ophook::c::copy_out_align(dst, src, n_burst, len_burst, dst_stride, src_stride, where);                          \
  }
OPHOOK_CACHED(asc_load_l2_cache_mode, asc_store_l2_cache_mode)
OPHOOK_CACHED(uint8_t, uint8_t)
#undef OPHOOK_CACHED
#undef OPHOOK_ALIGNED

inline void asc_set_gm2ub_pad(uint32_t pad_val) { ophook::rt::pad_value(pad_val); }  // an older name of the value

#define OPHOOK_LOOPS(name, in, size_type)                                                           \
  inline void asc_set_##name##_loop_size(size_type loop1_size, size_type loop2_size) {              \
    ophook::rt::CopyLoops& loops = ophook::rt::copy_loops(in);                                      \
    loops.size[0] = loop1_size, loops.size[1] = loop2_size;                                         \
  }                                                                                                 \
  inline void asc_set_##name##_loop1_stride(uint64_t loop1_src_stride, uint64_t loop1_dst_stride) { \
    ophook::rt::CopyLoops& loops = ophook::rt::copy_loops(in);                                      \
    (in ? loops.global : loops.local)[0] = loop1_src_stride;                                        \
    (in ? loops.local : loops.global)[0] = loop1_dst_stride;                                        \
  }                                                                                                 \
  inline void asc_set_##name##_loop2_stride(uint64_t loop2_src_stride, uint64_t loop2_dst_stride) { \
    ophook::rt::CopyLoops& loops = ophook::rt::copy_loops(in);                                      \
    (in ? loops.global : loops.local)[1] = loop2_src_stride;                                        \
    (in ? loops.local : loops.global)[1] = loop2_dst_stride;                                        \
  }
OPHOOK_LOOPS(gm2ub, true, uint64_t)
OPHOOK_LOOPS(ub2gm, false, uint32_t)
#undef OPHOOK_LOOPS

// A copy of up to five dimensions: strides, padding and its value are told before it.
constexpr uint64_t ASC_DEFAULT_NDIM_PAD_COUNT_CONFIG_VALUE = 0;
union asc_ndim_pad_count_config {
  uint64_t config = ASC_DEFAULT_NDIM_PAD_COUNT_CONFIG_VALUE;
  struct {
    uint8_t loop1_lp_count, loop1_rp_count, loop2_lp_count, loop2_rp_count;
    uint8_t loop3_lp_count, loop3_rp_count, loop4_lp_count, loop4_rp_count;
  };
};
inline void asc_set_ndim_pad_count(asc_ndim_pad_count_config& config) {
  ophook::rt::Dimensions& told = ophook::rt::dimensions();
  for (int d = 1; d < 5; ++d) {
    told.before[d] = uint8_t(config.config >> (d - 1) * 16);
    told.behind[d] = uint8_t(config.config >> ((d - 1) * 16 + 8));
  }
}
OPHOOK_MOVED inline void asc_set_ndim_pad_value(T pad_value) {
  ophook::rt::dimensions().value = 0;
  std::memcpy(&ophook::rt::dimensions().value, &pad_value, sizeof pad_value);
}
#define OPHOOK_STRIDE(d)                                                                \
  inline void asc_set_ndim_loop##d##_stride(uint64_t dst_stride, uint64_t src_stride) { \
    ophook::rt::dimensions().to_step[d] = dst_stride;                                   \
    ophook::rt::dimensions().from_step[d] = src_stride;                                 \
  }
OPHOOK_STRIDE(0)
OPHOOK_STRIDE(1)
OPHOOK_STRIDE(2)
OPHOOK_STRIDE(3)
OPHOOK_STRIDE(4)
#undef OPHOOK_STRIDE
#define OPHOOK_CACHED(cache)                                                                                      \
  OPHOOK_OF(int8_t, uint8_t, fp4x2_e2m1_t, fp4x2_e1m2_t, fp8_e8m0_t, fp8_e5m2_t, fp8_e4m3fn_t, int16_t, uint16_t, \
            half, bfloat16_t, int32_t, uint32_t, float)                                                           \
  inline void asc_ndim_copy_gm2ub(T* dst, T* src, uint32_t loop0_size, uint32_t loop1_size, uint32_t loop2_size,  \
                                  uint32_t loop3_size, uint32_t loop4_size, uint8_t loop0_lp_count,               \
                                  uint8_t loop0_rp_count, bool padding_mode, cache, OPHOOK_AT) {                  \
    ophook::rt::Dimensions all = ophook::rt::dimensions();                                                        \
    const uint32_t sizes[] = {loop0_size, loop1_size, loop2_size, loop3_size, loop4_size};                        \
    for (int d = 0; d < 5; ++d) all.size[d] = sizes[d];                                                           \
    all.before[0] = loop0_lp_count, all.behind[0] = loop0_rp_count, all.constant = padding_mode;                  \
    ophook::rt::copy_dimensions("asc_ndim_copy_gm2ub", OPHOOK_LOCAL(dst), ophook::c::global(src), sizeof(T), all, \
                                where);                                                                           \
  }
OPHOOK_CACHED(asc_load_l2_cache_mode)
OPHOOK_CACHED(uint8_t)
#undef OPHOOK_CACHED

#include "c_macros_end.inc"
