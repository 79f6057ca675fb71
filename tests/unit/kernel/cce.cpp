// Kernels in CCE intrinsics: addresses as numbers, strides and repeats, no tensor and no queue.
#include "kernel_operator.h"

namespace {
constexpr uint32_t kCount = 512;  // floats, eight repeats
__aicore__ inline __ubuf__ float* place(uint32_t number) {
  return reinterpret_cast<__ubuf__ float*>(get_imm(number * kCount * sizeof(float)));
}
__aicore__ inline void load(__ubuf__ float* to, __gm__ uint8_t* from) {
  copy_gm_to_ubuf(to, from, 0, 1, kCount / 8, 0, 0);
  set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
  wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
}
__aicore__ inline void store(__gm__ uint8_t* to, __ubuf__ void* from, uint32_t blocks = kCount / 8) {
  set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
  wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
  copy_ubuf_to_gm(to, from, 0, 1, blocks, 0, 0);
}
__aicore__ inline void all() {
  set_mask_norm();
  set_vector_mask(uint64_t(-1), uint64_t(-1));
}
}  // namespace
#define KERNEL(name) extern "C" __global__ __aicore__ void name(GM_ADDR x, GM_ADDR y, GM_ADDR z)

// ((x + y) * 2 + y * x) and so on, then ever more of it under masks.
KERNEL(arithmetic) {
  auto a = place(0), b = place(1), c = place(2);
  load(a, x);
  load(b, y);
  all();
  vadd(c, a, b, 8, 1, 1, 1, 8, 8, 8);
  pipe_barrier(PIPE_V);
  vmuls(c, c, 2, 8, 1, 1, 8, 8);
  pipe_barrier(PIPE_V);
  vmla(c, a, b, 8, 1, 1, 1, 8, 8, 8);
  pipe_barrier(PIPE_V);
  vaxpy(c, a, 0.5f, 8, 1, 1, 8, 8);
  pipe_barrier(PIPE_V);
  set_vector_mask(0, 0x5555555555555555);
  vector_dup(c, -1.0f, 1, 1, 0, 8, 0);
  set_mask_count();
  set_vector_mask(0, 100);
  vadds(c + 64, c + 64, 1000.0f, 1, 1, 1, 8, 8);
  set_mask_norm();
  store(z, c);
}

// Sums of blocks, then what is greatest in each repeat and where, then sums of repeats.
KERNEL(reductions) {
  auto a = place(0), c = place(1);
  load(a, x);
  all();
  vcgadd(c, a, 8, 1, 1, 8);
  vcmax(c + 64, a, 8, 1, 1, 8, VALUE_INDEX);
  vcadd(c + 128, a, 8, 1, 1, 8, false);
  vcpadd(c + 192, a, 8, 1, 1, 8);
  store(z, c);
}

// Even elements, odd ones, and both backwards.
KERNEL(gathers) {
  auto a = place(0), c = place(1);
  auto even = reinterpret_cast<__ubuf__ uint32_t*>(c), from = reinterpret_cast<__ubuf__ uint32_t*>(a);
  load(a, x);
  auto offsets = reinterpret_cast<__ubuf__ uint32_t*>(place(2));
  for (uint32_t i = 0; i < 64; ++i) offsets[i] = (kCount - 1 - i) * sizeof(float);
  set_flag(PIPE_S, PIPE_V, EVENT_ID1);
  wait_flag(PIPE_S, PIPE_V, EVENT_ID1);
  all();
  vreducev2(even, from, nullptr, 4, 1, 1, 8, 8);
  pipe_barrier(PIPE_V);
  vreducev2(even + 128, from, nullptr, 4, 1, 2, 8, 8);
  pipe_barrier(PIPE_V);
  vgather(even + 256, offsets, uint32_t(reinterpret_cast<uintptr_t>(a)), 8, 1);
  store(z, c, 40);
}

// By the register, by bits and a number, by bits at an address.
KERNEL(selections) {
  auto a = place(0), b = place(1), c = place(2);
  auto bits = reinterpret_cast<__ubuf__ uint8_t*>(place(3)), told = reinterpret_cast<__ubuf__ uint8_t*>(place(4));
  load(a, x);
  load(b, y);
  all();
  vcmp_gt(a, b, 1, 1, 1, 1, 8, 8, 8);
  pipe_barrier(PIPE_V);
  vsel(c, a, b, 1, 1, 1, 1, 8, 8, 8, 0);
  vcmpvs_lt(bits, a, 0.0f, 8, 1, 1, 8, 8);
  *reinterpret_cast<__ubuf__ float*>(told) = 7;
  for (int i = 1; i < 4; ++i) reinterpret_cast<__ubuf__ float*>(told)[i] = 0;
  set_flag(PIPE_S, PIPE_V, EVENT_ID1);
  wait_flag(PIPE_S, PIPE_V, EVENT_ID1);
  set_cmpmask(told);
  pipe_barrier(PIPE_V);
  vsel(c + 64, a, reinterpret_cast<__ubuf__ float*>(bits), 1, 1, 1, 1, 8, 8, 8, 1);
  set_flag(PIPE_V, PIPE_S, EVENT_ID1);
  wait_flag(PIPE_V, PIPE_S, EVENT_ID1);
  *reinterpret_cast<__ubuf__ uint64_t*>(told) = reinterpret_cast<uint64_t>(bits);
  set_flag(PIPE_S, PIPE_V, EVENT_ID1);
  wait_flag(PIPE_S, PIPE_V, EVENT_ID1);
  set_cmpmask(told);
  pipe_barrier(PIPE_V);
  vsel(c + 128, a, b, 1, 1, 1, 1, 8, 8, 8, 2);
  store(z, c, 24);
}

// float to half and to whole numbers and back.
KERNEL(conversions) {
  auto a = place(0);
  auto h = reinterpret_cast<__ubuf__ half*>(place(1));
  auto w = reinterpret_cast<__ubuf__ int32_t*>(place(2));
  load(a, x);
  all();
  vconv_f322s32f(w, a, 8, 1, 1, 8, 8);
  vconv_f322f16r(h, a, 8, 1, 1, 4, 8);
  pipe_barrier(PIPE_V);
  vconv_f162f32(a, h, 4, 1, 1, 8, 4);
  vconv_s322f32(a + 256, w, 4, 1, 1, 8, 8);
  store(z, a);
}

// Three rows of five floats, seven apart, to rows of their own; back with a gap of one.
KERNEL(rows) {
  auto a = place(0);
  copy_gm_to_ubuf_align_b32(a, x, 0, 3, 20, 0, 3, 8, 1);
  set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
  wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
  copy_ubuf_to_gm_align_b32(z, a, 0, 3, 20, 0, 0, 1, 4);
}

// Where each repeat of halves is least: a uint32_t each.
KERNEL(places_of_halves) {
  auto a = reinterpret_cast<__ubuf__ half*>(place(0));
  load(place(0), x);
  all();
  vcmin(reinterpret_cast<__ubuf__ half*>(place(1)), a, 8, 1, 1, 8, ONLY_INDEX);
  store(z, place(1), 1);
}

// What the scalar unit writes by address: bytes of all ones are no less written.
KERNEL(numbers) {
  auto a = reinterpret_cast<__ubuf__ int32_t*>(get_imm(0));
  for (int i = 0; i < 64; ++i) a[i] = i % 3 ? i + 192 : -1;
  set_flag(PIPE_S, PIPE_MTE3, EVENT_ID0);
  wait_flag(PIPE_S, PIPE_MTE3, EVENT_ID0);
  copy_ubuf_to_gm(z, a, 0, 1, 8, 0, 0);
}

// A sum of all repeats, which the scalar unit reads.
KERNEL(a_sum_in_a_register) {
  auto a = place(0);
  load(a, x);
  all();
  vcadd(static_cast<__ubuf__ float*>(nullptr), a, 8, 1, 1, 8, true);
  set_flag(PIPE_V, PIPE_S, EVENT_ID0);
  wait_flag(PIPE_V, PIPE_S, EVENT_ID0);
  const int64_t bits = get_acc_val();
  vector_dup(place(1), *reinterpret_cast<const float*>(&bits), 1, 1, 0, 8, 0);
  store(z, place(1), 8);
}

KERNEL(bits_of_the_control_register) { set_ctrl(sbitset1(get_ctrl(), 53)); }

// Squares and halves of x as a kernel finds the chip, and saturated; then the bits that say so, and masks by numbers.
KERNEL(floats_that_saturate) {
  auto w = reinterpret_cast<__ubuf__ half*>(place(1));
  load(place(0), x);
  all();
  vconv_f322f16r(w + 256, place(0), 1, 1, 1, 4, 8);
  pipe_barrier(PIPE_V);
  vmul(w, w + 256, w + 256, 1, 1, 1, 1, 8, 8, 8);
  AscendC::SetSaturationFlag<AscendC::SaturationMode::FLOAT>(true);
  vconv_f322f16r(w + 64, place(0), 1, 1, 1, 4, 8);
  vmul(w + 128, w + 256, w + 256, 1, 1, 1, 1, 8, 8, 8);
  set_ctrl(sbitset1(get_ctrl(), 48));
  if (AscendC::GetSaturationFlag<AscendC::SaturationMode::FLOAT>()) return;
  vmul(w + 192, w + 256, w + 256, 1, 1, 1, 1, 8, 8, 8);
  set_ctrl(sbitset1(get_ctrl(), 56));
  set_vector_mask(0, 16);
  vector_dup(w + 192, half(7), 1, 1, 0, 8, 0);
  if (get_ctrl() != (uint64_t{1} << 48 | uint64_t{1} << 56)) return;
  set_ctrl(sbitset0(get_ctrl(), 56));
  store(z, w, 16);
}

// A whole number and a float are added to; without a type a store is told.
KERNEL(stores_that_add) {
  reinterpret_cast<__gm__ int32_t*>(z)[0] = 10, reinterpret_cast<__gm__ float*>(z)[1] = 2;
  set_st_atomic_cfg(ATOMIC_S32, ATOMIC_SUM);
  st_atomic<int32_t>(5, reinterpret_cast<__gm__ int32_t*>(z));
  set_st_atomic_cfg(ATOMIC_F32, ATOMIC_SUM);
  st_atomic(0.5f, reinterpret_cast<__gm__ float*>(z) + 1);
}
KERNEL(stores_of_another_type) { st_atomic<int32_t>(5, reinterpret_cast<__gm__ int32_t*>(z)); }

// One memory for what is read and what is written: an iteration has read all of it before it writes.
KERNEL(over_what_is_read) {
  auto a = place(0);
  auto h = reinterpret_cast<__ubuf__ half*>(a);
  load(place(2), x);
  all();
  vconv_f322f16r(h, place(2), 4, 1, 1, 8, 8);  // 64 halves every 256 bytes
  pipe_barrier(PIPE_V);
  vconv_f162f32(a, h, 4, 1, 1, 8, 8);
  pipe_barrier(PIPE_V);
  auto words = reinterpret_cast<__ubuf__ uint32_t*>(place(1));
  vcopy(words, reinterpret_cast<__ubuf__ uint32_t*>(a), 1, 1, 1, 8, 8);
  pipe_barrier(PIPE_V);
  vbrcb(words, words, 1, 8, 1);
  pipe_barrier(PIPE_V);
  vcopy(reinterpret_cast<__ubuf__ uint32_t*>(a) + 256, words, 1, 1, 1, 8, 8);
  store(z, a, 40);
}

// Rows of 100 elements, as the mask counts, of which every second is kept.
KERNEL(rows_by_the_counter) {
  auto c = reinterpret_cast<__ubuf__ uint32_t*>(place(1));
  load(place(0), x);
  set_mask_count();
  set_vector_mask(0, 100);
  vreducev2(c, reinterpret_cast<__ubuf__ uint32_t*>(place(0)), c, 3, 1, 1, 16, 0);
  set_mask_norm();
  all();
  set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
  wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
  copy_ubuf_to_gm_align_b32(z, c, 0, 1, 600, 0, 0, 0, 0);
}

// What a conversion cuts off with bit 59, and clamps without.
KERNEL(conversions_that_cut) {
  auto w = reinterpret_cast<__ubuf__ int16_t*>(place(1));
  load(place(0), x);
  all();
  vconv_f322s16r(w, place(0), 1, 1, 1, 4, 8);
  set_ctrl(sbitset1(get_ctrl(), 59));
  vconv_f322s16r(w + 64, place(0), 1, 1, 1, 4, 8);
  set_ctrl(sbitset0(get_ctrl(), 59));
  store(z, w, 8);
}

// Two lists of pairs, largest first, as one.
KERNEL(lists) {
  auto a = place(0);
  load(a, x);
  __ubuf__ float* from[4] = {a, a + 64, nullptr, nullptr};
  vmrgsort4(place(1), from, uint64_t{32} | uint64_t{32} << 16, 1 | 3 << 8);
  store(z, place(1), 16);
}

// Whole numbers added to memory: the type and the operation of an atomic copy are set apart.
KERNEL(atomic_copy) {
  auto a = place(0);
  load(a, x);
  set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
  wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
  copy_ubuf_to_gm(z, a, 0, 1, kCount / 8, 0, 0);
  pipe_barrier(PIPE_MTE3);
  set_atomic_s32();
  set_atomic_add();
  copy_ubuf_to_gm(z, a, 0, 1, kCount / 8, 0, 0);
  set_atomic_none();
}
