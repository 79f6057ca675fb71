// CCE intrinsics of the cube unit: loads of fractals, products, results. See cce.h.
#pragma once

#include "c_support.h"

namespace __cce_scalar {
enum addr_cal_mode_t { inc, dec };
}
using __cce_scalar::addr_cal_mode_t, __cce_scalar::inc, __cce_scalar::dec;

#include "c_macros.inc"
#define OPHOOK_AT_IN(memory, address) ophook::c::at(__func__, address, where, ophook::rt::Memory::memory)
#define OPHOOK_LOADED OPHOOK_OF(int8_t, uint8_t, half, bfloat16_t, int32_t, uint32_t, float)

// ---- products ----
#define OPHOOK_MAD                                                              \
  OPHOOK_FROM_TO(int32_t(int8_t), float(half), float(float), float(bfloat16_t)) \
  inline void mad(D* c, S* a, S* b, uint16_t m, uint16_t k, uint16_t n
OPHOOK_MAD, uint8_t unit_flag, bool align, bool c_source, bool c_init, OPHOOK_AT) {
  AscendC::MmadParams p(m, n, k, unit_flag, c_source, c_init);
  p.kDirectionAlign = align;
  ophook::rt::mmad(OPHOOK_AT_IN(l0c, c), OPHOOK_AT_IN(l0a, a), OPHOOK_AT_IN(l0b, b), nullptr, p, where);
}
OPHOOK_MAD, uint8_t feature, uint8_t mask, uint8_t unit_flag, bool align, bool weight, bool c_source, bool c_init,
    OPHOOK_AT) {
  if (feature || mask || weight) return ophook::rt::refuse("mad", "offsets of the matrices are not simulated", where);
  mad(c, a, b, m, k, n, unit_flag, align, c_source, c_init, where);
}
OPHOOK_MAD, bool c_init, OPHOOK_AT) {
  mad(c, a, b, m, k, n, uint8_t(0), false, false, c_init, where);
}
#undef OPHOOK_MAD

// ---- into L1, L0A and L0B ----
inline void copy_gm_to_cbuf(void* dst, void* src, uint8_t, OPHOOK_BURSTS, pad_t mode, OPHOOK_AT) {
  if (mode != PAD_NONE) return ophook::rt::refuse("copy_gm_to_cbuf", "padMode is not simulated", where);
  ophook::rt::copy_in("copy_gm_to_cbuf", OPHOOK_AT_IN(l1, dst), ophook::c::global(src),
                      ophook::c::blocks(n_burst, len_burst, src_gap, dst_gap), nullptr, where);
}
inline void copy_cbuf_to_gm(void* dst, void* src, uint8_t, OPHOOK_BURSTS, OPHOOK_AT) {
  ophook::rt::copy_out("copy_cbuf_to_gm", ophook::c::global(dst), OPHOOK_AT_IN(l1, src),
                       ophook::c::blocks(n_burst, len_burst, src_gap, dst_gap), false, where);
}
#define OPHOOK_ND2NZ(width, ...)                                                                                    \
  OPHOOK_OF(__VA_ARGS__)                                                                                            \
  inline void copy_gm_to_cbuf_multi_nd2nz_b##width(T* dst, T* src, uint8_t, uint16_t nd, uint16_t rows,             \
                                                   uint16_t columns, uint16_t src_matrix, uint16_t src_row,         \
                                                   uint16_t c0, uint16_t dst_row, uint16_t dst_matrix, OPHOOK_AT) { \
    ophook::rt::nd_to_nz(OPHOOK_AT_IN(l1, dst), ophook::c::global(src),                                             \
                         {nd, rows, columns, src_matrix, src_row, c0, dst_row, dst_matrix}, where);                 \
  }
OPHOOK_ND2NZ(8, int8_t, uint8_t)
OPHOOK_ND2NZ(16, half, bfloat16_t, int16_t, uint16_t)
OPHOOK_ND2NZ(32s, float, int32_t, uint32_t)
#undef OPHOOK_ND2NZ
#define OPHOOK_FRACTALS uint16_t start, uint8_t repeat, uint16_t src_stride, uint16_t dst_gap
#define OPHOOK_LOADS(name, in)                                                                                       \
  OPHOOK_LOADED inline void load_gm_to_##name(T* dst, T* src, OPHOOK_FRACTALS, uint8_t sid, addr_cal_mode_t mode,    \
                                              OPHOOK_AT) {                                                           \
    const auto from = ophook::c::global(src);                                                                        \
    ophook::rt::load_fractals(OPHOOK_AT_IN(in, dst), nullptr, &from,                                                 \
                              {start, repeat, src_stride, sid, dst_gap, false, uint8_t(mode)}, where);               \
  }                                                                                                                  \
  OPHOOK_LOADED inline void load_cbuf_to_##name(T* dst, T* src, OPHOOK_FRACTALS, uint8_t sid, bool transpose,        \
                                                addr_cal_mode_t mode, OPHOOK_AT) {                                   \
    const auto from = OPHOOK_AT_IN(l1, src);                                                                         \
    ophook::rt::load_fractals(OPHOOK_AT_IN(in, dst), &from, nullptr,                                                 \
                              {start, repeat, src_stride, sid, dst_gap, transpose, uint8_t(mode)}, where);           \
  }                                                                                                                  \
  OPHOOK_LOADED inline void load_cbuf_to_##name##_transpose(T* dst, T* src, OPHOOK_FRACTALS, bool decreases,         \
                                                            uint16_t fractal_gap, OPHOOK_AT) {                       \
    ophook::rt::load_transposed(OPHOOK_AT_IN(in, dst), OPHOOK_AT_IN(l1, src),                                        \
                                {start, repeat, src_stride, dst_gap, fractal_gap, decreases}, where);                \
  }                                                                                                                  \
  OPHOOK_LOADED inline void img2colv2_cbuf_to_##name(                                                                \
      T* dst, T* src, uint16_t step_k, uint16_t step_m, uint16_t pos_k, uint16_t pos_m, uint8_t stride_w,            \
      uint8_t stride_h, uint8_t filter_w, uint8_t filter_h, uint8_t dilation_w, uint8_t dilation_h, bool wide_w,     \
      bool wide_h, bool transpose, bool matrix_b, uint16_t channels, OPHOOK_AT) {                                    \
    const auto& set = *ophook::rt::image_settings();                                                                 \
    ophook::rt::load_image(                                                                                          \
        OPHOOK_AT_IN(in, dst), OPHOOK_AT_IN(l1, src),                                                                \
        {set.padding, set.height, set.width,  channels,   step_k,    step_m, pos_k,     pos_m,  stride_w, stride_h,  \
         filter_w,    filter_h,   dilation_w, dilation_h, transpose, false,  set.value, wide_w, wide_h,   matrix_b}, \
        where);                                                                                                      \
  }
OPHOOK_LOADS(ca, l0a)
OPHOOK_LOADS(cb, l0b)
#undef OPHOOK_LOADS
#undef OPHOOK_FRACTALS
// Width and height of the image, and what stands to its left, right, top and bottom.
inline void set_fmatrix(uint64_t config) {
  auto& set = *ophook::rt::image_settings();
  set.width = uint16_t(config), set.height = uint16_t(config >> 16);
  for (int i = 0; i < 4; ++i) set.padding[i] = uint8_t(config >> (32 + 8 * i));
}
inline void set_padding(uint64_t value) { ophook::rt::image_settings()->value = value; }

// ---- out of L0C ----
#define OPHOOK_RESULT                                                                                           \
  uint8_t, uint16_t n, uint16_t m, uint32_t dst_stride, uint16_t src_stride, uint8_t unit_flag, uint64_t quant, \
      uint8_t relu, bool channel_split, bool to_nd
#define OPHOOK_PARAMETERS                                                                                             \
  if (quant > VREQ8) return ophook::rt::refuse(__func__, "QuantPRE is no mode that is simulated", where);             \
  AscendC::DataCopyCO12DstParams given(n, m, dst_stride, src_stride, QuantMode_t(quant), relu, channel_split, to_nd); \
  given.unitFlag = unit_flag;                                                                                         \
  const auto p = AscendC::cube_details::fixpipe_of(given, where);                                                     \
  const auto* factors = AscendC::cube_details::factors_of(p.quantPre);
OPHOOK_FROM_TO(half(float), bfloat16_t(float), int8_t(float), uint8_t(float), float(float), half(int32_t),
               int16_t(int32_t), int8_t(int32_t), uint8_t(int32_t), int32_t(int32_t))
inline void copy_matrix_cc_to_gm(D* dst, S* src, OPHOOK_RESULT, OPHOOK_AT) {
  OPHOOK_PARAMETERS
  ophook::rt::fixpipe(ophook::c::global(dst), OPHOOK_AT_IN(l0c, src), factors, p, to_nd, where);
}
OPHOOK_FROM_TO(half(float), bfloat16_t(float), int8_t(float), uint8_t(float), half(int32_t), int16_t(int32_t),
               int8_t(int32_t), uint8_t(int32_t))
inline void copy_matrix_cc_to_cbuf(D* dst, S* src, OPHOOK_RESULT, OPHOOK_AT) {
  if (to_nd) return ophook::rt::refuse(__func__, "a result in L1 stays NZ here", where);
  OPHOOK_PARAMETERS
  ophook::rt::fixpipe_to_l1(OPHOOK_AT_IN(l1, dst), OPHOOK_AT_IN(l0c, src), factors, p, where);
}
#undef OPHOOK_PARAMETERS
#undef OPHOOK_RESULT
inline void set_quant_pre(uint64_t config) { AscendC::SetFixpipePreQuantFlag(config); }
// How many matrices, and from one to the next in L0C and in device memory: 16 bits each.
inline void set_nd_para(uint64_t config) {
  AscendC::SetFixpipeNz2ndFlag(uint16_t(config), uint16_t(config >> 16), uint16_t(config >> 32));
}

#undef OPHOOK_AT_IN
#undef OPHOOK_LOADED
#include "c_macros_end.inc"
