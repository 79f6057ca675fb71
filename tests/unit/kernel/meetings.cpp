// Cores that meet: flags between them, and SyncAll of all or of the first ones.
#include "rows.h"

// Every core copies its part of x; the next core's part is read after a flag and added: z = x + x of the next core.
constexpr SyncAllConfig kCopies = {PIPE_MTE3, PIPE_MTE2};
enum Meeting { kByFlags, kNot, kByAll, kOfTwo };
template <Meeting how>
void neighbours(GM_ADDR x, GM_ADDR z, GM_ADDR workspace) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> mine, other;
  pipe.InitBuffer(mine, kCount * 4);
  pipe.InitBuffer(other, kCount * 4);
  const int64_t core = GetBlockIdx(), met = how == kOfTwo ? 2 : GetBlockNum(), next = (core + 1) % met;
  if (core >= met) return;
  const uint64_t bytes = kCount * sizeof(float);
  LocalTensor<float> a = mine.Get<float>(), b = other.Get<float>();
  copy_in(a, x + core * bytes, kCount);
  copy_out(workspace + core * bytes, a, kCount);
  if (how == kByFlags) {
    CrossCoreSetFlag<0, PIPE_MTE3>(3);
    WaitEvent(3);
  }
  if (how == kByAll) SyncAll<true, kCopies>();
  if (how == kOfTwo) {
    GlobalTensor<int32_t> places;
    places.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(workspace + 2 * bytes), 16);
    SyncAll(places, b.ReinterpretCast<int32_t>(), 2);
  }
  SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID1);
  WaitFlag<HardEvent::MTE3_MTE2>(EVENT_ID1);
  copy_in(b, workspace + next * bytes, kCount);
  Add(a, a, b, kCount);
  copy_out(z + core * bytes, a, kCount);
}
extern "C" __global__ __aicore__ void neighbours_right(GM_ADDR x, GM_ADDR z, GM_ADDR workspace) {
  neighbours<kByFlags>(x, z, workspace);
}
extern "C" __global__ __aicore__ void neighbours_wrong(GM_ADDR x, GM_ADDR z, GM_ADDR workspace) {
  neighbours<kNot>(x, z, workspace);
}
extern "C" __global__ __aicore__ void neighbours_by_all(GM_ADDR x, GM_ADDR z, GM_ADDR workspace) {
  neighbours<kByAll>(x, z, workspace);
}
extern "C" __global__ __aicore__ void neighbours_of_two(GM_ADDR x, GM_ADDR z, GM_ADDR workspace) {
  neighbours<kOfTwo>(x, z, workspace);
}
extern "C" __global__ __aicore__ void nobody_sets(GM_ADDR x, GM_ADDR z, GM_ADDR workspace) {
  if (GetBlockIdx() == 0) CrossCoreSetFlag<0, PIPE_MTE3>(3);
  CrossCoreWaitFlag(3);  // core 1 never sets it
}
