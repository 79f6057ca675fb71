// The C interface of an Atlas A2 or A3: the cube unit, by addresses in its memories. Thin calls of what cube.h calls.
#pragma once

#include "c_support.h"

// ---- what the pages call structures ----
constexpr uint64_t ASC_FILL_VALUE_DEFAULT_VALUE = 0;
union asc_fill_value_config {
  uint64_t config = ASC_FILL_VALUE_DEFAULT_VALUE;
  struct {
    uint64_t repeat : 15;
    uint64_t reserved1 : 1;
    uint64_t blk_num : 15;
    uint64_t reserved2 : 1;
    uint64_t dst_gap : 15;
    uint64_t reserved3 : 17;
  };
};
constexpr uint64_t ASC_DEFAULT_L13D_FMATRIX_CONFIG_VALUE = 0;
union asc_l13d_fmatrix_config {
  uint64_t config = ASC_DEFAULT_L13D_FMATRIX_CONFIG_VALUE;
  struct {
    uint16_t l1_height, l1_width;
    uint8_t padding_left_size, padding_right_size, padding_top_size, padding_bottom_size;
  };
};
constexpr uint64_t ASC_DEFAULT_LOAD3D_V2_CONFIG_VALUE = 0x10000;
union asc_load3d_v2_config {
  uint64_t config = ASC_DEFAULT_LOAD3D_V2_CONFIG_VALUE;
  struct {
    uint64_t rpt_stride : 16;
    uint64_t rpt_time : 8;
    uint64_t rpt_mode : 1;
    uint64_t reserved2 : 39;
  };
};

namespace ophook::c {
// The instruction's strides of NZ results are in blocks of 32 bytes, the C interface's in elements.
template <typename D>
AscendC::FixpipeParamsV220 fixpipe(const char* call, uint16_t n, uint16_t m, uint32_t dst_stride, uint16_t src_stride,
                                   uint8_t unit_flag, uint64_t quant, uint8_t relu, bool split, bool to_nd, At where) {
  const uint64_t bytes = uint64_t(dst_stride) * sizeof(D);
  if (!to_nd && bytes % 32) refuse(call, "an NZ result's stride is a multiple of 32 bytes", where);
  AscendC::DataCopyCO12DstParams p(n, m, to_nd ? dst_stride : uint32_t(bytes / 32), src_stride, QuantMode_t(quant),
                                   relu, split, to_nd);
  p.unitFlag = unit_flag;
  return AscendC::cube_details::fixpipe_of(p, where);
}
inline AscendC::MmadParams product(uint16_t m, uint16_t k, uint16_t n, uint8_t unit_flag, bool align, bool from_table,
                                   bool zero) {
  AscendC::MmadParams p(m, n, k, unit_flag, from_table, zero);
  p.kDirectionAlign = align;
  return p;
}
inline void set_image(Image& set, const asc_l13d_fmatrix_config& config) {
  set.height = config.l1_height, set.width = config.l1_width;
  set.padding[0] = config.padding_left_size, set.padding[1] = config.padding_right_size;
  set.padding[2] = config.padding_top_size, set.padding[3] = config.padding_bottom_size;
}
template <typename V>
uint64_t bits_of(V value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
}  // namespace ophook::c

#include "c_macros.inc"
#define OPHOOK_AT_IN(memory, address) ophook::c::at(__func__, address, where, ophook::rt::Memory::memory)
#define OPHOOK_LOADED OPHOOK_OF(int4b_t, int8_t, uint8_t, half, bfloat16_t, int32_t, uint32_t, float)
#define OPHOOK_NUMBER OPHOOK_OF(int8_t, uint8_t, half, bfloat16_t, int32_t, uint32_t, float)

// ---- products ----
#define OPHOOK_FLAGS uint8_t unit_flag, bool k_direction_align, bool c_matrix_source, bool c_matrix_init_val
#define OPHOOK_PRODUCT(name, head, C, A)                                                                               \
  OPHOOK_WITH_SYNC(                                                                                                    \
      name, OPHOOK_ALL head,                                                                                           \
      (C * c_matrix, A * a_matrix, A * b_matrix, uint16_t left_height, uint16_t n_dim, uint16_t right_width,           \
       OPHOOK_FLAGS),                                                                                                  \
      (c_matrix, a_matrix, b_matrix, left_height, n_dim, right_width, unit_flag, k_direction_align, c_matrix_source,   \
       c_matrix_init_val),                                                                                             \
      ophook::rt::mmad(OPHOOK_AT_IN(l0c, c_matrix), OPHOOK_AT_IN(l0a, a_matrix), OPHOOK_AT_IN(l0b, b_matrix), nullptr, \
                       ophook::c::product(left_height, n_dim, right_width, unit_flag, k_direction_align,               \
                                          c_matrix_source, c_matrix_init_val),                                         \
                       where))                                                                                         \
  OPHOOK_WITH_SYNC(name, OPHOOK_ALL head,                                                                              \
                   (C * c_matrix, A * a_matrix, A * b_matrix, uint16_t left_height, uint16_t n_dim,                    \
                    uint16_t right_width, uint8_t feat_offset, uint8_t smask_offset, uint8_t unit_flag,                \
                    bool k_direction_align, bool is_weight_offset, bool c_matrix_source, bool c_matrix_init_val),      \
                   (c_matrix, a_matrix, b_matrix, left_height, n_dim, right_width, feat_offset, smask_offset,          \
                    unit_flag, k_direction_align, is_weight_offset, c_matrix_source, c_matrix_init_val),               \
                   if (feat_offset || smask_offset || is_weight_offset) return ophook::rt::refuse(                     \
                       #name, "offsets of the matrices are not simulated", where);                                     \
                   name(c_matrix, a_matrix, b_matrix, left_height, n_dim, right_width, unit_flag, k_direction_align,   \
                        c_matrix_source, c_matrix_init_val, where))
// The longer form's offsets have to be 0.
OPHOOK_PRODUCT(asc_mmad, (OPHOOK_FROM_TO(int32_t(int8_t), float(half), float(float), float(bfloat16_t))), D, S)
OPHOOK_PRODUCT(asc_mmad_s4, (), int32_t, int4b_t)
#undef OPHOOK_PRODUCT
#undef OPHOOK_FLAGS
OPHOOK_WITH_SYNC(asc_mmad_sparse, ,
                 (int32_t* c, int8_t* a, int8_t* b, uint16_t m, uint16_t k, uint16_t n, uint8_t unit_flag,
                  bool c_matrix_source, bool c_matrix_init_val),
                 (c, a, b, m, k, n, unit_flag, c_matrix_source, c_matrix_init_val),
                 ophook::rt::mmad(OPHOOK_AT_IN(l0c, c), OPHOOK_AT_IN(l0a, a), OPHOOK_AT_IN(l0b, b), nullptr,
                                  ophook::c::product(m, k, n, unit_flag, false, c_matrix_source, c_matrix_init_val),
                                  where, true))
// Whether factors of float are rounded first, and how. In which order results are made changes nothing here.
inline void asc_enable_hf32() { ophook::rt::set_hf32(true); }
inline void asc_set_fp32_mode() { ophook::rt::set_hf32(false); }
inline void asc_enable_hf32_trans(uint32_t mode, OPHOOK_AT) {
  if (mode > 1) return ophook::rt::refuse("asc_enable_hf32_trans", "mode is 0 or 1", where);
  ophook::rt::set_hf32_ties(mode ? ophook::rt::Ties::to_zero : ophook::rt::Ties::to_even);
}
inline void asc_set_mmad_direction_m() {}
inline void asc_set_mmad_direction_n() {}

// ---- into L1, the bias table and the buffer of factors ----
OPHOOK_WITH_SYNC(asc_copy_gm2l1, , (void* dst, void* src, uint32_t size), (dst, src, size),
                 ophook::rt::copy_in("asc_copy_gm2l1", OPHOOK_AT_IN(l1, dst), ophook::c::global(src), {1, size, 0, 0},
                                     nullptr, where))
inline void asc_copy_gm2l1(void* dst, void* src, OPHOOK_BURSTS, OPHOOK_AT) {
  ophook::rt::copy_in("asc_copy_gm2l1", OPHOOK_AT_IN(l1, dst), ophook::c::global(src),
                      ophook::c::blocks(n_burst, len_burst, src_gap, dst_gap), nullptr, where);
}
#define OPHOOK_ROWS                                                                                         \
  uint16_t nd_num, uint16_t n_value, uint16_t d_value, uint16_t src_nd_matrix_stride, uint16_t src_d_value, \
      uint16_t dst_nz_c0_stride, uint16_t dst_nz_n_stride, uint16_t dst_nz_matrix_stride
OPHOOK_WITH_SYNC(asc_copy_gm2l1_nd2nz, OPHOOK_OF(int8_t, uint8_t, int16_t, half, bfloat16_t, int32_t, uint32_t, float),
                 (T * dst, T* src, OPHOOK_ROWS),
                 (dst, src, nd_num, n_value, d_value, src_nd_matrix_stride, src_d_value, dst_nz_c0_stride,
                  dst_nz_n_stride, dst_nz_matrix_stride),
                 ophook::rt::nd_to_nz(OPHOOK_AT_IN(l1, dst), ophook::c::global(src),
                                      {nd_num, n_value, d_value, src_nd_matrix_stride, src_d_value, dst_nz_c0_stride,
                                       dst_nz_n_stride, dst_nz_matrix_stride},
                                      where))
#undef OPHOOK_ROWS
OPHOOK_WITH_SYNC(asc_copy_l12fb, , (void* dst, void* src, uint32_t size), (dst, src, size),
                 ophook::rt::copy_local("asc_copy_l12fb", OPHOOK_AT_IN(fb, dst), OPHOOK_AT_IN(l1, src), {1, size, 0, 0},
                                        where))
inline void asc_copy_l12fb(void* dst, void* src, OPHOOK_BURSTS, OPHOOK_AT) {
  ophook::rt::copy_local("asc_copy_l12fb", OPHOOK_AT_IN(fb, dst), OPHOOK_AT_IN(l1, src),
                         ophook::c::blocks(n_burst, len_burst, src_gap, dst_gap), where);
}
OPHOOK_WITH_SYNC(asc_copy_l12bt, , (uint64_t dst, void* src, uint32_t size), (dst, src, size),
                 ophook::c::fill_table("asc_copy_l12bt", dst, src, {1, size, 0, 0}, false, where))
inline void asc_copy_l12bt(uint64_t dst, void* src, uint16_t conv_control, uint16_t n_burst, uint16_t len_burst,
                           uint16_t source_gap, uint16_t dst_gap, OPHOOK_AT) {
  ophook::c::fill_table("asc_copy_l12bt", dst, src, ophook::c::blocks(n_burst, len_burst, source_gap, dst_gap),
                        conv_control, where);
}

// ---- into L0A and L0B: fractals, squares that are transposed, an image as a matrix ----
#define OPHOOK_FRACTALS uint16_t start_index, uint8_t repeat, uint16_t src_stride, uint16_t dst_gap
#define OPHOOK_SQUARES                                                                                  \
  uint16_t index_id, uint8_t repeat, uint16_t src_stride, uint16_t dst_gap, bool enable_addr_decrement, \
      uint16_t dst_frac_gap
#define OPHOOK_IMAGE                                                                                              \
  uint16_t k_extension, uint16_t m_extension, uint16_t k_start_pt, uint16_t m_start_pt, uint8_t stride_w,         \
      uint8_t stride_h, uint8_t filter_w, uint8_t filter_h, uint8_t dilation_filter_w, uint8_t dilation_filter_h, \
      bool filter_size_w, bool filter_size_h, bool transpose, bool f_matrix_ctrl, uint16_t channel_size
#define OPHOOK_LOADS(name, in, image_types)                                                                         \
  OPHOOK_WITH_SYNC(name, OPHOOK_LOADED, (T * dst, T * src, OPHOOK_FRACTALS),                                        \
                   (dst, src, start_index, repeat, src_stride, dst_gap), const auto from = OPHOOK_AT_IN(l1, src);   \
                   ophook::rt::load_fractals(OPHOOK_AT_IN(in, dst), &from, nullptr,                                 \
                                             {start_index, repeat, src_stride, 0, dst_gap, false, 0}, where))       \
  OPHOOK_WITH_SYNC(name##_trans, OPHOOK_NUMBER, (T * dst, T * src, OPHOOK_SQUARES),                                 \
                   (dst, src, index_id, repeat, src_stride, dst_gap, enable_addr_decrement, dst_frac_gap),          \
                   ophook::rt::load_transposed(                                                                     \
                       OPHOOK_AT_IN(in, dst), OPHOOK_AT_IN(l1, src),                                                \
                       {index_id, repeat, src_stride, dst_gap, dst_frac_gap, enable_addr_decrement}, where))        \
  OPHOOK_WITH_SYNC(                                                                                                 \
      name, OPHOOK_OF(OPHOOK_ALL image_types), (T * dst, T * src, OPHOOK_IMAGE),                                    \
      (dst, src, k_extension, m_extension, k_start_pt, m_start_pt, stride_w, stride_h, filter_w, filter_h,          \
       dilation_filter_w, dilation_filter_h, filter_size_w, filter_size_h, transpose, f_matrix_ctrl, channel_size), \
      const auto& set = *ophook::rt::image_settings();                                                              \
      const ophook::rt::Image& image = f_matrix_ctrl ? set.right : set;                                             \
      ophook::rt::load_image(OPHOOK_AT_IN(in, dst), OPHOOK_AT_IN(l1, src),                                          \
                             {image.padding, image.height, image.width,       channel_size,      k_extension,       \
                              m_extension,   k_start_pt,   m_start_pt,        stride_w,          stride_h,          \
                              filter_w,      filter_h,     dilation_filter_w, dilation_filter_h, transpose,         \
                              false,         set.value,    filter_size_w,     filter_size_h,     false},            \
                             where))
OPHOOK_LOADS(asc_copy_l12l0a, l0a, (int4b_t, int8_t, uint8_t, half, bfloat16_t, int32_t, uint32_t, float))
OPHOOK_LOADS(asc_copy_l12l0b, l0b, (half, bfloat16_t, int32_t, uint32_t, float))
#undef OPHOOK_LOADS
#undef OPHOOK_SQUARES
#undef OPHOOK_IMAGE
OPHOOK_WITH_SYNC(asc_copy_gm2l0a, OPHOOK_LOADED, (T * dst, T* src, OPHOOK_FRACTALS),
                 (dst, src, start_index, repeat, src_stride, dst_gap), const auto from = ophook::c::global(src);
                 ophook::rt::load_fractals(OPHOOK_AT_IN(l0a, dst), nullptr, &from,
                                           {start_index, repeat, src_stride, 0, dst_gap, false, 0}, where))
OPHOOK_WITH_SYNC(asc_copy_gm2l0b, OPHOOK_LOADED, (T * dst, T* src, OPHOOK_FRACTALS),
                 (dst, src, start_index, repeat, src_stride, dst_gap), const auto from = ophook::c::global(src);
                 ophook::rt::load_fractals(OPHOOK_AT_IN(l0b, dst), nullptr, &from,
                                           {start_index, repeat, src_stride, 0, dst_gap, false, 0}, where))
OPHOOK_WITH_SYNC(asc_copy_gm2l1, OPHOOK_NUMBER, (T * dst, T* src, OPHOOK_FRACTALS),
                 (dst, src, start_index, repeat, src_stride, dst_gap), const auto from = ophook::c::global(src);
                 ophook::rt::load_fractals(OPHOOK_AT_IN(l1, dst), nullptr, &from,
                                           {start_index, repeat, src_stride, 0, dst_gap, false, 0}, where))
#undef OPHOOK_FRACTALS
OPHOOK_WITH_SYNC(asc_copy_l12l0b_sparse, ,
                 (int8_t* dst, int8_t* src, int8_t* index, uint16_t start_index, uint8_t repeat),
                 (dst, src, index, start_index, repeat),
                 ophook::rt::load_sparse(OPHOOK_AT_IN(l0b, dst), OPHOOK_AT_IN(l1, src), OPHOOK_AT_IN(l1, index),
                                         {start_index, repeat, 0, 0, 0, false, 0}, where))
inline void asc_set_l13d_fmatrix(asc_l13d_fmatrix_config& config) {
  ophook::c::set_image(*ophook::rt::image_settings(), config);
}
inline void asc_set_l13d_fmatrix_b(asc_l13d_fmatrix_config& config) {
  ophook::c::set_image(ophook::rt::image_settings()->right, config);
}
inline void asc_set_l13d_size(uint64_t value, OPHOOK_AT) { AscendC::SetLoadDataBoundary(uint32_t(value), where); }
inline void asc_set_l13d_rpt(asc_load3d_v2_config& config) {
  ophook::rt::image_settings()->repeat = {uint16_t(config.rpt_stride), uint8_t(config.rpt_time),
                                          uint8_t(config.rpt_mode)};
}
OPHOOK_OF(uint64_t, half, int16_t, uint16_t) inline void asc_set_l13d_padding(T config) {
  ophook::rt::image_settings()->value = ophook::c::bits_of(config);
}
// A value's bits, as wide as the elements.
#define OPHOOK_FILL(name, in)                                                                                        \
  OPHOOK_WITH_SYNC(                                                                                                  \
      name, OPHOOK_OF(int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float),                                \
      (T * dst, uint32_t value, const asc_fill_value_config& config), (dst, value, config),                          \
      if (sizeof(T) == 2 && value >> 16) return ophook::rt::refuse(__func__, "the value is wider than the elements", \
                                                                   where);                                           \
      ophook::rt::fill_blocks(OPHOOK_AT_IN(in, dst), value, config.repeat, config.blk_num, config.dst_gap, where))   \
  OPHOOK_WITH_SYNC(name, OPHOOK_OF(int16_t, uint16_t, half, bfloat16_t),                                             \
                   (T * dst, half value, const asc_fill_value_config& config), (dst, value, config),                 \
                   ophook::rt::fill_blocks(OPHOOK_AT_IN(in, dst), value.bits, config.repeat, config.blk_num,         \
                                           config.dst_gap, where))                                                   \
  OPHOOK_WITH_SYNC(name, , (bfloat16_t * dst, bfloat16_t value, const asc_fill_value_config& config),                \
                   (dst, value, config),                                                                             \
                   ophook::rt::fill_blocks(OPHOOK_AT_IN(in, dst), value.bits, config.repeat, config.blk_num,         \
                                           config.dst_gap, where))
OPHOOK_FILL(asc_fill_l0a, l0a)
OPHOOK_FILL(asc_fill_l0b, l0b)
OPHOOK_FILL(asc_fill_l1, l1)
#undef OPHOOK_FILL

// ---- out of L0C and L1 ----
#define OPHOOK_RESULT                                                                                 \
  uint16_t n_size, uint16_t m_size, uint32_t dst_stride, uint16_t src_stride, uint8_t unit_flag_mode, \
      uint64_t quant_pre, uint8_t relu_pre, bool channel_split, bool nz2nd_en
#define OPHOOK_GIVEN \
  n_size, m_size, dst_stride, src_stride, unit_flag_mode, quant_pre, relu_pre, channel_split, nz2nd_en
OPHOOK_WITH_SYNC(asc_copy_l0c2gm,
                 OPHOOK_FROM_TO(half(float), bfloat16_t(float), int8_t(float), uint8_t(float), float(float),
                                half(int32_t), int16_t(int32_t), int8_t(int32_t), int32_t(int32_t)),
                 (D * dst, S* src, OPHOOK_RESULT), (dst, src, OPHOOK_GIVEN),
                 const auto p = ophook::c::fixpipe<D>(__func__, OPHOOK_GIVEN, where);
                 ophook::rt::fixpipe(ophook::c::global(dst), OPHOOK_AT_IN(l0c, src),
                                     AscendC::cube_details::factors_of(p.quantPre), p, nz2nd_en, where))
OPHOOK_WITH_SYNC(asc_copy_l0c2l1,
                 OPHOOK_FROM_TO(half(float), bfloat16_t(float), int8_t(float), half(int32_t), int16_t(int32_t),
                                int8_t(int32_t), uint8_t(int32_t)),
                 (D * dst, S* src, OPHOOK_RESULT), (dst, src, OPHOOK_GIVEN),
                 if (nz2nd_en) return ophook::rt::refuse(__func__, "a result in L1 stays NZ here", where);
                 const auto p = ophook::c::fixpipe<D>(__func__, OPHOOK_GIVEN, where);
                 ophook::rt::fixpipe_to_l1(OPHOOK_AT_IN(l1, dst), OPHOOK_AT_IN(l0c, src),
                                           AscendC::cube_details::factors_of(p.quantPre), p, where))
OPHOOK_WITH_SYNC(asc_copy_l0c2l1, template <typename S> requires(ophook::c::one_of<S, float, int32_t>),
                 (void* dst, S* src, OPHOOK_RESULT), (dst, src, OPHOOK_GIVEN),
                 ophook::rt::refuse(__func__, "results of 4 bits (void*) are not simulated", where))
#undef OPHOOK_RESULT
#undef OPHOOK_GIVEN
inline void asc_set_l0c_copy_params(uint16_t nd_num, uint16_t src_nd_stride, uint16_t dst_nd_stride) {
  AscendC::SetFixpipeNz2ndFlag(nd_num, src_nd_stride, dst_nd_stride);
}
// A factor for each column, at an address of the buffer of factors.
inline void asc_set_l0c2gm_config(uint64_t relu_pre, uint64_t quant_pre, bool enable_unit_flag, OPHOOK_AT) {
  if (relu_pre) return ophook::rt::refuse(__func__, "factors of PReLU are not simulated", where);
  auto& set = *ophook::rt::fixpipe_settings();
  set.factors = OPHOOK_AT_IN(fb, reinterpret_cast<uint64_t*>(quant_pre));
  set.address = quant_pre, set.unit_flag = enable_unit_flag;
}
inline uint64_t asc_get_l0c2gm_prequant() { return ophook::rt::fixpipe_settings()->address; }
inline uint64_t asc_get_l0c2gm_relu() { return 0; }
inline uint64_t asc_get_l0c2gm_unitflag() { return ophook::rt::fixpipe_settings()->unit_flag; }
inline void asc_set_l0c_copy_prequant(uint64_t config) { AscendC::SetFixpipePreQuantFlag(config); }
OPHOOK_WITH_SYNC(asc_copy_l12gm, , (void* dst, void* src, OPHOOK_BURSTS),
                 (dst, src, n_burst, len_burst, src_gap, dst_gap),
                 ophook::rt::copy_out("asc_copy_l12gm", ophook::c::global(dst), OPHOOK_AT_IN(l1, src),
                                      ophook::c::blocks(n_burst, len_burst, src_gap, dst_gap), false, where))

#undef OPHOOK_AT_IN
#undef OPHOOK_NUMBER
#undef OPHOOK_LOADED
#include "c_macros_end.inc"
