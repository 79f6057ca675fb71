#include "kernel_operator.h"

extern "C" __global__ __aicore__ void fill_index(GM_ADDR var, GM_ADDR index, GM_ADDR workspace, GM_ADDR tiling) {
  AscendC::GlobalTensor<int32_t> to, at;
  to.SetGlobalBuffer((__gm__ int32_t*)var);
  at.SetGlobalBuffer((__gm__ int32_t*)index);
  to.SetValue(at.GetValue(0), 7);
  dcci(var, 0);
  dcci(var, 1, 2);
}
