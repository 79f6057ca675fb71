// z = relu(x y) of 32 by 32 halves in each core, as a core with both units computes it: the product leaves L0C for UB.
#include "kernel_operator.h"

using namespace AscendC;

namespace {
constexpr uint32_t kSide = 32, kElements = kSide * kSide;

template <typename T>
__aicore__ inline GlobalTensor<T> part(GM_ADDR memory) {
  GlobalTensor<T> tensor;
  tensor.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(memory) + GetBlockIdx() * kElements, kElements);
  return tensor;
}
}  // namespace

extern "C" __global__ __aicore__ void product(GM_ADDR x, GM_ADDR y, GM_ADDR z) {
  TPipe pipe;
  TQue<TPosition::A1, 1> a1;
  TQue<TPosition::B1, 1> b1;
  TQue<TPosition::A2, 1> a2;
  TQue<TPosition::B2, 1> b2;
  TQue<TPosition::CO1, 1> co1;
  TQue<TPosition::CO2, 1> co2;
  pipe.InitBuffer(a1, 1, kElements * 2), pipe.InitBuffer(b1, 1, kElements * 2);
  pipe.InitBuffer(a2, 1, kElements * 2), pipe.InitBuffer(b2, 1, kElements * 2);
  pipe.InitBuffer(co1, 1, kElements * 4), pipe.InitBuffer(co2, 1, kElements * 4);
  const Nd2NzParams rows(1, kSide, kSide, 0, kSide, kSide, 1, 0);
  LocalTensor<half> a = a1.AllocTensor<half>(), b = b1.AllocTensor<half>();
  DataCopy(a, part<half>(x), rows);
  DataCopy(b, part<half>(y), rows);
  a1.EnQue(a), b1.EnQue(b);
  a = a1.DeQue<half>(), b = b1.DeQue<half>();
  LocalTensor<half> left = a2.AllocTensor<half>(), right = b2.AllocTensor<half>();
  for (uint16_t i = 0; i < 2; ++i) {
    LoadData(left[i * 512], a, LoadData2DParams(i, 2, 2, 0, 0, false, 0));
    LoadData(right[i * 512], b, LoadData2DParams(i, 2, 2, 0, 0, true, 0));
  }
  a2.EnQue(left), b2.EnQue(right);
  left = a2.DeQue<half>(), right = b2.DeQue<half>();
  LocalTensor<float> c = co1.AllocTensor<float>();
  MmadParams sizes;
  sizes.m = sizes.n = sizes.k = kSide;
  Mmad(c, left, right, sizes);
  co1.EnQue(c);
  c = co1.DeQue<float>();
  LocalTensor<float> out = co2.AllocTensor<float>();
  DataCopyParams all;
  all.blockCount = 1, all.blockLen = 4;
  DataCopyEnhancedParams with_relu;
  with_relu.blockMode = BlockMode::BLOCK_MODE_MATRIX, with_relu.isRelu = true;
  DataCopy(out, c, all, with_relu);
  co2.EnQue(out);
  out = co2.DeQue<float>();
  for (uint16_t i = 0; i < 2; ++i)
    DataCopy(part<float>(z)[i * 16], out[i * 512], DataCopyParams(kSide, 2, 0, 2));
  co2.FreeTensor(out), co1.FreeTensor(c);
  a1.FreeTensor(a), b1.FreeTensor(b), a2.FreeTensor(left), b2.FreeTensor(right);
}
