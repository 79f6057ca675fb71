// z = exp(x) in eight tiles, through queues of one buffer each or of two.
#include "kernel_operator.h"

using namespace AscendC;

template <int buffers>
inline void tiles(GM_ADDR x, GM_ADDR z) {
  constexpr uint32_t count = 4096, tiles = 8;
  TPipe pipe;
  TQue<TPosition::VECIN, buffers> in;
  TQue<TPosition::VECOUT, buffers> out;
  pipe.InitBuffer(in, buffers, count * 4);
  pipe.InitBuffer(out, buffers, count * 4);
  GlobalTensor<float> gx, gz;
  gx.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
  gz.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z));
  for (uint32_t i = 0; i < tiles; ++i) {
    LocalTensor<float> a = in.template AllocTensor<float>();
    DataCopy(a, gx[i * count], count);
    in.EnQue(a);
    a = in.template DeQue<float>();
    LocalTensor<float> b = out.template AllocTensor<float>();
    Exp(b, a, count);
    in.FreeTensor(a);
    out.EnQue(b);
    b = out.template DeQue<float>();
    DataCopy(gz[i * count], b, count);
    out.FreeTensor(b);
  }
}
extern "C" __global__ __aicore__ void single(GM_ADDR x, GM_ADDR z) { tiles<1>(x, z); }
extern "C" __global__ __aicore__ void twice(GM_ADDR x, GM_ADDR z) { tiles<2>(x, z); }
