#include "kernel_operator.h"

template <typename T>
__aicore__ inline T At(GM_ADDR from, int index) {
  AscendC::GlobalTensor<T> tensor;
  tensor.SetGlobalBuffer((__gm__ T*)from);
  return tensor.GetValue(index);
}

// y is x[0] * by + plus[0] + plus[1], and 100 more with flags[1], in as many places as size says; x[0] becomes -1.
extern "C" __global__ __aicore__ void spread(GM_ADDR x, GM_ADDR size, GM_ADDR by, GM_ADDR plus, GM_ADDR flags,
                                             GM_ADDR x_ref, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  float value = At<float>(x, 0) * At<float>(by, 0) + At<int32_t>(plus, 0) + At<int32_t>(plus, 1);
  if (flags != nullptr && At<bool>(flags, 1)) value += 100;
  if (TILING_KEY_IS(77)) value = -value;
  AscendC::GlobalTensor<float> out, changed;
  out.SetGlobalBuffer((__gm__ float*)y);
  changed.SetGlobalBuffer((__gm__ float*)x_ref);
  const int64_t count = At<int64_t>(size, 0) * At<int64_t>(size, 1);
  for (int64_t i = 0; i < count; ++i) out.SetValue(i, value);
  changed.SetValue(0, -1);
}
