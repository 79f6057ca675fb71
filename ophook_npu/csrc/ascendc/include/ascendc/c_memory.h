// The C interface of an Atlas A2 or A3: vector instructions by addresses in the unified buffer, and copies of blocks.
#pragma once

#include "c_support.h"

#include "c_macros.inc"
#define C_BINARY(name, cce, op, ...)                                                                                 \
  OPHOOK_WITH_SYNC(name, OPHOOK_OF(__VA_ARGS__), (T * dst, T * src0, T * src1, uint32_t count),                      \
                   (dst, src0, src1, count),                                                                         \
                   ophook::rt::binary(ophook::rt::Op::op, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), OPHOOK_LOCAL(src1), \
                                      ophook::c::first(count), {}, {}, {}, where))                                   \
  OPHOOK_BINARY(name, op, __VA_ARGS__)
#define C_BINARY_CAST(name, op, ...)                                                                              \
  OPHOOK_WITH_SYNC(name, OPHOOK_FROM_TO(__VA_ARGS__), (D * dst, S * src0, S * src1, uint32_t count),              \
                   (dst, src0, src1, count),                                                                      \
                   ophook::rt::binary_cast(#name, ophook::rt::Op::op, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0),      \
                                           OPHOOK_LOCAL(src1), ophook::c::first(count), {}, {}, {}, where))       \
  OPHOOK_FROM_TO(__VA_ARGS__) inline void name(D* dst, S* src0, S* src1, OPHOOK_STEPS_3, OPHOOK_AT) {             \
    ophook::rt::binary_cast(#name, ophook::rt::Op::op, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), OPHOOK_LOCAL(src1), \
                            ophook::c::repeated(repeat), {dst_block, dst_repeat}, {src0_block, src0_repeat},      \
                            {src1_block, src1_repeat}, where);                                                    \
  }
#define C_UNARY(name, cce, op, ...)                                                                     \
  OPHOOK_WITH_SYNC(name, OPHOOK_OF(__VA_ARGS__), (T * dst, T * src, uint32_t count), (dst, src, count), \
                   ophook::rt::unary(ophook::rt::Op::op, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src),          \
                                     ophook::c::first(count), {}, {}, where))                           \
  OPHOOK_UNARY(name, op, __VA_ARGS__)
#define C_SCALAR(name, cce, op, scalar, expression, ...)                                                               \
  OPHOOK_WITH_SYNC(name, OPHOOK_OF(__VA_ARGS__), (T * dst, T * src, ophook::c::Given<scalar> value, uint32_t count),   \
                   (dst, src, value, count),                                                                           \
                   ophook::rt::with_scalar(ophook::rt::Op::op, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src),                   \
                                           ophook::rt::scalar_of(expression), ophook::c::first(count), {}, {}, where)) \
  OPHOOK_SCALAR(name, op, scalar, expression, __VA_ARGS__)
#define C_CAST(name, cce, to, from, mode)                                                                       \
  OPHOOK_WITH_SYNC(name, , (to * dst, from * src, uint32_t count), (dst, src, count),                           \
                   ophook::rt::cast(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), int(AscendC::RoundMode::CAST_##mode), \
                                    ophook::c::first(count), {}, {}, where))                                    \
  OPHOOK_CAST(name, to, from, mode)
#define C_CASTS(name, cce, to, from)    \
  C_CAST(name##_rn, , to, from, RINT)   \
  C_CAST(name##_rna, , to, from, ROUND) \
  C_CAST(name##_rd, , to, from, FLOOR)  \
  C_CAST(name##_ru, , to, from, CEIL)   \
  C_CAST(name##_rz, , to, from, TRUNC)
// Bits into memory: no mask there. Without a destination into the register that asc_get_cmp_mask reads: of one repeat.
#define C_COMPARE(name, cce, mode, ...)                                                                               \
  OPHOOK_WITH_SYNC(                                                                                                   \
      name, OPHOOK_OF(__VA_ARGS__), (uint8_t* dst, T* src0, T* src1, OPHOOK_STEPS_3),                                 \
      (dst, src0, src1, repeat, dst_block, src0_block, src1_block, dst_repeat, src0_repeat, src1_repeat),             \
      const auto second = OPHOOK_LOCAL(src1);                                                                         \
      ophook::rt::compare(#name, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), &second, {}, int(AscendC::CMPMODE::mode),     \
                          {ophook::rt::Cover::kLanes, 256 / sizeof(T), 0, repeat, true}, {src0_block, src0_repeat},   \
                          {src1_block, src1_repeat}, where))                                                          \
  OPHOOK_WITH_SYNC(                                                                                                   \
      name, template <typename T> requires(ophook::c::one_of<T, half, float>), (T * src0, T * src1, OPHOOK_STEPS_3),  \
      (src0, src1, repeat, dst_block, src0_block, src1_block, dst_repeat, src0_repeat, src1_repeat),                  \
      if (repeat != 1) return ophook::rt::refuse(#name, "the register holds what one repeat compares", where);        \
      ophook::rt::compare_into_register(OPHOOK_LOCAL(src0), OPHOOK_LOCAL(src1), int(AscendC::CMPMODE::mode),          \
                                        ophook::c::repeated(1), {src0_block, src0_repeat}, {src1_block, src1_repeat}, \
                                        where))                                                                       \
  OPHOOK_WITH_SYNC(name##_scalar, OPHOOK_OF(__VA_ARGS__),                                                             \
                   (uint8_t* dst, T* src, ophook::c::Given<T> value, OPHOOK_STEPS_2),                                 \
                   (dst, src, value, repeat, dst_block, src_block, dst_repeat, src_repeat),                           \
                   ophook::rt::compare(#name "_scalar", OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), nullptr,                \
                                       ophook::rt::scalar_of(value), int(AscendC::CMPMODE::mode),                     \
                                       {ophook::rt::Cover::kLanes, 256 / sizeof(T), 0, repeat, true},                 \
                                       {src_block, src_repeat}, {}, where))
#define C_REDUCE(name, fold, group, order)                                                                        \
  OPHOOK_WITH_SYNC(name, OPHOOK_OF(half, float), (T * dst, T * src, uint32_t count), (dst, src, count),           \
                   ophook::rt::Cover some = ophook::c::first(count);                                              \
                   some.repeat = uint32_t((uint64_t(count) * sizeof(T) + 255) / 256);                             \
                   ophook::rt::reduce_groups(#name, ophook::rt::Fold::fold, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), \
                                             group, some, 1, 1, 8, order, where))                                 \
  OPHOOK_OF(half, float)                                                                                          \
  inline void name(T* dst, T* src, uint8_t repeat, uint16_t dst_repeat, uint16_t src_block, uint16_t src_repeat,  \
                   OPHOOK_AT) {                                                                                   \
    ophook::rt::reduce_groups(#name, ophook::rt::Fold::fold, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), group,         \
                              ophook::c::repeated(repeat), dst_repeat, src_block, src_repeat, order, where);      \
  }
C_SCALAR(asc_sub_scalar, , Adds, T, T(-value), int16_t, half, int32_t, float)
C_SCALAR(asc_shiftright, , ShiftRight, ophook::c::Distance<T>, value, int16_t, uint16_t, int32_t, uint32_t)
C_SCALAR(asc_shiftright_round, , ShiftRightRounded, int32_t, value, int16_t, int32_t)
#include "c_interface.inc"
#define OPHOOK_AXPY OPHOOK_FROM_TO(half(half), float(half), float(float))
OPHOOK_WITH_SYNC(asc_axpy, OPHOOK_AXPY, (D * dst, S* src, ophook::c::Given<S> value, uint32_t count),
                 (dst, src, value, count),
                 ophook::rt::with_scalar(ophook::rt::Op::Axpy, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src),
                                         ophook::rt::scalar_of(value), ophook::c::first(count), {}, {}, where))
OPHOOK_AXPY inline void asc_axpy(D* dst, S* src, ophook::c::Given<S> value, OPHOOK_STEPS_2, OPHOOK_AT) {
  ophook::rt::with_scalar(ophook::rt::Op::Axpy, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), ophook::rt::scalar_of(value),
                          ophook::c::repeated(repeat), {dst_block, dst_repeat}, {src_block, src_repeat}, where);
}

// Halves into sums of float; those of one type are a row.
OPHOOK_WITH_SYNC(asc_fma, , (float* dst, half* src0, half* src1, uint32_t count), (dst, src0, src1, count),
                 ophook::rt::binary(ophook::rt::Op::MulAddDst, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0),
                                    OPHOOK_LOCAL(src1), ophook::c::first(count), {}, {}, {}, where))
inline void asc_fma(float* dst, half* src0, half* src1, OPHOOK_STEPS_3, OPHOOK_AT) {
  ophook::rt::binary(ophook::rt::Op::MulAddDst, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), OPHOOK_LOCAL(src1),
                     ophook::c::repeated(repeat), {dst_block, dst_repeat}, {src0_block, src0_repeat},
                     {src1_block, src1_repeat}, where);
}

// ---- other vector instructions ----
#define OPHOOK_B16_B32 OPHOOK_OF(int16_t, uint16_t, int32_t, uint32_t)
#define OPHOOK_NUMBERS OPHOOK_OF(half, int16_t, uint16_t, bfloat16_t, float, int32_t, uint32_t)
OPHOOK_WITH_SYNC(asc_duplicate, OPHOOK_NUMBERS, (T * dst, ophook::c::Given<T> src, uint32_t count), (dst, src, count),
                 ophook::rt::duplicate(OPHOOK_LOCAL(dst), ophook::rt::scalar_of(src), ophook::c::first(count), {},
                                       where))
OPHOOK_NUMBERS inline void asc_duplicate(T* dst, ophook::c::Given<T> src, uint8_t repeat, uint16_t dst_block,
                                         uint16_t dst_repeat, OPHOOK_AT) {
  ophook::rt::duplicate(OPHOOK_LOCAL(dst), ophook::rt::scalar_of(src), ophook::c::repeated(repeat),
                        {dst_block, dst_repeat}, where);
}
OPHOOK_WITH_SYNC(asc_copy, OPHOOK_B16_B32, (T * dst, T* src, uint32_t count), (dst, src, count),
                 ophook::rt::copy_blocks(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), ophook::c::first(count), {}, {}, where))
OPHOOK_B16_B32 inline void asc_copy(T* dst, T* src, OPHOOK_STEPS_2, OPHOOK_AT) {
  ophook::rt::copy_blocks(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), ophook::c::repeated(repeat), {dst_block, dst_repeat},
                          {src_block, src_repeat}, where);
}
OPHOOK_WITH_SYNC(asc_brcb, OPHOOK_OF(uint16_t, uint32_t),
                 (T * dst, T* src, uint16_t dst_block, uint16_t dst_repeat, uint8_t repeat),
                 (dst, src, dst_block, dst_repeat, repeat),
                 ophook::rt::broadcast_blocks(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), repeat, dst_block, dst_repeat,
                                              where))
OPHOOK_WITH_SYNC(asc_gather, OPHOOK_NUMBERS, (T * dst, T* src, uint32_t* src_offset, uint32_t count),
                 (dst, src, src_offset, count),
                 ophook::rt::gather(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), OPHOOK_LOCAL(src_offset), 0,
                                    ophook::c::first(count), {}, where))
OPHOOK_NUMBERS inline void asc_gather(T* dst, T* src, uint32_t* src_offset, uint16_t dst_repeat, uint8_t repeat,
                                      OPHOOK_AT) {
  ophook::rt::gather(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), OPHOOK_LOCAL(src_offset), 0, ophook::c::repeated(repeat),
                     {1, dst_repeat}, where);
}
OPHOOK_WITH_SYNC(asc_gather_datablock, OPHOOK_OF(uint16_t, uint32_t),
                 (T * dst, T* src, uint32_t* src_offset, uint16_t dst_repeat, uint8_t dst_block, uint8_t repeat),
                 (dst, src, src_offset, dst_repeat, dst_block, repeat),
                 ophook::rt::gather_blocks(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), OPHOOK_LOCAL(src_offset), repeat,
                                           dst_block, dst_repeat, where))
// What a mask picks: of the first elements by the bits of src1, or of each repeat by a pattern (0: those bits).
OPHOOK_WITH_SYNC(asc_reduce, OPHOOK_OF(uint16_t, uint32_t), (T * dst, T* src0, T* src1, uint32_t count),
                 (dst, src0, src1, count), uint64_t taken;
                 const auto bits = OPHOOK_LOCAL(src1);
                 ophook::rt::gather_mask(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), &bits, 0, true, count, 1, 1, 8, 0,
                                         &taken, where))
OPHOOK_OF(uint16_t, uint32_t)
inline void asc_reduce(T* dst, T* src0, T* src1, uint16_t repeat, uint8_t src0_block, uint8_t pattern_mode,
                       uint16_t src0_repeat, uint8_t src1_repeat, OPHOOK_AT) {
  uint64_t taken;
  const auto bits = pattern_mode ? ophook::rt::Local{} : OPHOOK_LOCAL(src1);
  ophook::rt::gather_mask(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), pattern_mode ? nullptr : &bits, pattern_mode, false,
                          ophook::rt::kMaskOfCore, src0_block, repeat, src0_repeat, src1_repeat, &taken, where);
}
// Of all repeats of the last asc_repeat_reduce_max or _min: the value, and the first place that has it.
OPHOOK_OF(half, float) inline void asc_get_reduce_max_cnt(T& val, uint32_t& index) {
  const ophook::rt::Extreme found = ophook::rt::last_extreme();
  val = T(found.value), index = found.index;
}
OPHOOK_OF(half, float) inline void asc_get_reduce_min_cnt(T& val, uint32_t& index) {
  asc_get_reduce_max_cnt(val, index);
}
inline int64_t asc_get_rsvd_count() { return int64_t(ophook::rt::last_gathered()); }
OPHOOK_WITH_SYNC(asc_select, OPHOOK_OF(half, float), (T * dst, T* src0, T* src1, uint32_t count),
                 (dst, src0, src1, count), const auto second = OPHOOK_LOCAL(src1);
                 ophook::rt::select(OPHOOK_LOCAL(dst), {}, OPHOOK_LOCAL(src0), &second, {}, 0, ophook::c::first(count),
                                    {}, {}, {}, where))
OPHOOK_OF(half, float) inline void asc_select(T* dst, T* src0, T* src1, OPHOOK_STEPS_3, OPHOOK_AT) {
  const auto second = OPHOOK_LOCAL(src1);
  ophook::rt::select(OPHOOK_LOCAL(dst), {}, OPHOOK_LOCAL(src0), &second, {}, 0, ophook::c::repeated(repeat),
                     {dst_block, dst_repeat}, {src0_block, src0_repeat}, {src1_block, src1_repeat}, where);
}
inline void asc_set_cmp_mask(void* sel_mask, OPHOOK_AT) {
  ophook::rt::set_compared("asc_set_cmp_mask", OPHOOK_LOCAL(sel_mask), where);
}
inline void asc_get_cmp_mask(void* dst, OPHOOK_AT) { ophook::rt::read_compared(OPHOOK_LOCAL(dst), where); }
inline void asc_get_vms4_sr(uint16_t sorted_num[ASC_C_API_MRGSORT_ELEMENT_LEN]) {
  for (int i = 0; i < 4; ++i) sorted_num[i] = uint16_t(ophook::rt::last_merge()[i]);
}
inline void asc_set_deq_scale(half scale) { ophook::rt::set_deq_scale(float(scale)); }
inline void asc_set_deq_scale(float scale, int16_t offset, bool sign_mode) {
  AscendC::SetDeqScale(scale, offset, sign_mode);
}
constexpr int ASC_VDEQ_SIZE = 16;
inline void asc_set_deq_scale(uint64_t* tmp, float scale_arr[ASC_VDEQ_SIZE], int16_t offset_arr[ASC_VDEQ_SIZE],
                              bool sign_mode_arr[ASC_VDEQ_SIZE], OPHOOK_AT) {
  uint64_t each[ASC_VDEQ_SIZE];
  for (int i = 0; i < ASC_VDEQ_SIZE; ++i)
    each[i] = AscendC::vector_details::dequantization(scale_arr[i], offset_arr[i], sign_mode_arr[i]);
  ophook::rt::set_dequantization(OPHOOK_LOCAL(tmp), each);
}
// int16_t into the upper or the lower half of each block, by one scale or, `each`, by one of 16.
#define OPHOOK_DEQUANTIZED(name, each, upper)                                                                         \
  OPHOOK_WITH_SYNC(name, OPHOOK_OF(int8_t, uint8_t), (T * dst, int16_t* src, uint32_t count), (dst, src, count),      \
                   ophook::rt::dequantize(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), each, upper, ophook::c::first(count), \
                                          {}, {}, where))                                                             \
  OPHOOK_OF(int8_t, uint8_t) inline void name(T* dst, int16_t* src, OPHOOK_STEPS_2, OPHOOK_AT) {                      \
    ophook::rt::dequantize(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), each, upper, ophook::c::repeated(repeat),            \
                           {dst_block, dst_repeat}, {src_block, src_repeat}, where);                                  \
  }
OPHOOK_DEQUANTIZED(asc_deq_int162b8_h, false, true)
OPHOOK_DEQUANTIZED(asc_deq_int162b8_l, false, false)
OPHOOK_DEQUANTIZED(asc_vdeq_int162b8_h, true, true)
OPHOOK_DEQUANTIZED(asc_vdeq_int162b8_l, true, false)
#undef OPHOOK_DEQUANTIZED
OPHOOK_OF(int8_t, uint8_t, int16_t, uint16_t, half, int32_t, uint32_t, float)
inline void asc_set_va_reg(ub_addr8_t addr, T** src_array) {
  for (int i = 0; i < 8; ++i) ophook::rt::address_register(addr)[i] = reinterpret_cast<uint64_t>(src_array[i]);
}
#define OPHOOK_TO_5HD(name, type, HALVES, halves, dst_high, src_high)                                               \
  OPHOOK_WITH_SYNC(                                                                                                 \
      name, ,                                                                                                       \
      (ub_addr8_t dst, ub_addr8_t src, uint8_t repeat, uint16_t dst_stride, uint16_t src_stride OPHOOK_ALL HALVES), \
      (dst, src, repeat, dst_stride, src_stride OPHOOK_ALL halves),                                                 \
      ophook::c::trans_data<type>(#name, dst, src, {dst_high, src_high, repeat, dst_stride, src_stride}, where))
OPHOOK_TO_5HD(asc_transto5hd_b32, uint32_t, (), (), false, false)
OPHOOK_TO_5HD(asc_transto5hd_b16, uint16_t, (), (), false, false)
OPHOOK_TO_5HD(asc_transto5hd_b8, uint8_t, (, bool dst_high_half, bool src_high_half), (, dst_high_half, src_high_half),
              dst_high_half, src_high_half)
#undef OPHOOK_TO_5HD
inline void asc_set_mask_count() { ophook::rt::set_mask(true, 0, 0, true); }
inline void asc_set_mask_norm() { ophook::rt::set_mask(false, 0, 0, true); }
inline void asc_set_vector_mask(uint64_t mask1, uint64_t mask0) { ophook::rt::set_mask_bits(mask1, mask0); }

// ---- copies: lengths in bytes, or in bursts of blocks of 32 bytes with gaps ----
OPHOOK_COPY(asc_copy_gm2ub,
            ophook::rt::copy_in("asc_copy_gm2ub", OPHOOK_LOCAL(dst), ophook::c::global(src), pieces, nullptr, where))
OPHOOK_COPY(asc_copy_ub2gm,
            ophook::rt::copy_out("asc_copy_ub2gm", ophook::c::global(dst), OPHOOK_LOCAL(src), pieces, false, where))
#define OPHOOK_PADDED                                                                                          \
  uint16_t n_burst, uint32_t len_burst, uint8_t left_padding_num, uint8_t right_padding_num, uint32_t src_gap, \
      uint32_t dst_gap
#define OPHOOK_STORED \
  OPHOOK_OF(int8_t, uint8_t, int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float, double, int64_t, uint64_t)
OPHOOK_WITH_SYNC(asc_copy_gm2ub_align, OPHOOK_MOVED, (T * dst, T* src, uint32_t size), (dst, src, size),
                 const ophook::rt::Padding none;
                 ophook::rt::copy_in("asc_copy_gm2ub_align", OPHOOK_LOCAL(dst), ophook::c::global(src), {1, size, 0, 0},
                                     &none, where))
OPHOOK_MOVED inline void asc_copy_gm2ub_align(T* dst, T* src, OPHOOK_PADDED, OPHOOK_AT) {
  const ophook::rt::Padding padding{false, left_padding_num, right_padding_num, 0};  // what asc_set_copy_pad_val set
  ophook::rt::copy_in("asc_copy_gm2ub_align", OPHOOK_LOCAL(dst), ophook::c::global(src),
                      {n_burst, len_burst, uint64_t(src_gap) * 32, uint64_t(dst_gap) * 32}, &padding, where);
}
OPHOOK_WITH_SYNC(asc_copy_ub2gm_align, OPHOOK_STORED, (T * dst, T* src, uint32_t size), (dst, src, size),
                 ophook::rt::copy_out("asc_copy_ub2gm_align", ophook::c::global(dst), OPHOOK_LOCAL(src),
                                      {1, size, 0, 0}, true, where))
OPHOOK_STORED inline void asc_copy_ub2gm_align(T* dst, T* src, OPHOOK_PADDED, OPHOOK_AT) {
  if (left_padding_num || right_padding_num)
    return ophook::rt::refuse("asc_copy_ub2gm_align", "of what fills up pieces in device memory no page says more",
                              where);
  ophook::rt::copy_out("asc_copy_ub2gm_align", ophook::c::global(dst), OPHOOK_LOCAL(src),
                       {n_burst, len_burst, uint64_t(src_gap) * 32, uint64_t(dst_gap) * 32}, true, where);
}

#undef OPHOOK_AXPY
#undef OPHOOK_B16_B32
#undef OPHOOK_NUMBERS
#undef OPHOOK_PADDED
#undef OPHOOK_STORED
#include "c_macros_end.inc"
