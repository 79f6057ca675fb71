// Each fault is a template: <true> has it, in the line marked FAULT with the kind that must be found, <false> has not.
#pragma once

#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kCount = 1024;  // elements of x, y and z for each core
constexpr uint32_t kBytes = kCount * 4;

#define ARGUMENTS GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace
#define EXPORT(name)                                                                                \
  extern "C" __global__ __aicore__ void name##_wrong(ARGUMENTS) { name<true>(x, y, z, workspace); }  \
  extern "C" __global__ __aicore__ void name##_right(ARGUMENTS) { name<false>(x, y, z, workspace); }

// This core's part.
inline GlobalTensor<float> part(GM_ADDR memory) {
  GlobalTensor<float> tensor;
  tensor.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(memory) + GetBlockIdx() * kCount, kCount);
  return tensor;
}
inline GlobalTensor<float> whole(GM_ADDR memory) {
  GlobalTensor<float> tensor;
  tensor.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(memory));
  return tensor;
}

using In = TQue<TPosition::VECIN, 1>;
using Out = TQue<TPosition::VECOUT, 1>;

// z = x through a queue.
template <typename Queue>
void pass(Queue& queue, GM_ADDR x, GM_ADDR z) {
  LocalTensor<float> t = queue.template AllocTensor<float>();
  DataCopy(t, part(x), kCount);
  queue.EnQue(t);
  t = queue.template DeQue<float>();
  DataCopy(part(z), t, kCount);
  queue.FreeTensor(t);
}

// The rest of a kernel whose fault is elsewhere.
inline void fill(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, kBytes);
  pass(queue, x, z);
}
