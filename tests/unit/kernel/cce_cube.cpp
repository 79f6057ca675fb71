// A product in CCE intrinsics.
#include "kernel_operator.h"

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
