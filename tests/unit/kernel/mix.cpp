// Cube and vector cores at one work: the cube core multiplies 32 by 32 halves, its two vector cores take the rows of the result in
// halves and add the row's number. Compiled for each kind of core: what the other one does is not in its copy.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kSide = 32, kPart = kSide * kSide / 2;
constexpr uint16_t kReady = 4, kTaken = 15;  // the last one

#ifdef __DAV_C220_CUBE__
inline void multiply(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
  GlobalTensor<half> a, b;
  GlobalTensor<float> c;
  const uint64_t first = GetBlockIdx() * kSide * kSide;
  a.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x) + first);
  b.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y) + first);
  c.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace) + first);
  TPipe pipe;
  TQue<TPosition::A1, 1> a1;
  TQue<TPosition::B1, 1> b1;
  TQue<TPosition::A2, 1> a2;
  TQue<TPosition::B2, 1> b2;
  TQue<TPosition::CO1, 1> co1;
  pipe.InitBuffer(a1, 1, 2048), pipe.InitBuffer(b1, 1, 2048), pipe.InitBuffer(a2, 1, 2048), pipe.InitBuffer(b2, 1, 2048);
  pipe.InitBuffer(co1, 1, 4096);
  LocalTensor<half> at = a1.AllocTensor<half>(), bt = b1.AllocTensor<half>();
  const Nd2NzParams rows(1, kSide, kSide, 0, kSide, kSide, 1, 0);
  DataCopy(at, a, rows);
  DataCopy(bt, b, rows);
  a1.EnQue(at), b1.EnQue(bt);
  at = a1.DeQue<half>(), bt = b1.DeQue<half>();
  LocalTensor<half> l0a = a2.AllocTensor<half>(), l0b = b2.AllocTensor<half>();
  for (uint16_t i = 0; i < 2; ++i) {
    LoadData(l0a[i * 512], at, LoadData2DParams(i, 2, 2, 0, 0, false, 0));
    LoadData(l0b[i * 512], bt, LoadData2DParams(i, 2, 2, 0, 0, true, 0));
  }
  a2.EnQue(l0a), b2.EnQue(l0b);
  a1.FreeTensor(at), b1.FreeTensor(bt);
  l0a = a2.DeQue<half>(), l0b = b2.DeQue<half>();
  LocalTensor<float> l0c = co1.AllocTensor<float>();
  MmadParams p;
  p.m = p.n = p.k = kSide;
  Mmad(l0c, l0a, l0b, p);
  co1.EnQue(l0c);
  a2.FreeTensor(l0a), b2.FreeTensor(l0b);
  l0c = co1.DeQue<float>();
  Fixpipe(c, l0c, FixpipeParamsV220(kSide, kSide, kSide, kSide, false));
  co1.FreeTensor(l0c);
}
#endif

#ifdef __DAV_C220_VEC__
inline void add_row_numbers(GM_ADDR z, GM_ADDR workspace) {
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace) + GetBlockIdx() * kPart);
  to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z) + GetBlockIdx() * kPart);
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, kPart * 4);
  LocalTensor<float> t = queue.AllocTensor<float>();
  DataCopy(t, from, kPart);
  queue.EnQue<TPosition::GM, TPosition::VECIN, float>(t);
  t = queue.DeQue<TPosition::GM, TPosition::VECIN, float>();
  for (uint32_t row = 0; row < kSide / 2; ++row) {
    const float number = float(GetSubBlockIdx() * (kSide / 2) + row);
    Adds(t[row * kSide], t[row * kSide], number, kSide);
  }
  queue.EnQue<TPosition::VECOUT, TPosition::GM, float>(t);
  t = queue.DeQue<TPosition::VECOUT, TPosition::GM, float>();
  DataCopy(to, t, kPart);
  queue.FreeTensor(t);
}
#endif

template <bool wrong>
void run([[maybe_unused]] GM_ADDR x, [[maybe_unused]] GM_ADDR y, [[maybe_unused]] GM_ADDR z, GM_ADDR workspace) {
#ifdef __DAV_C220_CUBE__
  multiply(x, y, workspace);
  if (!wrong) CrossCoreSetFlag<2, PIPE_FIX>(kReady);
  CrossCoreWaitFlag(kTaken);
#endif
#ifdef __DAV_C220_VEC__
  if (!wrong) CrossCoreWaitFlag(kReady);
  SyncAll();  // of the vector cores: the cube cores go on
  add_row_numbers(z, workspace);
  CrossCoreSetFlag<2, PIPE_MTE2>(kTaken + 16);  // 4 bits count
#endif
}

// A cube core is far ahead: it sets a flag 40 times, and each vector core waits as often or only once.
template <bool wrong>
void far_ahead() {
  constexpr int kSets = 40;
#ifdef __DAV_C220_CUBE__
  for (int i = 0; i < kSets; ++i) CrossCoreSetFlag<2, PIPE_FIX>(kReady);
#endif
#ifdef __DAV_C220_VEC__
  for (int i = 0; i < (wrong ? 1 : kSets); ++i) CrossCoreWaitFlag(kReady);
#endif
}
extern "C" __global__ __aicore__ void flags_are_taken(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  far_ahead<false>();
}
extern "C" __global__ __aicore__ void flags_are_left(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  far_ahead<true>();
}

#define KERNEL(name, wrong)                                                                                \
  extern "C" __global__ __aicore__ void name(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace) {          \
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);                                                      \
    run<wrong>(x, y, z, workspace);                                                                        \
  }
KERNEL(right, false)
KERNEL(without_a_flag, true)
