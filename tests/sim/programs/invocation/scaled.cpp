// A kernel as sample projects have it: run on the CPU as a function of the program, or launched as a task of a stream.
#include "scaling.h"

#include "kernel_operator.h"

__gm__ const float kOffsets[8] = {OFFSETS};  // in the library's own memory

extern "C" __global__ __aicore__ void scaled(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, Scaling scaling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  const uint32_t each = scaling.count / AscendC::GetBlockNum(), first = AscendC::GetBlockIdx() * each;
  if (first >= scaling.count) return;
  AscendC::TPipe pipe;
  AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, (each + 8) * sizeof(float));
  AscendC::LocalTensor<float> tile = buffer.Get<float>();
  AscendC::GlobalTensor<float> from, to, kept, offsets;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x) + first, each);
  to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y) + first, each);
  kept.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace) + first, each);
  offsets.SetGlobalBuffer(const_cast<__gm__ float*>(kOffsets), 8);
  AscendC::DataCopy(tile, from, each);
  AscendC::DataCopy(tile[each], offsets, 8);
#ifndef ASCENDC_CPU_DEBUG  // there one instruction follows the other
  AscendC::PipeBarrier<PIPE_ALL>();
#endif
#ifdef ASCENDC_CPU_DEBUG
  if (!TILING_KEY_IS(7)) return void(std::cout << "another key" << std::endl);
#endif
  AscendC::Muls(tile, tile, scaling.factor, each);
  AscendC::Add(tile, tile, tile[each], 8);
  AscendC::PipeBarrier<PIPE_ALL>();
  AscendC::DataCopy(to, tile, each);
  AscendC::DataCopy(kept, tile, each);
}
