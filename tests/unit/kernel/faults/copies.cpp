// Copies: alignment, bounds, memory that nobody wrote.
#include "common.h"

template <bool wrong>
void length_no_multiple_of_32(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  pipe.InitBuffer(in, 1, kBytes);
  LocalTensor<float> t = in.AllocTensor<float>();
  DataCopy(t, part(x), wrong ? 9 : 8);  // FAULT alignment
  in.EnQue(t);
  t = in.DeQue<float>();
  in.FreeTensor(t);
}
EXPORT(length_no_multiple_of_32)

template <bool wrong>
void local_address_unaligned(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  pipe.InitBuffer(in, 1, kBytes);
  LocalTensor<float> t = in.AllocTensor<float>();
  DataCopy(t[wrong ? 4 : 8], part(x), 64);  // FAULT alignment
  in.EnQue(t);
  t = in.DeQue<float>();
  in.FreeTensor(t);
}
EXPORT(local_address_unaligned)

template <bool wrong>
void copy_larger_than_buffer(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  pipe.InitBuffer(in, 1, 1024);
  LocalTensor<float> t = in.AllocTensor<float>();
  DataCopy(t, part(x), wrong ? 264 : 256);  // FAULT local_bounds
  in.EnQue(t);
  t = in.DeQue<float>();
  in.FreeTensor(t);
}
EXPORT(copy_larger_than_buffer)

template <bool wrong>
void reads_past_the_input(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  pipe.InitBuffer(in, 1, kBytes);
  LocalTensor<float> t = in.AllocTensor<float>();
  const uint64_t all = GetBlockNum() * kCount;
  DataCopy(t, whole(x)[all - (wrong ? 64 : 128)], 128);  // FAULT global_bounds
  in.EnQue(t);
  t = in.DeQue<float>();
  in.FreeTensor(t);
}
EXPORT(reads_past_the_input)

template <bool wrong>
void writes_past_the_output(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, kBytes);
  if (GetBlockIdx() != GetBlockNum() - 1) return;
  LocalTensor<float> t = queue.AllocTensor<float>();
  DataCopy(t, part(x), kCount);
  queue.EnQue(t);
  t = queue.DeQue<float>();
  PipeBarrier<PIPE_ALL>();
  DataCopy(part(z)[wrong ? 512 : 0], t, kCount);  // FAULT global_bounds
  queue.FreeTensor(t);
}
EXPORT(writes_past_the_output)

template <bool wrong>
void writes_an_input(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, kBytes);
  LocalTensor<float> t = queue.AllocTensor<float>();
  DataCopy(t, part(x), kCount);
  queue.EnQue(t);
  t = queue.DeQue<float>();
  PipeBarrier<PIPE_ALL>();
  DataCopy(part(wrong ? y : z), t, kCount);  // FAULT input_written
  queue.FreeTensor(t);
}
EXPORT(writes_an_input)

template <bool wrong>
void copies_out_what_nobody_computed(ARGUMENTS) {
  TPipe pipe;
  Out out;
  pipe.InitBuffer(out, 1, kBytes);
  LocalTensor<float> t = out.AllocTensor<float>();
  Duplicate(t, 1.0f, wrong ? kCount / 2 : kCount);
  out.EnQue(t);
  t = out.DeQue<float>();
  DataCopy(part(z), t, kCount);  // FAULT uninitialized
  out.FreeTensor(t);
}
EXPORT(copies_out_what_nobody_computed)

// A workspace may have gaps, and an output for a while: only who computes with what lies there is wrong.
template <bool wrong>
void computes_with_a_gap_of_its_workspace(ARGUMENTS) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, kBytes);
  LocalTensor<float> t = buffer.Get<float>();
  Duplicate(t, 1.0f, kCount / 2);
  SetFlag<HardEvent::V_MTE3>(0), WaitFlag<HardEvent::V_MTE3>(0);
  DataCopy(part(workspace), t, kCount);
  DataCopy(part(z), t, kCount);
  SetFlag<HardEvent::MTE3_MTE2>(0), WaitFlag<HardEvent::MTE3_MTE2>(0);
  DataCopy(t, part(workspace), kCount);
  SetFlag<HardEvent::MTE2_V>(0), WaitFlag<HardEvent::MTE2_V>(0);
  if (!wrong) Duplicate(t[kCount / 2], 1.0f, kCount / 2);
  Adds(t, t, 1.0f, kCount);
  SetFlag<HardEvent::V_MTE3>(0), WaitFlag<HardEvent::V_MTE3>(0);
  PipeBarrier<PIPE_MTE3>();
  DataCopy(part(z), t, kCount);  // FAULT uninitialized
}
EXPORT(computes_with_a_gap_of_its_workspace)

template <bool wrong>
void copies_out_the_rest_of_a_block(ARGUMENTS) {
  TPipe pipe;
  Out out;
  pipe.InitBuffer(out, 1, kBytes);
  LocalTensor<float> t = out.AllocTensor<float>();
  Duplicate(t, 1.0f, wrong ? kCount - 3 : kCount);
  out.EnQue(t);
  t = out.DeQue<float>();
  DataCopy(part(z), t, kCount);  // FAULT uncomputed_tail
  out.FreeTensor(t);
}
EXPORT(copies_out_the_rest_of_a_block)

template <bool wrong>
void reads_a_scalar_that_nobody_wrote(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, kBytes);
  LocalTensor<float> t = buffer.Get<float>();
  t.SetValue(wrong ? 1 : 0, 1.0f);
  const float value = t.GetValue(0);  // FAULT uninitialized
  t.SetValue(2, value);
}
EXPORT(reads_a_scalar_that_nobody_wrote)

template <bool wrong>
void adds_to_memory_that_nobody_wrote(ARGUMENTS) {
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, kBytes);
  LocalTensor<float> t = queue.AllocTensor<float>();
  DataCopy(t, part(x), kCount);
  queue.EnQue(t);
  t = queue.DeQue<float>();
  if (wrong) SetAtomicAdd<float>();
  DataCopy(part(z), t, kCount);  // FAULT uninitialized
  if (wrong) SetAtomicNone();
  queue.FreeTensor(t);
}
EXPORT(adds_to_memory_that_nobody_wrote)

template <bool wrong>
void leaves_a_tail(ARGUMENTS) {
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, kBytes);
  LocalTensor<float> t = queue.AllocTensor<float>();
  DataCopy(t, part(x), kCount);
  queue.EnQue(t);
  t = queue.DeQue<float>();
  DataCopy(part(z), t, wrong ? kCount - 8 : kCount);  // FAULT-WITHOUT-LINE unwritten
  queue.FreeTensor(t);
}
EXPORT(leaves_a_tail)

template <bool wrong>
void two_cores_write_the_same(ARGUMENTS) {
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, kBytes + 32);
  LocalTensor<float> t = queue.AllocTensor<float>();
  const bool last = GetBlockIdx() == GetBlockNum() - 1;
  const uint32_t count = wrong && !last ? kCount + 8 : kCount;
  DataCopy(t, part(x), count);
  queue.EnQue(t);
  t = queue.DeQue<float>();
  DataCopy(part(z), t, count);  // FAULT cores_overlap
  queue.FreeTensor(t);
  whole(workspace).SetValue(0, 7.0f);  // equal values are no fault
}
EXPORT(two_cores_write_the_same)

template <bool wrong>
void too_many_blocks(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  pipe.InitBuffer(in, 1, 5000 * 32);
  LocalTensor<float> t = in.AllocTensor<float>();
  const DataCopyExtParams params{uint16_t(wrong ? 4096 : 4095), 0, 0, 0, 0};
  DataCopyExtParams one = params;
  one.blockLen = 4;
  one.srcStride = 0;
  one.blockCount = wrong ? 4096 : 4;
  const DataCopyPadExtParams<float> pad{false, 0, 0, 0.0f};
  DataCopyPad(t, whole(x), one, pad);  // FAULT parameter
  in.EnQue(t);
  t = in.DeQue<float>();
  in.FreeTensor(t);
}
EXPORT(too_many_blocks)

// Of a copy from a workspace, what was written there is known, and only that.
template <bool wrong>
void uses_the_rest_of_the_workspace(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a, b;
  pipe.InitBuffer(a, 256);
  pipe.InitBuffer(b, 256);
  LocalTensor<float> s = a.Get<float>(), t = b.Get<float>();
  Duplicate(s, 1.0f, 64);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(part(workspace), s, 56);
  SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID0);
  WaitFlag<HardEvent::MTE3_MTE2>(EVENT_ID0);
  DataCopy(t, part(workspace), 64);
  SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  DataCopy(part(z), t, wrong ? 64 : 56);  // FAULT uninitialized
}
EXPORT(uses_the_rest_of_the_workspace)
