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
// With c_source a bias starts the sums: its place in the table is the upper half of the result's address.
OPHOOK_MAD, uint8_t unit_flag, bool align, bool c_source, bool c_init, OPHOOK_AT) {
  AscendC::MmadParams p(m, n, k, unit_flag, c_source, c_init);
  p.kDirectionAlign = align;
  const auto address = reinterpret_cast<uint64_t>(c), table = address >> 32;
  const bool told = c_source && !c_init && table < 1024;
  ophook::rt::Local bias;
  if (told) {
    bias = ophook::rt::local_at("mad", int(AscendC::TPosition::C2), table, uint64_t(n) * sizeof(D), where);
    bias.dtype = ophook::rt::dtype_of<D>();
    c = reinterpret_cast<D*>(address & 0xffffffff);
  }
  ophook::rt::mmad(OPHOOK_AT_IN(l0c, c), OPHOOK_AT_IN(l0a, a), OPHOOK_AT_IN(l0b, b), told ? &bias : nullptr, p, where);
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

// ---- into L1, the bias table, the buffer of factors, L0A and L0B ----
// The bias table is told by a number of bytes; with conv_control half becomes float on the way.
namespace ophook::c {
inline void fill_table(const char* call, uint64_t dst, void* src, Blocks pieces, bool widens, At where) {
  const uint64_t span = uint64_t(pieces.count) * pieces.length * (widens ? 2 : 1) +
                        (pieces.count ? uint64_t(pieces.count - 1) * pieces.to_gap : 0);
  Local to = local_at(call, int(AscendC::TPosition::C2), dst, span, where), from = at(call, src, where, Memory::l1);
  if (widens) from.dtype = Dtype::f16;
  to.dtype = widens ? Dtype::f32 : from.dtype;
  copy_local(call, to, from, pieces, where);
}
}  // namespace ophook::c
// Bursts of 64 bytes.
template <typename D>
void copy_cbuf_to_bt(D* dst, void* src, uint16_t conv_control, OPHOOK_BURSTS, OPHOOK_AT) {
  ophook::c::fill_table("copy_cbuf_to_bt", reinterpret_cast<uint64_t>(dst), src,
                        {n_burst, len_burst * 64ull, src_gap * 32ull, dst_gap * 64ull}, conv_control, where);
}
// Bursts of 128 bytes.
inline void copy_cbuf_to_fbuf(void* dst, void* src, OPHOOK_BURSTS, OPHOOK_AT) {
  ophook::rt::copy_local("copy_cbuf_to_fbuf", OPHOOK_AT_IN(fb, dst), OPHOOK_AT_IN(l1, src),
                         {n_burst, len_burst * 128ull, src_gap * 32ull, dst_gap * 128ull}, where);
}
// A value's bits over blocks: 15 bits each for repeats, blocks of a repeat, and the gap behind them.
#define OPHOOK_CREATE(name, in)                                                                                     \
  OPHOOK_OF(half, int16_t, uint16_t, int32_t, uint32_t, float)                                                      \
  inline void create_##name##_matrix(T* dst, int64_t config, std::conditional_t<sizeof(T) == 4, uint32_t, T> value, \
                                     OPHOOK_AT) {                                                                   \
    uint64_t bits = 0;                                                                                              \
    std::memcpy(&bits, &value, sizeof value);                                                                       \
    ophook::rt::fill_blocks(OPHOOK_AT_IN(in, dst), bits, config & 0x7fff, config >> 16 & 0x7fff,                    \
                            config >> 32 & 0x7fff, where);                                                          \
  }                                                                                                                 \
  inline void create_##name##_matrix_bf16(bfloat16_t* dst, int64_t config, bfloat16_t value, OPHOOK_AT) {           \
    ophook::rt::fill_blocks(OPHOOK_AT_IN(in, dst), value.bits, config & 0x7fff, config >> 16 & 0x7fff,              \
                            config >> 32 & 0x7fff, where);                                                          \
  }
OPHOOK_CREATE(ca, l0a)
OPHOOK_CREATE(cb, l0b)
OPHOOK_CREATE(cbuf, l1)
#undef OPHOOK_CREATE
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
  OPHOOK_LOADED inline void load_gm_to_##name(T* dst, T* src, uint16_t start, uint8_t repeat, uint16_t src_stride,   \
                                              uint8_t sid, OPHOOK_AT) {                                              \
    load_gm_to_##name(dst, src, start, repeat, src_stride, uint16_t(0), sid, inc, where);                            \
  }                                                                                                                  \
  OPHOOK_LOADED inline void load_cbuf_to_##name(T* dst, T* src, uint16_t start, uint8_t repeat, uint16_t src_stride, \
                                                uint8_t sid, bool transpose, OPHOOK_AT) {                            \
    load_cbuf_to_##name(dst, src, start, repeat, src_stride, uint16_t(0), sid, transpose, inc, where);               \
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
    const ophook::rt::Image& image = matrix_b ? set.right : set;                                                     \
    ophook::rt::load_image(OPHOOK_AT_IN(in, dst), OPHOOK_AT_IN(l1, src),                                             \
                           {image.padding, image.height, image.width, channels, step_k,   step_m,     pos_k,         \
                            pos_m,         stride_w,     stride_h,    filter_w, filter_h, dilation_w, dilation_h,    \
                            transpose,     false,        set.value,   wide_w,   wide_h,   false},                    \
                           where);                                                                                   \
  }
OPHOOK_LOADS(ca, l0a)
OPHOOK_LOADS(cb, l0b)
#undef OPHOOK_LOADS
// Two elements of 4 bits in a byte: 64 in a row of a fractal. From device memory it comes as bytes.
#define OPHOOK_LOADS(name, in)                                                                                 \
  inline void load_gm_to_##name##_s4(void* dst, void* src, OPHOOK_FRACTALS, uint8_t sid, addr_cal_mode_t mode, \
                                     OPHOOK_AT) {                                                              \
    const auto from = ophook::c::global(static_cast<int8_t*>(src));                                            \
    ophook::rt::load_fractals(OPHOOK_AT_IN(in, static_cast<int8_t*>(dst)), nullptr, &from,                     \
                              {start, repeat, src_stride, sid, dst_gap, false, uint8_t(mode)}, where);         \
  }                                                                                                            \
  inline void load_cbuf_to_##name##_s4(void* dst, void* src, OPHOOK_FRACTALS, uint8_t sid, bool transpose,     \
                                       addr_cal_mode_t mode, OPHOOK_AT) {                                      \
    const auto from = OPHOOK_AT_IN(l1, static_cast<int4b_t*>(src));                                            \
    ophook::rt::load_fractals(OPHOOK_AT_IN(in, static_cast<int4b_t*>(dst)), &from, nullptr,                    \
                              {start, repeat, src_stride, sid, dst_gap, transpose, uint8_t(mode)}, where);     \
  }
OPHOOK_LOADS(ca, l0a)
OPHOOK_LOADS(cb, l0b)
#undef OPHOOK_LOADS
#undef OPHOOK_FRACTALS
// Width and height of the image, and what stands to its left, right, top and bottom.
namespace ophook::c {
inline void set_image(Image& image, uint64_t config) {
  image.width = uint16_t(config), image.height = uint16_t(config >> 16);
  for (int i = 0; i < 4; ++i) image.padding[i] = uint8_t(config >> (32 + 8 * i));
}
}  // namespace ophook::c
inline void set_fmatrix(uint64_t config) { ophook::c::set_image(*ophook::rt::image_settings(), config); }
inline void set_fmatrix_b(uint64_t config) { ophook::c::set_image(ophook::rt::image_settings()->right, config); }
inline void set_l3d_rpt(uint64_t config) {  // how far from one to the next, how many, whether they widen the matrix
  ophook::rt::image_settings()->repeat = {uint16_t(config), uint8_t(config >> 16), uint8_t(config >> 24 & 1)};
}
inline void set_padding(uint64_t value) { ophook::rt::image_settings()->value = value; }

// ---- out of L0C ----
#define OPHOOK_RESULT                                                                                            \
  uint8_t, uint16_t n, uint16_t m, uint32_t dst_stride, uint16_t src_stride, uint8_t unit_flag, Q quant, R relu, \
      bool channel_split, bool to_nd
#define OPHOOK_RESULTS(name, copy, ...)                                                                               \
  template <typename D, typename S, ophook::c::number Q, ophook::c::number R>                                         \
    requires ophook::c::one_of<D(S), __VA_ARGS__>                                                                     \
  inline void name(D* dst, S* src, OPHOOK_RESULT, OPHOOK_AT) {                                                        \
    AscendC::DataCopyCO12DstParams given(n, m, dst_stride, src_stride, QuantMode_t(quant), uint8_t(relu),             \
                                         channel_split, to_nd);                                                       \
    given.unitFlag = unit_flag;                                                                                       \
    const auto p = AscendC::cube_details::fixpipe_of(given, where);                                                   \
    const auto* factors = AscendC::cube_details::factors_of(p.quantPre);                                              \
    copy;                                                                                                             \
  }                                                                                                                   \
  /* The same in two registers. */                                                                                    \
  template <typename D, typename S>                                                                                   \
    requires ophook::c::one_of<D(S), __VA_ARGS__>                                                                     \
  inline void name(D* dst, S* src, uint64_t xm, uint64_t xt, OPHOOK_AT) {                                             \
    name(dst, src, uint8_t(xm & 15), uint16_t(xm >> 4 & 0xfff), uint16_t(xm >> 16), uint32_t(xm >> 32), uint16_t(xt), \
         uint8_t(xt >> 32 & 3), xt >> 34 & 31, xt >> 39 & 7, bool(xt >> 42 & 1), bool(xt >> 43 & 1), where);          \
  }
OPHOOK_RESULTS(copy_matrix_cc_to_gm,
               ophook::rt::fixpipe(ophook::c::global(dst), OPHOOK_AT_IN(l0c, src), factors, p, to_nd, where),
               half(float), bfloat16_t(float), int8_t(float), uint8_t(float), float(float), half(int32_t),
               int16_t(int32_t), int8_t(int32_t), uint8_t(int32_t), int32_t(int32_t))
OPHOOK_RESULTS(copy_matrix_cc_to_cbuf,
               if (to_nd) return ophook::rt::refuse("copy_matrix_cc_to_cbuf", "a result in L1 stays NZ here", where);
               ophook::rt::fixpipe_to_l1(OPHOOK_AT_IN(l1, dst), OPHOOK_AT_IN(l0c, src), factors, p, where), half(float),
               bfloat16_t(float), int8_t(float), uint8_t(float), half(int32_t), int16_t(int32_t), int8_t(int32_t),
               uint8_t(int32_t))
#undef OPHOOK_RESULTS
#undef OPHOOK_RESULT
inline void set_quant_pre(uint64_t config) { AscendC::SetFixpipePreQuantFlag(config); }
// Where the factors of each column are, in units of 128 bytes of their buffer.
inline void set_fpc(uint64_t config, OPHOOK_AT) {
  if (config & ~uint64_t{0xff00})
    return ophook::rt::refuse("set_fpc", "only Quant_PRE_ADDR (8 to 15) is simulated", where);
  ophook::rt::fixpipe_settings()->factors = OPHOOK_AT_IN(fb, reinterpret_cast<uint64_t*>((config >> 8) * 128));
}
// How many matrices, and from one to the next in L0C and in device memory: 16 bits each.
inline void set_nd_para(uint64_t config) {
  AscendC::SetFixpipeNz2ndFlag(uint16_t(config), uint16_t(config >> 16), uint16_t(config >> 32));
}

#undef OPHOOK_AT_IN
#undef OPHOOK_LOADED
#include "c_macros_end.inc"
