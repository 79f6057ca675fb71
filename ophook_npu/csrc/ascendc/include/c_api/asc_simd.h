// The C interface of Ascend C: the instructions by addresses in local memory. Each is a thin call of what the C++
// interface calls. What is not here does not compile, and the message names its page.
#pragma once

#include <cstring>

#include "../ascendc/cache_line.h"
#include "../kernel_operator.h"

namespace ophook::c {
using namespace ophook::rt;

template <typename T, typename... Types>
concept one_of = (std::is_same_v<T, Types> || ...);
template <typename T>
using Distance = std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>;
template <typename T>
using Given = std::type_identity_t<T>;  // a scalar follows the operands' type

// The tensor at an address, to the end of the array that it lies in.
template <typename T>
Local at(const char* call, T* address, At where) {
  Local local = local_of(call, address, where);
  if constexpr (std::is_void_v<T>) local.dtype = Dtype::u8;
  else local.dtype = dtype_of<T>();
  return local;
}
template <typename T>
Global global(T* address) {
  if constexpr (std::is_void_v<T>) return {reinterpret_cast<uint8_t*>(address), 0, Dtype::u8};
  else return {reinterpret_cast<uint8_t*>(address), 0, dtype_of<T>()};
}
inline Cover first(uint32_t count) { return {Cover::kCount, count, 0, 1}; }
inline Cover repeated(uint32_t repeat) { return {Cover::kPreset, 0, 0, repeat}; }
inline void wait(At where) { barrier(Pipe::ALL, where); }
inline Blocks blocks(uint16_t bursts, uint16_t length, uint16_t from_gap, uint16_t to_gap) {
  return {bursts, uint64_t(length) * 32, uint64_t(from_gap) * 32, uint64_t(to_gap) * 32};
}
}  // namespace ophook::c

#define OPHOOK_AT ophook::rt::At where = ophook::rt::At::here()
#define OPHOOK_LOCAL(address) ophook::c::at(__func__, address, where)
// A function, and the one that waits for everything behind it.
#define OPHOOK_WITH_SYNC(name, head, parameters, arguments, ...)           \
  head inline void name(OPHOOK_ALL parameters, OPHOOK_AT) { __VA_ARGS__; } \
  head inline void name##_sync(OPHOOK_ALL parameters, OPHOOK_AT) {         \
    name(OPHOOK_ALL arguments, where);                                     \
    ophook::c::wait(where);                                                \
  }
#define OPHOOK_ALL(...) __VA_ARGS__
#define OPHOOK_OF(...)  \
  template <typename T> \
    requires ophook::c::one_of<T, __VA_ARGS__>
#define OPHOOK_FROM_TO(...)         \
  template <typename D, typename S> \
    requires ophook::c::one_of<D(S), __VA_ARGS__>
#define OPHOOK_STEPS_2 uint8_t repeat, uint16_t dst_block, uint16_t src_block, uint16_t dst_repeat, uint16_t src_repeat
#define OPHOOK_STEPS_3                                                                                                \
  uint8_t repeat, uint8_t dst_block, uint8_t src0_block, uint8_t src1_block, uint8_t dst_repeat, uint8_t src0_repeat, \
      uint8_t src1_repeat

#define C_BINARY(name, op, ...)                                                                                      \
  OPHOOK_WITH_SYNC(name, OPHOOK_OF(__VA_ARGS__), (T * dst, T * src0, T * src1, uint32_t count),                      \
                   (dst, src0, src1, count),                                                                         \
                   ophook::rt::binary(ophook::rt::Op::op, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), OPHOOK_LOCAL(src1), \
                                      ophook::c::first(count), {}, {}, {}, where))                                   \
  OPHOOK_OF(__VA_ARGS__) inline void name(T* dst, T* src0, T* src1, OPHOOK_STEPS_3, OPHOOK_AT) {                     \
    ophook::rt::binary(ophook::rt::Op::op, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), OPHOOK_LOCAL(src1),                \
                       ophook::c::repeated(repeat), {dst_block, dst_repeat}, {src0_block, src0_repeat},              \
                       {src1_block, src1_repeat}, where);                                                            \
  }
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
#define C_UNARY(name, op, ...)                                                                               \
  OPHOOK_WITH_SYNC(name, OPHOOK_OF(__VA_ARGS__), (T * dst, T * src, uint32_t count), (dst, src, count),      \
                   ophook::rt::unary(ophook::rt::Op::op, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src),               \
                                     ophook::c::first(count), {}, {}, where))                                \
  OPHOOK_OF(__VA_ARGS__) inline void name(T* dst, T* src, OPHOOK_STEPS_2, OPHOOK_AT) {                       \
    ophook::rt::unary(ophook::rt::Op::op, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), ophook::c::repeated(repeat), \
                      {dst_block, dst_repeat}, {src_block, src_repeat}, where);                              \
  }
#define C_SCALAR(name, op, scalar, expression, ...)                                                                    \
  OPHOOK_WITH_SYNC(name, OPHOOK_OF(__VA_ARGS__), (T * dst, T * src, ophook::c::Given<scalar> value, uint32_t count),   \
                   (dst, src, value, count),                                                                           \
                   ophook::rt::with_scalar(ophook::rt::Op::op, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src),                   \
                                           ophook::rt::scalar_of(expression), ophook::c::first(count), {}, {}, where)) \
  OPHOOK_OF(__VA_ARGS__) inline void name(T* dst, T* src, ophook::c::Given<scalar> value, OPHOOK_STEPS_2, OPHOOK_AT) { \
    ophook::rt::with_scalar(ophook::rt::Op::op, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src),                                  \
                            ophook::rt::scalar_of(expression), ophook::c::repeated(repeat), {dst_block, dst_repeat},   \
                            {src_block, src_repeat}, where);                                                           \
  }
#define C_CAST(name, to, from, mode)                                                                            \
  OPHOOK_WITH_SYNC(name, , (to * dst, from * src, uint32_t count), (dst, src, count),                           \
                   ophook::rt::cast(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), int(AscendC::RoundMode::CAST_##mode), \
                                    ophook::c::first(count), {}, {}, where))                                    \
  inline void name(to* dst, from* src, OPHOOK_STEPS_2, OPHOOK_AT) {                                             \
    ophook::rt::cast(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), int(AscendC::RoundMode::CAST_##mode),                \
                     ophook::c::repeated(repeat), {dst_block, dst_repeat}, {src_block, src_repeat}, where);     \
  }
#define C_CASTS(name, to, from)       \
  C_CAST(name##_rn, to, from, RINT)   \
  C_CAST(name##_rna, to, from, ROUND) \
  C_CAST(name##_rd, to, from, FLOOR)  \
  C_CAST(name##_ru, to, from, CEIL)   \
  C_CAST(name##_rz, to, from, TRUNC)
// Bits into memory: no mask there. Without a destination into the register that asc_get_cmp_mask reads: of one repeat.
#define C_COMPARE(name, mode, ...)                                                                                    \
  OPHOOK_WITH_SYNC(                                                                                                   \
      name, OPHOOK_OF(__VA_ARGS__), (uint8_t* dst, T* src0, T* src1, OPHOOK_STEPS_3),                                 \
      (dst, src0, src1, repeat, dst_block, src0_block, src1_block, dst_repeat, src0_repeat, src1_repeat),             \
      const auto second = OPHOOK_LOCAL(src1);                                                                         \
      ophook::rt::compare(#name, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), &second, {}, int(AscendC::CMPMODE::mode),     \
                          {ophook::rt::Cover::kLanes, 256 / sizeof(T), 0, repeat}, {src0_block, src0_repeat},         \
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
                                       {ophook::rt::Cover::kLanes, 256 / sizeof(T), 0, repeat},                       \
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
#define C_ATOMIC(name, type)                                                                       \
  inline void asc_set_atomic_add_##name() { ophook::rt::atomic(1, ophook::rt::dtype_of<type>()); } \
  inline void asc_set_atomic_max_##name() { ophook::rt::atomic(2, ophook::rt::dtype_of<type>()); } \
  inline void asc_set_atomic_min_##name() { ophook::rt::atomic(3, ophook::rt::dtype_of<type>()); }
#include "../ascendc/c_interface.inc"
#define OPHOOK_AXPY OPHOOK_FROM_TO(half(half), float(half), float(float))
OPHOOK_WITH_SYNC(asc_axpy, OPHOOK_AXPY, (D * dst, S* src, ophook::c::Given<S> value, uint32_t count),
                 (dst, src, value, count),
                 ophook::rt::with_scalar(ophook::rt::Op::Axpy, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src),
                                         ophook::rt::scalar_of(value), ophook::c::first(count), {}, {}, where))
OPHOOK_AXPY inline void asc_axpy(D* dst, S* src, ophook::c::Given<S> value, OPHOOK_STEPS_2, OPHOOK_AT) {
  ophook::rt::with_scalar(ophook::rt::Op::Axpy, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), ophook::rt::scalar_of(value),
                          ophook::c::repeated(repeat), {dst_block, dst_repeat}, {src_block, src_repeat}, where);
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
  ophook::rt::gather_mask(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), pattern_mode ? nullptr : &bits, pattern_mode, false, 0,
                          src0_block, repeat, src0_repeat, src1_repeat, &taken, where);
}
#if __NPU_ARCH__ == 2201
// Of all repeats of the last asc_repeat_reduce_max or _min: the value, and the first place that has it.
OPHOOK_OF(half, float) inline void asc_get_reduce_max_cnt(T& val, uint32_t& index) {
  const ophook::rt::Extreme found = ophook::rt::last_extreme();
  val = T(found.value), index = found.index;
}
OPHOOK_OF(half, float) inline void asc_get_reduce_min_cnt(T& val, uint32_t& index) {
  asc_get_reduce_max_cnt(val, index);
}
#endif
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
OPHOOK_WITH_SYNC(asc_transpose, OPHOOK_OF(int16_t, uint16_t), (T * dst, T* src), (dst, src),
                 ophook::rt::transpose16(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), where))
OPHOOK_WITH_SYNC(asc_bitsort, OPHOOK_OF(half, float), (T * dst, T* src0, uint32_t* src1, int32_t repeat),
                 (dst, src0, src1, repeat),
                 ophook::rt::sort("asc_bitsort", OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), OPHOOK_LOCAL(src1), nullptr,
                                  repeat, false, where))
constexpr int ASC_C_API_MRGSORT_ELEMENT_LEN = 4;
OPHOOK_WITH_SYNC(asc_mrgsort4, OPHOOK_OF(half, float),
                 (T * dst, T* src[ASC_C_API_MRGSORT_ELEMENT_LEN], uint8_t repeat, uint16_t element_length_0,
                  uint16_t element_length_1, uint16_t element_length_2, uint16_t element_length_3,
                  bool if_exhausted_suspension, uint8_t valid_bit),
                 (dst, src, repeat, element_length_0, element_length_1, element_length_2, element_length_3,
                  if_exhausted_suspension, valid_bit),
                 ophook::rt::Local lists[4];
                 for (int i = 0; i < 4; ++i) if (valid_bit >> i & 1) lists[i] = OPHOOK_LOCAL(src[i]);
                 const uint16_t lengths[] = {element_length_0, element_length_1, element_length_2, element_length_3};
                 uint32_t taken[4]; ophook::rt::merge_sorted(OPHOOK_LOCAL(dst), lists, lengths, valid_bit, repeat,
                                                             if_exhausted_suspension, taken, where))
inline void asc_get_vms4_sr(uint16_t sorted_num[ASC_C_API_MRGSORT_ELEMENT_LEN]) {
  for (int i = 0; i < 4; ++i) sorted_num[i] = uint16_t(ophook::rt::last_merge()[i]);
}
inline void asc_set_deq_scale(half scale) { ophook::rt::set_deq_scale(float(scale)); }
inline void asc_set_mask_count() { ophook::rt::set_mask(true, 0, 0, true); }
inline void asc_set_mask_norm() { ophook::rt::set_mask(false, 0, 0, true); }
inline void asc_set_vector_mask(uint64_t mask1, uint64_t mask0) { ophook::rt::set_mask_bits(mask1, mask0); }

// ---- copies: lengths in bytes, or in bursts of blocks of 32 bytes with gaps ----
#define OPHOOK_BURSTS uint16_t n_burst, uint16_t len_burst, uint16_t src_gap, uint16_t dst_gap
#define OPHOOK_ANY template <typename D, typename S>
#define OPHOOK_COPY(name, ...)                                                                 \
  OPHOOK_WITH_SYNC(name, OPHOOK_ANY, (D * dst, S * src, uint32_t size), (dst, src, size),      \
                   const ophook::rt::Blocks pieces{1, size, 0, 0};                             \
                   __VA_ARGS__)                                                                \
  OPHOOK_ANY inline void name(D* dst, S* src, OPHOOK_BURSTS, OPHOOK_AT) {                      \
    const ophook::rt::Blocks pieces = ophook::c::blocks(n_burst, len_burst, src_gap, dst_gap); \
    __VA_ARGS__;                                                                               \
  }
OPHOOK_COPY(asc_copy_gm2ub,
            ophook::rt::copy_in("asc_copy_gm2ub", OPHOOK_LOCAL(dst), ophook::c::global(src), pieces, nullptr, where))
OPHOOK_COPY(asc_copy_ub2gm,
            ophook::rt::copy_out("asc_copy_ub2gm", ophook::c::global(dst), OPHOOK_LOCAL(src), pieces, false, where))
OPHOOK_COPY(asc_copy_ub2ub,
            ophook::rt::copy_local("asc_copy_ub2ub", OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), pieces, where))
#undef OPHOOK_COPY
#define OPHOOK_PADDED                                                                                          \
  uint16_t n_burst, uint32_t len_burst, uint8_t left_padding_num, uint8_t right_padding_num, uint32_t src_gap, \
      uint32_t dst_gap
#define OPHOOK_MOVED OPHOOK_OF(int8_t, uint8_t, int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float)
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
OPHOOK_MOVED inline void asc_set_copy_pad_val(T pad_value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &pad_value, sizeof pad_value);
  ophook::rt::pad_value(bits);
}

// ---- synchronization ----
inline void asc_sync(OPHOOK_AT) { ophook::c::wait(where); }
inline void asc_sync_vec(OPHOOK_AT) { ophook::c::wait(where); }
inline void asc_sync_pipe(pipe_t pipe, OPHOOK_AT) {
  if (pipe == PIPE_S) return ophook::rt::refuse("asc_sync_pipe", "PIPE_S needs none, and is not supported", where);
  ophook::rt::barrier(ophook::rt::Pipe(int(pipe)), where);
}
inline void asc_sync_notify(pipe_t pipe, pipe_t tpipe, event_t id, OPHOOK_AT) {
  ophook::rt::set_flag(ophook::rt::Pipe(int(pipe)), ophook::rt::Pipe(int(tpipe)), int(id), where);
}
inline void asc_sync_wait(pipe_t pipe, pipe_t tpipe, event_t id, OPHOOK_AT) {
  ophook::rt::wait_flag(ophook::rt::Pipe(int(pipe)), ophook::rt::Pipe(int(tpipe)), int(id), where);
}
#define OPHOOK_AFTER(name, from)                                                                       \
  inline void name(int id, OPHOOK_AT) { /* every other pipe goes on when `from` is done */             \
    using ophook::rt::Pipe;                                                                            \
    for (const Pipe to : {Pipe::S, Pipe::V, Pipe::M, Pipe::MTE1, Pipe::MTE2, Pipe::MTE3, Pipe::FIX}) { \
      if (to == Pipe::from) continue;                                                                  \
      ophook::rt::set_flag(Pipe::from, to, id, where);                                                 \
      ophook::rt::wait_flag(Pipe::from, to, id, where);                                                \
    }                                                                                                  \
  }
OPHOOK_AFTER(asc_sync_mte2, MTE2)
OPHOOK_AFTER(asc_sync_mte3, MTE3)
#undef OPHOOK_AFTER
// Between cores, by who meets: all cores, the vector cores of a block, a block's cube core and its vector cores.
#define OPHOOK_CROSS(name, mode)                                                   \
  inline void asc_sync_##name##_arrive(pipe_t pipe, int64_t flag_id, OPHOOK_AT) {  \
    ophook::rt::cross_set(mode, ophook::rt::Pipe(int(pipe)), int(flag_id), where); \
  }                                                                                \
  inline void asc_sync_##name##_wait(pipe_t, int64_t flag_id, OPHOOK_AT) {         \
    ophook::rt::cross_wait(mode, int(flag_id), where);                             \
  }
OPHOOK_CROSS(inter, 0)
OPHOOK_CROSS(subblock, 1)
OPHOOK_CROSS(block, 2)
#undef OPHOOK_CROSS
inline void asc_set_ffts_base_addr(uint64_t) {}  // where the device keeps those flags: here they are the runtime's

// ---- atomic copies, and the data cache ----
struct asc_store_atomic_config {
  uint16_t atomic_type = 0, atomic_op = 0;
};
inline void asc_set_atomic_none() { AscendC::SetAtomicNone(); }
inline void asc_set_store_atomic_config_v1(uint16_t type, uint16_t op, OPHOOK_AT) {
  if (type > 6 || op) return ophook::rt::refuse("asc_set_store_atomic_config_v1", "type is 0 to 6, and op is 0", where);
  ophook::rt::atomic(type ? 1 : 0, AscendC::copy_details::kAtomic[type]);
}
inline void asc_get_store_atomic_config(asc_store_atomic_config& config) {
  AscendC::GetStoreAtomicConfig(config.atomic_type, config.atomic_op);
}
inline void asc_dcci_entire_all(OPHOOK_AT) { ophook::rt::cache_clean({}, true, where); }
inline void asc_dcci_entire_out(OPHOOK_AT) { ophook::rt::cache_clean({}, true, where); }
inline void asc_datacache_preload(uint64_t*, int64_t) {}
inline void asc_icache_preload(const void*, int64_t) {}
inline int64_t asc_get_icache_preload_status() { return 0; }

// ---- the core ----
inline void asc_init() {}
inline int64_t asc_get_block_idx() { return ophook::rt::block_index(); }
inline int64_t asc_get_block_num() { return ophook::rt::block_count(); }
inline int64_t asc_get_sub_block_id() { return ophook::rt::sub_block_index(); }
inline int64_t asc_get_sub_block_num() { return ophook::rt::sub_block_count(); }
inline int64_t asc_get_system_cycle() { return AscendC::GetSystemCycle(); }
inline uint64_t asc_get_phy_buf_addr(uint64_t offset, OPHOOK_AT) {
  return ophook::rt::local_base("asc_get_phy_buf_addr", where) + offset;
}

// ---- scalars ----
inline uint64_t asc_clear_nthbit(uint64_t bits, int64_t idx) { return bits & ~(uint64_t{1} << idx); }
inline uint64_t asc_set_nthbit(uint64_t bits, int64_t idx) { return bits | uint64_t{1} << idx; }
inline int64_t asc_clz(uint64_t value_in) { return AscendC::CountLeadingZero(value_in); }
inline int64_t asc_popc(uint64_t value) { return AscendC::GetBitCount<1>(value); }
inline int64_t asc_zero_bits_cnt(uint64_t value) { return AscendC::GetBitCount<0>(value); }
inline int64_t asc_ffs(uint64_t value) { return AscendC::GetSFFValue<1>(value); }
inline int64_t asc_ffz(uint64_t value) { return AscendC::GetSFFValue<0>(value); }
inline int64_t asc_sflbits(int64_t value) { return AscendC::CountBitsCntSameAsSignBit(value); }

#undef OPHOOK_AT
#undef OPHOOK_LOCAL
#undef OPHOOK_WITH_SYNC
#undef OPHOOK_ALL
#undef OPHOOK_OF
#undef OPHOOK_FROM_TO
#undef OPHOOK_STEPS_2
#undef OPHOOK_STEPS_3
#undef C_BINARY
#undef C_BINARY_CAST
#undef C_UNARY
#undef C_SCALAR
#undef C_CAST
#undef C_CASTS
#undef C_COMPARE
#undef C_REDUCE
#undef C_ATOMIC
#undef OPHOOK_AXPY
#undef OPHOOK_B16_B32
#undef OPHOOK_NUMBERS
#undef OPHOOK_BURSTS
#undef OPHOOK_ANY
#undef OPHOOK_PADDED
#undef OPHOOK_MOVED
#undef OPHOOK_STORED
