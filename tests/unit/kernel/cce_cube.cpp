// A product in CCE intrinsics.
#include "kernel_operator.h"
#include "c_api/asc_simd.h"

// z = x y: x of 16 by 32 halves, y of 32 by 16, in the cube unit.
extern "C" __global__ __aicore__ void product(GM_ADDR x, GM_ADDR y, GM_ADDR z) {
#if defined(__DAV_C220_CUBE__)
  auto left = reinterpret_cast<__cbuf__ half*>(get_imm(0)), right = reinterpret_cast<__cbuf__ half*>(get_imm(1024));
  auto a = reinterpret_cast<__ca__ half*>(get_imm(0));
  auto b = reinterpret_cast<__cb__ half*>(get_imm(0));
  auto c = reinterpret_cast<__cc__ float*>(get_imm(0));
  copy_gm_to_cbuf_multi_nd2nz_b16(left, reinterpret_cast<__gm__ half*>(x), 0, 1, 16, 32, 0, 32, 16, 1, 0);
  copy_gm_to_cbuf_multi_nd2nz_b16(right, reinterpret_cast<__gm__ half*>(y), 0, 1, 32, 16, 0, 16, 32, 1, 0);
  set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
  wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
  load_cbuf_to_ca(a, left, 0, 2, 1, 0, 0, false, inc);
  load_cbuf_to_cb(b, right, 0, 2, 1, 0, 0, true, inc);
  set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
  wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
  mad(c, a, b, 16, 32, 16, 0, false, false, true);
  set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
  wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
  set_nd_para(0x10001);
  copy_matrix_cc_to_gm(reinterpret_cast<__gm__ float*>(z), c, 0, 16, 16, 16, 16, 0, NoQuant, 0, false, true);
  pipe_barrier(PIPE_ALL);
#endif
}

// The same into halves of 8 bits by a factor for each column, with parameters in two registers; what b is made of
// stands in the kernel.
extern "C" __global__ __aicore__ void factors(GM_ADDR x, GM_ADDR y, GM_ADDR z) {
#if defined(__DAV_C220_CUBE__)
  auto left = reinterpret_cast<__cbuf__ half*>(get_imm(0)), right = reinterpret_cast<__cbuf__ half*>(get_imm(1024));
  auto table = reinterpret_cast<__cbuf__ uint64_t*>(get_imm(4096));
  auto a = reinterpret_cast<__ca__ half*>(get_imm(0));
  auto b = reinterpret_cast<__cb__ half*>(get_imm(0));
  auto c = reinterpret_cast<__cc__ float*>(get_imm(0));
  copy_gm_to_cbuf_multi_nd2nz_b16(left, reinterpret_cast<__gm__ half*>(x), 0, 1, 16, 16, 0, 16, 16, 1, 0);
  copy_gm_to_cbuf(table, y, 0, 1, 4, 0, 0, PAD_NONE);
  create_cbuf_matrix(right, int64_t{1} | int64_t{16} << 16, half(1.0f));
  set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
  wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
  set_flag(PIPE_MTE2, PIPE_FIX, EVENT_ID1);
  wait_flag(PIPE_MTE2, PIPE_FIX, EVENT_ID1);
  load_cbuf_to_ca(a, left, 0, 1, 0, 0, false);
  load_cbuf_to_cb(b, right, 0, 1, 0, 0, true);
  copy_cbuf_to_fbuf(reinterpret_cast<__fbuf__ void*>(get_imm(0)), table, 1, 1, 0, 0);
  set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
  wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
  mad(c, a, b, 16, 16, 16, true);
  set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
  wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
  set_fpc(0);
  set_nd_para(0x10001);
  const uint64_t sizes = uint64_t{16} << 4 | uint64_t{16} << 16 | uint64_t{16} << 32;
  const uint64_t how = uint64_t{16} | uint64_t(VQF322B8_PRE) << 34 | uint64_t{1} << 43;
  copy_matrix_cc_to_gm(reinterpret_cast<__gm__ int8_t*>(z), c, sizes, how);
  pipe_barrier(PIPE_ALL);
#endif
}

// Whole numbers, shifted by two places on their way to halves of their width.
extern "C" __global__ __aicore__ void shifted(GM_ADDR x, GM_ADDR y, GM_ADDR z) {
#if defined(__DAV_C220_CUBE__)
  auto left = reinterpret_cast<__cbuf__ int8_t*>(get_imm(0)), right = reinterpret_cast<__cbuf__ int8_t*>(get_imm(1024));
  auto a = reinterpret_cast<__ca__ int8_t*>(get_imm(0));
  auto b = reinterpret_cast<__cb__ int8_t*>(get_imm(0));
  auto c = reinterpret_cast<__cc__ int32_t*>(get_imm(0));
  copy_gm_to_cbuf_multi_nd2nz_b8(left, reinterpret_cast<__gm__ int8_t*>(x), 0, 1, 16, 32, 0, 32, 16, 1, 0);
  copy_gm_to_cbuf_multi_nd2nz_b8(right, reinterpret_cast<__gm__ int8_t*>(y), 0, 1, 16, 32, 0, 32, 16, 1, 0);
  set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
  wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
  load_cbuf_to_ca(a, left, 0, 1, 0, 0, false);
  load_cbuf_to_cb(b, right, 0, 1, 0, 0, false);
  set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
  wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
  mad(c, a, b, 16, 32, 16, true);
  set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
  wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
  set_nd_para(0x10001);
  set_quant_pre(uint64_t{1} << 32);
  copy_matrix_cc_to_gm(reinterpret_cast<__gm__ int16_t*>(z), c, 0, 16, 16, 16, 16, 0, SHIFTS322S16, 0, false, true);
  pipe_barrier(PIPE_ALL);
#endif
}

// The same product by flags that are told before the work: that the loads are over, that the product is.
template <int which>
__aicore__ inline void early(GM_ADDR x, GM_ADDR y, GM_ADDR z) {
#if defined(__DAV_C220_CUBE__)
  auto left = reinterpret_cast<__cbuf__ half*>(get_imm(0)), right = reinterpret_cast<__cbuf__ half*>(get_imm(1024));
  auto a = reinterpret_cast<__ca__ half*>(get_imm(0));
  auto b = reinterpret_cast<__cb__ half*>(get_imm(0));
  auto c = reinterpret_cast<__cc__ float*>(get_imm(0));
  copy_gm_to_cbuf_multi_nd2nz_b16(left, reinterpret_cast<__gm__ half*>(x), 0, 1, 16, 32, 0, 32, 16, 1, 0);
  copy_gm_to_cbuf_multi_nd2nz_b16(right, reinterpret_cast<__gm__ half*>(y), 0, 1, 32, 16, 0, 16, 32, 1, 0);
  set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
  wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
  hset_flag(PIPE_FIX, PIPE_M, EVENT_ID1, mem_t::L0C, true);  // nothing is written out yet
  load_cbuf_to_ca(a, left, 0, 2, 1, 0, 0, false, inc);
  hset_flag(PIPE_MTE1, PIPE_M, EVENT_ID0, mem_t::L0B, false);
  load_cbuf_to_cb(b, right, 0, 2, 1, 0, 0, true, inc);
  hwait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0, mem_t::L0B, false);
  hwait_flag(PIPE_FIX, PIPE_M, EVENT_ID1, mem_t::L0C, true);
  hset_flag(PIPE_M, PIPE_FIX, EVENT_ID0, mem_t::L0C, false);
  if (which != 1) mad(c, a, b, 16, 32, 16, 0, false, false, true);
  hwait_flag(PIPE_M, PIPE_FIX, EVENT_ID0, mem_t::L0C, false);
  if (which == 2) hset_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0, mem_t::L1, true);
  set_nd_para(0x10001);
  copy_matrix_cc_to_gm(reinterpret_cast<__gm__ float*>(z), c, 0, 16, 16, 16, 16, 0, NoQuant, 0, false, true);
  pipe_barrier(PIPE_ALL);
#endif
}
extern "C" __global__ __aicore__ void early_flags(GM_ADDR x, GM_ADDR y, GM_ADDR z) { early<0>(x, y, z); }
extern "C" __global__ __aicore__ void early_flag_of_nothing(GM_ADDR x, GM_ADDR y, GM_ADDR z) { early<1>(x, y, z); }
extern "C" __global__ __aicore__ void early_flag_elsewhere(GM_ADDR x, GM_ADDR y, GM_ADDR z) { early<2>(x, y, z); }

// z = x y, both of 4 bits and 64 deep, from L1 and from device memory.
extern "C" __global__ __aicore__ void early_fours(GM_ADDR x, GM_ADDR y, GM_ADDR z) {
#if defined(__DAV_C220_CUBE__)
  auto left = reinterpret_cast<__cbuf__ void*>(get_imm(0));
  auto a = reinterpret_cast<__ca__ int4b_t*>(get_imm(0));
  auto b = reinterpret_cast<__cb__ int4b_t*>(get_imm(0));
  auto c = reinterpret_cast<__cc__ int32_t*>(get_imm(0));
  copy_gm_to_cbuf(left, x, 0, 1, 16, 0, 0, PAD_NONE);
  load_gm_to_cb_s4(b, y, 0, 1, 1, 0, 0, inc);
  set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
  wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
  load_cbuf_to_ca_s4(a, left, 0, 1, 1, 0, 0, false, inc);
  pipe_barrier(PIPE_ALL);
  asc_mmad_s4(c, a, b, 16, 64, 16, 0, false, false, true);
  pipe_barrier(PIPE_ALL);
  set_nd_para(0x10001);
  copy_matrix_cc_to_gm(reinterpret_cast<__gm__ int32_t*>(z), c, 0, 16, 16, 16, 16, 0, NoQuant, 0, false, true);
  set_ffts_base_addr(77);
  if (asc_get_ffts_base_addr() != 77 || get_coreid() != asc_get_core_id()) AscendC::Trap();
  pipe_barrier(PIPE_ALL);
#endif
}
