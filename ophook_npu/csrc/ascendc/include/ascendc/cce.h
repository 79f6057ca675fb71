// CCE intrinsics: the instructions of an Atlas A2 or A3 by the names that the compiler knows them by (hiascend.com,
// API/cceintrinsicapi). No header declares them on a device. Most are the C interface's form with repeats.
#pragma once

#include "c_support.h"
#include "cce_cube.h"

namespace ophook::c {
template <typename T>
using Pairs = std::conditional_t<std::is_same_v<T, int4b_t>, void, T>;
}

namespace ophook::c {
// An address as a number; of one that was cut to 32 bits, as the device's are, the unified buffer's has the rest.
template <typename T>
T* in_buffer(uint64_t address) {
  constexpr uint64_t kMost = 1 << 20;
  const uint64_t base = local_base(), low = uint32_t(address);
  if (address - base < kMost || address < kMost) return reinterpret_cast<T*>(address);
  address = (base >> 32 << 32 | low) + (low < uint32_t(base) ? uint64_t{1} << 32 : 0);
  return reinterpret_cast<T*>(address - base < kMost ? address : low);
}
}  // namespace ophook::c

#include "c_macros.inc"
#define C_BINARY(name, cce, op, ...) OPHOOK_BINARY(cce, op, __VA_ARGS__)
#define C_UNARY(name, cce, op, ...) OPHOOK_UNARY(cce, op, __VA_ARGS__)
#define C_SCALAR(name, cce, op, scalar, expression, ...) OPHOOK_SCALAR(cce, op, scalar, expression, __VA_ARGS__)
// Pairs of 4 bits have no type: their address is a void*.
#define C_CAST(name, cce, to, from, mode)                                                                        \
  inline void cce(ophook::c::Pairs<to>* dst, ophook::c::Pairs<from>* src, OPHOOK_STEPS_2, OPHOOK_AT) {           \
    ophook::rt::cast(OPHOOK_LOCAL(static_cast<to*>(dst)), OPHOOK_LOCAL(static_cast<from*>(src)),                 \
                     int(AscendC::RoundMode::CAST_##mode), ophook::c::repeated(repeat), {dst_block, dst_repeat}, \
                     {src_block, src_repeat}, where);                                                            \
  }
#define C_CASTS(name, cce, to, from) \
  C_CAST(, cce##r, to, from, RINT)   \
  C_CAST(, cce##a, to, from, ROUND)  \
  C_CAST(, cce##f, to, from, FLOOR)  \
  C_CAST(, cce##c, to, from, CEIL)   \
  C_CAST(, cce##z, to, from, TRUNC)
#define C_BINARY_CAST(name, op, ...)  // `_conv` below
#define C_REDUCE(name, fold, group, order)
#define C_COMPARE(name, cce, mode, ...)                                                                              \
  OPHOOK_OF(__VA_ARGS__) inline void vcmpv_##cce(uint8_t* dst, T* src0, T* src1, OPHOOK_STEPS_3, OPHOOK_AT) {        \
    const auto second = OPHOOK_LOCAL(src1);                                                                          \
    ophook::rt::compare("vcmpv_" #cce, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), &second, {},                           \
                        int(AscendC::CMPMODE::mode), {ophook::rt::Cover::kLanes, 256 / sizeof(T), 0, repeat, true},  \
                        {src0_block, src0_repeat}, {src1_block, src1_repeat}, where);                                \
  }                                                                                                                  \
  OPHOOK_OF(__VA_ARGS__)                                                                                             \
  inline void vcmpvs_##cce(uint8_t* dst, T* src, ophook::c::Given<T> value, OPHOOK_STEPS_2, OPHOOK_AT) {             \
    ophook::rt::compare("vcmpvs_" #cce, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), nullptr, ophook::rt::scalar_of(value), \
                        int(AscendC::CMPMODE::mode), {ophook::rt::Cover::kLanes, 256 / sizeof(T), 0, repeat, true},  \
                        {src_block, src_repeat}, {}, where);                                                         \
  }                                                                                                                  \
  OPHOOK_OF(half, float) inline void vcmp_##cce(T* src0, T* src1, OPHOOK_STEPS_3, OPHOOK_AT) {                       \
    if (repeat != 1) return ophook::rt::refuse("vcmp_" #cce, "the register holds what one repeat compares", where);  \
    ophook::rt::compare_into_register(OPHOOK_LOCAL(src0), OPHOOK_LOCAL(src1), int(AscendC::CMPMODE::mode),           \
                                      ophook::c::repeated(1), {src0_block, src0_repeat}, {src1_block, src1_repeat},  \
                                      where);                                                                        \
  }
#include "c_interface.inc"

// ---- arithmetic that is no row: mixed types, a rounded shift, results of another type ----
inline void vmla(float* dst, half* src0, half* src1, OPHOOK_STEPS_3, OPHOOK_AT) {
  ophook::rt::binary(ophook::rt::Op::MulAddDst, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), OPHOOK_LOCAL(src1),
                     ophook::c::repeated(repeat), {dst_block, dst_repeat}, {src0_block, src0_repeat},
                     {src1_block, src1_repeat}, where);
}
OPHOOK_FROM_TO(half(half), float(half), float(float))
inline void vaxpy(D* dst, S* src, ophook::c::Given<S> value, OPHOOK_STEPS_2, OPHOOK_AT) {
  ophook::rt::with_scalar(ophook::rt::Op::Axpy, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), ophook::rt::scalar_of(value),
                          ophook::c::repeated(repeat), {dst_block, dst_repeat}, {src_block, src_repeat}, where);
}
OPHOOK_OF(int16_t, int32_t, uint16_t, uint32_t)
inline void vshr(T* dst, T* src, ophook::c::Distance<T> value, OPHOOK_STEPS_2, bool round, OPHOOK_AT) {
  const bool rounds = round && std::is_signed_v<T>;
  ophook::rt::with_scalar(rounds ? ophook::rt::Op::ShiftRightRounded : ophook::rt::Op::ShiftRight, OPHOOK_LOCAL(dst),
                          OPHOOK_LOCAL(src), ophook::rt::scalar_of(value), ophook::c::repeated(repeat),
                          {dst_block, dst_repeat}, {src_block, src_repeat}, where);
}
#define OPHOOK_CONV(name, op, D, S)                                                                                \
  inline void name(D* dst, S* src0, S* src1, OPHOOK_STEPS_3, bool h, OPHOOK_AT) {                                  \
    if (h) return ophook::rt::refuse(#name, "results in the upper halves of blocks (h) are not simulated", where); \
    ophook::rt::binary_cast(#name, ophook::rt::Op::op, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), OPHOOK_LOCAL(src1),  \
                            ophook::c::repeated(repeat), {dst_block, dst_repeat}, {src0_block, src0_repeat},       \
                            {src1_block, src1_repeat}, where);                                                     \
  }
OPHOOK_CONV(vaddreluconv_f162s8, AddRelu, int8_t, half)
OPHOOK_CONV(vaddreluconv_s162s8, AddRelu, int8_t, int16_t)
OPHOOK_CONV(vaddreluconv_f322f16, AddRelu, half, float)
OPHOOK_CONV(vsubreluconv_f162s8, SubRelu, int8_t, half)
OPHOOK_CONV(vsubreluconv_s162s8, SubRelu, int8_t, int16_t)
OPHOOK_CONV(vsubreluconv_f322f16, SubRelu, half, float)
OPHOOK_CONV(vmulconv_f162s8, Mul, int8_t, half)
OPHOOK_CONV(vmulconv_f162u8, Mul, uint8_t, half)
#undef OPHOOK_CONV

// ---- reductions of a repeat, of each block, of pairs; `mode`: all repeats into a register instead ----
enum Order_t { VALUE_INDEX, INDEX_VALUE, ONLY_VALUE, ONLY_INDEX };
#define OPHOOK_STEPS_R uint8_t repeat, uint16_t dst_repeat, uint16_t src_block, uint16_t src_repeat
#define OPHOOK_REDUCE(name, fold, group, more, order)                                                             \
  OPHOOK_OF(half, float) inline void name(T* dst, T* src, OPHOOK_STEPS_R OPHOOK_ALL more, OPHOOK_AT) {            \
    ophook::rt::reduce_groups(#name, ophook::rt::Fold::fold, OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), group,         \
                              ophook::c::repeated(repeat), dst_repeat, src_block, src_repeat, int(order), where); \
  }
OPHOOK_REDUCE(vcpadd, sum, 2, (), -1)
OPHOOK_REDUCE(vcgadd, sum, 32 / sizeof(T), (), -1)
OPHOOK_REDUCE(vcgmax, max, 32 / sizeof(T), (), -1)
OPHOOK_REDUCE(vcgmin, min, 32 / sizeof(T), (), -1)
OPHOOK_REDUCE(vcmax, max, 256 / sizeof(T), (, Order_t order), order)
OPHOOK_REDUCE(vcmin, min, 256 / sizeof(T), (, Order_t order), order)
#undef OPHOOK_REDUCE
OPHOOK_OF(half, float) inline void vcadd(T* dst, T* src, OPHOOK_STEPS_R, bool mode, OPHOOK_AT) {
  ophook::rt::reduce_groups("vcadd", ophook::rt::Fold::sum, mode ? OPHOOK_LOCAL(src) : OPHOOK_LOCAL(dst),
                            OPHOOK_LOCAL(src), 256 / sizeof(T), ophook::c::repeated(repeat), dst_repeat, src_block,
                            src_repeat, mode ? ophook::rt::kIntoRegister : -1, where);
}
inline int64_t get_acc_val() { return int64_t(ophook::rt::last_sum()); }
#undef OPHOOK_STEPS_R

// ---- other vector instructions ----
OPHOOK_OF(half, int16_t, uint16_t, bfloat16_t, float, int32_t, uint32_t)
inline void vector_dup(T* dst, ophook::c::Given<T> src, OPHOOK_STEPS_2, OPHOOK_AT) {
  static_cast<void>(src_block), static_cast<void>(src_repeat);
  ophook::rt::duplicate(OPHOOK_LOCAL(dst), ophook::rt::scalar_of(src), ophook::c::repeated(repeat),
                        {dst_block, dst_repeat}, where);
}
OPHOOK_OF(int16_t, uint16_t, int32_t, uint32_t) inline void vcopy(T* dst, T* src, OPHOOK_STEPS_2, OPHOOK_AT) {
  ophook::rt::copy_blocks(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), ophook::c::repeated(repeat), {dst_block, dst_repeat},
                          {src_block, src_repeat}, where);
}
OPHOOK_OF(uint16_t, uint32_t)
inline void vbrcb(T* dst, T* src, uint16_t dst_block, uint16_t dst_repeat, uint8_t repeat, OPHOOK_AT) {
  ophook::rt::broadcast_blocks(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), repeat, dst_block, dst_repeat, where);
}
// The base is an address as a number.
OPHOOK_OF(uint16_t, uint32_t)
inline void vgather(T* dst, uint32_t* offset, uint64_t base, uint16_t dst_repeat, uint8_t repeat, OPHOOK_AT) {
  ophook::rt::gather(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(ophook::c::in_buffer<T>(base)), OPHOOK_LOCAL(offset), 0,
                     ophook::c::repeated(repeat), {1, dst_repeat}, where);
}
OPHOOK_OF(uint16_t, uint32_t)
inline void vgatherb(T* dst, uint32_t* offset, uint64_t base, uint16_t dst_repeat, uint8_t dst_block, uint8_t repeat,
                     OPHOOK_AT) {
  ophook::rt::gather_blocks(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(ophook::c::in_buffer<T>(base)), OPHOOK_LOCAL(offset),
                            repeat, dst_block, dst_repeat, where);
}
// Of each repeat as much as the mask's counter says, where it counts, else 256 bytes.
template <typename T, ophook::c::number P>
  requires ophook::c::one_of<T, uint16_t, uint32_t>
inline void vreducev2(T* dst, T* src0, ophook::c::Given<T>* src1, uint16_t repeat, uint8_t src0_block, P pattern,
                      uint16_t src0_repeat, uint8_t src1_repeat, OPHOOK_AT) {
  uint64_t taken;
  const auto bits = int(pattern) ? ophook::rt::Local{} : OPHOOK_LOCAL(src1);
  ophook::rt::gather_mask(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), int(pattern) ? nullptr : &bits, int(pattern), false,
                          ophook::rt::kMaskOfCore, src0_block, repeat, src0_repeat, src1_repeat, &taken, where);
}
inline int64_t get_rsvd_cnt() { return int64_t(ophook::rt::last_gathered()); }
// Mode 0 chooses by the register; 1 by bits at src1, and takes the register's number where they are 0; 2 by bits at the
// address in the register.
template <typename T, typename S, ophook::c::number M>
  requires ophook::c::one_of<T, half, float>
inline void vsel(T* dst, T* src0, S* src1, OPHOOK_STEPS_3, M select, OPHOOK_AT) {
  using ophook::rt::Dtype;
  const int mode = int(select);
  if (mode < 0 || mode > 2) return ophook::rt::refuse("vsel", "selectMode is 0 to 2", where);
  ophook::rt::Local bits;
  if (mode == 1) bits = OPHOOK_LOCAL(reinterpret_cast<uint8_t*>(src1));
  if (mode == 2)
    bits = OPHOOK_LOCAL(ophook::c::in_buffer<uint8_t>(uint64_t(ophook::rt::compared_scalar(Dtype::i64).whole)));
  const auto second = mode == 1 ? ophook::rt::Local{} : OPHOOK_LOCAL(reinterpret_cast<T*>(src1));
  const auto number = mode == 1 ? ophook::rt::compared_scalar(ophook::rt::dtype_of<T>()) : ophook::rt::Scalar{};
  ophook::rt::select(OPHOOK_LOCAL(dst), bits, OPHOOK_LOCAL(src0), mode == 1 ? nullptr : &second, number, mode,
                     ophook::c::repeated(repeat), {dst_block, dst_repeat}, {src0_block, src0_repeat},
                     {src1_block, src1_repeat}, where);
}
inline void set_cmpmask(void* src, OPHOOK_AT) { ophook::rt::set_compared("set_cmpmask", OPHOOK_LOCAL(src), where); }
inline void get_cmpmask(void* dst, OPHOOK_AT) { ophook::rt::read_compared(OPHOOK_LOCAL(dst), where); }
OPHOOK_OF(int16_t, uint16_t) inline void vtranspose(T* dst, T* src, OPHOOK_AT) {
  ophook::rt::transpose16(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), where);
}
OPHOOK_OF(half, float) inline void vbitsort(T* dst, T* src0, uint32_t* src1, uint8_t repeat, OPHOOK_AT) {
  ophook::rt::sort("vbitsort", OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), OPHOOK_LOCAL(src1), nullptr, repeat, false,
                   where);
}

// Sixteen blocks by address registers: one has the first eight addresses, the next one the others.
enum ub_addr8_t { VA0, VA1, VA2, VA3, VA4, VA5, VA6, VA7 };
namespace ophook::c {
template <typename T>
void trans_data(const char* call, ub_addr8_t dst, ub_addr8_t src, const Scatter& how, At where) {
  if (dst == VA7 || src == VA7) return refuse(call, "a register and the one behind it have the addresses", where);
  Local to[16], from[16];
  for (int i = 0; i < 16; ++i) {
    to[i] = local_of(reinterpret_cast<T*>(address_register(dst + i / 8)[i % 8]), dtype_of<T>());
    from[i] = local_of(reinterpret_cast<T*>(address_register(src + i / 8)[i % 8]), dtype_of<T>());
  }
  rt::trans_data(to, from, how, where);
}
}  // namespace ophook::c
#define OPHOOK_5HD(width, HALVES, dst_high, src_high)                                                         \
  inline void scatter_vnchwconv_b##width(ub_addr8_t dst, ub_addr8_t src, uint8_t repeat, uint16_t dst_stride, \
                                         uint16_t src_stride OPHOOK_ALL HALVES, OPHOOK_AT) {                  \
    ophook::c::trans_data<uint##width##_t>("scatter_vnchwconv_b" #width, dst, src,                            \
                                           {dst_high, src_high, repeat, dst_stride, src_stride}, where);      \
  }
OPHOOK_5HD(8, (, bool dst_high_half, bool src_high_half), dst_high_half, src_high_half)
OPHOOK_5HD(16, (), false, false)
OPHOOK_5HD(32, (), false, false)
#undef OPHOOK_5HD
inline void set_va_reg_sb(ub_addr8_t addr, uint64_t* array) {
  for (int i = 0; i < 8; ++i) ophook::rt::address_register(addr)[i] = array[i];
}

// Lists of pairs, longest first where they are equal: how long each is, 16 bits each; repeats, which lists there are (8
// to 11), and whether it stops when one is used up (12).
OPHOOK_OF(half, float) inline void vmrgsort4(T* dst, T** src, uint64_t lengths, uint64_t config, OPHOOK_AT) {
  ophook::rt::Local lists[4];
  uint16_t each[4];
  for (int i = 0; i < 4; ++i) {
    each[i] = uint16_t(lengths >> (16 * i));
    if (config >> (8 + i) & 1) lists[i] = OPHOOK_LOCAL(src[i]);
  }
  uint32_t taken[4];
  ophook::rt::merge_sorted(OPHOOK_LOCAL(dst), lists, each, config >> 8 & 15, config & 255, config >> 12 & 1, taken,
                           where);
}
inline int64_t get_vms4_sr() {
  uint64_t all = 0;
  for (int i = 0; i < 4; ++i) all |= uint64_t(uint16_t(ophook::rt::last_merge()[i])) << (16 * i);
  return int64_t(all);
}

// ---- masks and atomic copies ----
inline void set_mask_count() { ophook::rt::set_mask(true, 0, 0, true); }
inline void set_mask_norm() { ophook::rt::set_mask(false, 0, 0, true); }
inline void set_vector_mask(uint64_t mask1, uint64_t mask0) { ophook::rt::set_mask_bits(mask1, mask0); }
inline void set_vector_mask_dup(uint64_t mask) { ophook::rt::set_mask_bits(mask, mask); }
inline void set_deqscale(half scale) { ophook::rt::set_deq_scale(float(scale)); }
inline void set_mov_pad_val(uint64_t value) { ophook::rt::pad_value(value); }
inline void set_atomic_none() { AscendC::SetAtomicNone(); }
#define OPHOOK_ATOMIC(name, type) \
  inline void set_atomic_##name() { ophook::rt::atomic(-1, ophook::rt::dtype_of<type>()); }
OPHOOK_ATOMIC(f32, float)
OPHOOK_ATOMIC(f16, half)
OPHOOK_ATOMIC(bf16, bfloat16_t)
OPHOOK_ATOMIC(s32, int32_t)
OPHOOK_ATOMIC(s16, int16_t)
OPHOOK_ATOMIC(s8, int8_t)
#undef OPHOOK_ATOMIC
inline void set_atomic_add() { ophook::rt::atomic(1, ophook::rt::Dtype::other); }
inline void set_atomic_max() { ophook::rt::atomic(2, ophook::rt::Dtype::other); }
inline void set_atomic_min() { ophook::rt::atomic(3, ophook::rt::Dtype::other); }

// ---- the control register: how products round factors of float (46, 47), whether half and bfloat16_t do not saturate
// (48), whether masks are numbers of elements (56), and whether conversions cut what overflows (59) ----
inline uint64_t get_ctrl() { return ophook::rt::control_register(); }
inline void set_ctrl(uint64_t value, OPHOOK_AT) { ophook::rt::set_control_register("set_ctrl", value, where); }

// ---- stores of the scalar unit that add, of the type that was set ----
enum atomic_type_t : uint16_t { ATOMIC_NONE, ATOMIC_F32, ATOMIC_F16, ATOMIC_S16, ATOMIC_S32, ATOMIC_S8, ATOMIC_BF16 };
enum atomic_op_t : uint16_t { ATOMIC_SUM };
inline void set_st_atomic_cfg(atomic_type_t type, atomic_op_t) { *ophook::rt::store_type() = uint16_t(type); }
template <typename T>
inline void st_atomic(T value, __gm__ T* address, OPHOOK_AT) {
  ophook::rt::store_added("st_atomic", {reinterpret_cast<uint8_t*>(address), sizeof(T), ophook::rt::dtype_of<T>()},
                          &value, where);
}

// ---- between pipes M and FIX, and M and MTE1: before the work that the other pipe waits for, and that waits ----
enum class mem_t { L1, L0A, L0B, L0C, UB, BT };  // scoped: L1 is a name that kernels have
inline void hset_flag(pipe_t pipe, pipe_t tpipe, uint64_t id, mem_t, bool v, OPHOOK_AT) {
  ophook::rt::early_flag(true, ophook::rt::Pipe(int(pipe)), ophook::rt::Pipe(int(tpipe)), int(id), v, where);
}
inline void hwait_flag(pipe_t pipe, pipe_t tpipe, uint64_t id, mem_t, bool v, OPHOOK_AT) {
  ophook::rt::early_flag(false, ophook::rt::Pipe(int(pipe)), ophook::rt::Pipe(int(tpipe)), int(id), v, where);
}
// An Ascend 950's and an Atlas inference product's.
template <typename... T>
void vscatter(T...) {
  static_assert(sizeof...(T) > 100, "vscatter: an Atlas A2 or A3 has no instruction that scatters (Scatter.md)");
}

// ---- between cores: who meets (mode) and which flag are bits of a number ----
// Where the device keeps those flags: here they are the runtime's, and the number is kept for who asks.
inline void set_ffts_base_addr(uint64_t address) { ophook::rt::flags_address() = int64_t(address); }
inline int64_t get_ffts_base_addr() { return ophook::rt::flags_address(); }
inline int64_t get_coreid() { return ophook::rt::core_number(); }
inline void ffts_cross_core_sync(pipe_t pipe, uint64_t config, OPHOOK_AT) {
  ophook::rt::cross_set(int(config >> 4 & 3), ophook::rt::Pipe(int(pipe)), int(config >> 8 & 15), where);
}
inline void wait_flag_dev(int64_t id, OPHOOK_AT) { ophook::rt::cross_wait(0, int(id), where); }

// ---- copies of bursts, in blocks of 32 bytes; `_align` in bytes, with gaps of device memory in bytes ----
enum bm_t : uint8_t { BM_DISABLE, BM_ENABLE };
#define OPHOOK_DMA uint8_t, OPHOOK_BURSTS
#define OPHOOK_PIECES ophook::c::blocks(n_burst, len_burst, src_gap, dst_gap)
inline void copy_gm_to_ubuf(void* dst, void* src, OPHOOK_DMA, OPHOOK_AT) {
  ophook::rt::copy_in("copy_gm_to_ubuf", OPHOOK_LOCAL(dst), ophook::c::global(src), OPHOOK_PIECES, nullptr, where);
}
inline void copy_ubuf_to_gm(void* dst, void* src, OPHOOK_DMA, OPHOOK_AT) {
  ophook::rt::copy_out("copy_ubuf_to_gm", ophook::c::global(dst), OPHOOK_LOCAL(src), OPHOOK_PIECES, false, where);
}
inline void copy_ubuf_to_gm(void* dst, void* src, OPHOOK_DMA, bm_t mode, OPHOOK_AT) {
  if (mode != BM_DISABLE) return ophook::rt::refuse("copy_ubuf_to_gm", "byteMode is not simulated", where);
  copy_ubuf_to_gm(dst, src, 0, n_burst, len_burst, src_gap, dst_gap, where);
}
inline void copy_ubuf_to_ubuf(void* dst, void* src, OPHOOK_DMA, OPHOOK_AT) {
  ophook::rt::copy_local("copy_ubuf_to_ubuf", OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), OPHOOK_PIECES, where);
}
#define OPHOOK_ALIGNED                                                                                          \
  uint8_t, uint16_t n_burst, uint32_t len_burst, uint8_t left_padding, uint8_t right_padding, uint32_t src_gap, \
      uint32_t dst_gap
#define OPHOOK_ALIGN(width)                                                                                            \
  inline void copy_gm_to_ubuf_align_b##width(void* dst, void* src, OPHOOK_ALIGNED, OPHOOK_AT) {                        \
    const ophook::rt::Padding padding{false, left_padding, right_padding, 0}; /* what set_mov_pad_val set */           \
    auto to = OPHOOK_LOCAL(reinterpret_cast<uint##width##_t*>(dst));                                                   \
    ophook::rt::copy_in("copy_gm_to_ubuf_align_b" #width, to,                                                          \
                        ophook::c::global(reinterpret_cast<uint##width##_t*>(src)),                                    \
                        {n_burst, len_burst, src_gap, uint64_t(dst_gap) * 32}, &padding, where);                       \
  }                                                                                                                    \
  inline void copy_ubuf_to_gm_align_b##width(void* dst, void* src, OPHOOK_ALIGNED, OPHOOK_AT) {                        \
    static_cast<void>(left_padding), static_cast<void>(right_padding);                                                 \
    ophook::rt::copy_out("copy_ubuf_to_gm_align_b" #width, ophook::c::global(reinterpret_cast<uint##width##_t*>(dst)), \
                         OPHOOK_LOCAL(reinterpret_cast<uint##width##_t*>(src)),                                        \
                         {n_burst, len_burst, uint64_t(src_gap) * 32, dst_gap}, true, where);                          \
  }
OPHOOK_ALIGN(8)
OPHOOK_ALIGN(16)
OPHOOK_ALIGN(32)
#undef OPHOOK_ALIGN
#undef OPHOOK_ALIGNED

#include "c_macros_end.inc"
