// Rows of floats in and out of a core, without a queue.
#pragma once
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t kCount = 128;

inline void copy_in(const LocalTensor<float>& to, GM_ADDR from, int32_t count) {
  GlobalTensor<float> gm;
  gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(from), count);
  DataCopy(to, gm, count);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
}
inline void copy_out(GM_ADDR to, const LocalTensor<float>& from, int32_t count) {
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  GlobalTensor<float> gm;
  gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(to), count);
  DataCopy(gm, from, count);
}
