// Rows in and out of a core, without a queue.
#pragma once
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t kCount = 128;

template <typename T>
void copy_in(const LocalTensor<T>& to, GM_ADDR from, uint32_t count) {
  GlobalTensor<T> all;
  all.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(from), count);
  DataCopy(to, all, count);
  PipeBarrier<PIPE_ALL>();
}
template <typename T>
void copy_out(GM_ADDR to, const LocalTensor<T>& from, uint32_t count) {
  GlobalTensor<T> all;
  all.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(to), count);
  PipeBarrier<PIPE_ALL>();
  DataCopy(all, from, count);
}
