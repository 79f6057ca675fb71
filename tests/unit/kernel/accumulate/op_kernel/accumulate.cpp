#include "kernel_operator.h"

extern "C" __global__ __aicore__ void accumulate(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  const uint32_t count = *reinterpret_cast<__gm__ uint32_t*>(tiling);
  AscendC::TPipe pipe;
  AscendC::TQueBind<AscendC::TPosition::VECIN, AscendC::TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, count * sizeof(DTYPE_X));
  AscendC::GlobalTensor<DTYPE_X> from, to;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ DTYPE_X*>(x), count);
  to.SetGlobalBuffer(reinterpret_cast<__gm__ DTYPE_X*>(y), count);
  auto tensor = queue.AllocTensor<DTYPE_X>();
  AscendC::DataCopy(tensor, from, count);
  queue.EnQue(tensor);
  tensor = queue.DeQue<DTYPE_X>();
  AscendC::SetAtomicAdd<DTYPE_X>();
  AscendC::DataCopy(to, tensor, count);
  AscendC::SetAtomicNone();
  queue.FreeTensor(tensor);
}
