// Instructions beside the elementwise ones: x (256 floats) in, results one after the other in z.
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t kCount = 256;

extern "C" __global__ __aicore__ void instructions(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> out;
  TBuf<TPosition::VECCALC> work, bits, index;
  pipe.InitBuffer(in, 1, kCount * 4);
  pipe.InitBuffer(out, 1, 4096 * 4);
  pipe.InitBuffer(work, kCount * 8);
  pipe.InitBuffer(bits, 64);
  pipe.InitBuffer(index, kCount * 4);
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), kCount);
  to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z), 2048);
  LocalTensor<float> a = in.AllocTensor<float>();
  DataCopy(a, from, kCount);
  in.EnQue(a);
  a = in.DeQue<float>();
  LocalTensor<float> r = out.AllocTensor<float>(), w = work.Get<float>();
  Duplicate(r, 0.0f, 2048);
  // 0: sum, 8: maximum and its place, 16: minimum
  ReduceSum(r, a, w, kCount);
  ReduceMax(r[8], a, w, kCount, true);
  ReduceMin(r[16], a, w, kCount);
  // 32: sums of 64 elements, 64: sums of 8
  WholeReduceSum(r[32], a, 64, 4, 1, 1, 8);
  BlockReduceSum(r[64], a, 4, 64, 1, 1, 8);
  // 128: relu by compare and select
  CompareScalar(bits.Get<uint8_t>(), a, 0.0f, CMPMODE::GT, kCount);
  Select(r[128], bits.Get<uint8_t>(), a, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, kCount);
  // 384: reversed by gather
  CreateVecIndex(index.Get<int32_t>(), int32_t(0), kCount);
  Muls(index.Get<int32_t>(), index.Get<int32_t>(), int32_t(-4), kCount);
  Adds(index.Get<int32_t>(), index.Get<int32_t>(), int32_t((kCount - 1) * 4), kCount);
  Gather(r[384], a, index.Get<uint32_t>(), 0, kCount);
  // 640: every second element
  uint64_t kept = 0;
  GatherMask(r[640], a, uint8_t(1), false, 0, GatherMaskParams(1, 4, 8, 0), kept);
  assert(kept == kCount / 2);
  // 768: each of the first 8 elements 8 times
  Brcb(r[768], a, 1, BrcbRepeatParams(1, 8));
  // 1024: every second block of 8 elements doubled, by a mask and strides
  Muls(r[1024], a, 2.0f, uint64_t(32), uint8_t(4), UnaryRepeatParams(2, 2, 8, 8));
  // 1280: through half, rounded down
  Cast(work.Get<half>(), a, RoundMode::CAST_FLOOR, kCount);
  Cast(r[1280], work.Get<half>(), RoundMode::CAST_NONE, kCount);
  // 1536: to whole numbers, half away from zero
  Cast(index.Get<int32_t>(), a, RoundMode::CAST_ROUND, kCount);
  Cast(r[1536], index.Get<int32_t>(), RoundMode::CAST_NONE, kCount);
  // 1792: exp
  Exp(r[1792], a, kCount);
  out.EnQue(r);
  in.FreeTensor(a);
  r = out.DeQue<float>();
  DataCopy(to, r, 2048);
  out.FreeTensor(r);
}
