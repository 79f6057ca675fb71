// Order: what one pipe does before another is ready. Each of these computes the right numbers here.
#include "common.h"

template <bool wrong>
void reads_before_the_copy_is_over(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(in, 1, kBytes);
  pipe.InitBuffer(buffer, kBytes);
  LocalTensor<float> t = in.AllocTensor<float>();
  DataCopy(t, part(x), kCount);
  if (!wrong) in.EnQue(t), t = in.DeQue<float>();
  Adds(buffer.Get<float>(), t, 1.0f, kCount);  // FAULT missing_sync
  in.FreeTensor(t);
}
EXPORT(reads_before_the_copy_is_over)

template <bool wrong>
void copies_out_before_the_result_is_there(ARGUMENTS) {
  TPipe pipe;
  In in;
  Out out;
  pipe.InitBuffer(in, 1, kBytes);
  pipe.InitBuffer(out, 1, kBytes);
  LocalTensor<float> t = in.AllocTensor<float>();
  DataCopy(t, part(x), kCount);
  in.EnQue(t);
  t = in.DeQue<float>();
  LocalTensor<float> r = out.AllocTensor<float>();
  Adds(r, t, 1.0f, kCount);
  if (!wrong) out.EnQue(r), r = out.DeQue<float>();
  DataCopy(part(z), r, kCount);  // FAULT missing_sync
  in.FreeTensor(t);
  out.FreeTensor(r);
}
EXPORT(copies_out_before_the_result_is_there)

template <bool wrong>
void no_wait_for_the_copy(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> from, to;
  pipe.InitBuffer(from, kBytes);
  pipe.InitBuffer(to, kBytes);
  DataCopy(from.Get<float>(), part(x), kCount);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  if (!wrong) WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  Adds(to.Get<float>(), from.Get<float>(), 1.0f, kCount);  // FAULT missing_sync
  if (wrong) WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
}
EXPORT(no_wait_for_the_copy)

template <bool wrong>
void overwrites_what_is_still_read(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> from, to;
  pipe.InitBuffer(from, kBytes);
  pipe.InitBuffer(to, kBytes);
  for (int tile = 0; tile < 2; ++tile) {
    DataCopy(from.Get<float>(), part(x), kCount);  // FAULT missing_sync
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Adds(to.Get<float>(), from.Get<float>(), 1.0f, kCount);
    if (wrong) continue;
    SetFlag<HardEvent::V_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID0);
  }
}
EXPORT(overwrites_what_is_still_read)

template <bool wrong>
void wrong_direction(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> from, to;
  pipe.InitBuffer(from, kBytes);
  pipe.InitBuffer(to, kBytes);
  DataCopy(from.Get<float>(), part(x), kCount);
  constexpr HardEvent event = wrong ? HardEvent::MTE2_MTE3 : HardEvent::MTE2_V;
  SetFlag<event>(EVENT_ID0);
  WaitFlag<event>(EVENT_ID0);
  Adds(to.Get<float>(), from.Get<float>(), 1.0f, kCount);  // FAULT missing_sync
}
EXPORT(wrong_direction)

template <bool wrong>
void reads_back_too_early(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a, b;
  pipe.InitBuffer(a, kBytes);
  pipe.InitBuffer(b, kBytes);
  Duplicate(a.Get<float>(), 1.0f, kCount);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(part(workspace), a.Get<float>(), kCount);
  if (!wrong) {
    SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_MTE2>(EVENT_ID0);
  }
  DataCopy(b.Get<float>(), part(workspace), kCount);  // FAULT missing_sync
}
EXPORT(reads_back_too_early)

template <bool wrong>
void vector_instructions_without_a_barrier(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a;
  pipe.InitBuffer(a, kBytes);
  Duplicate(a.Get<float>(), 1.0f, kCount);
  if (!wrong) PipeBarrier<PIPE_V>();
  Adds(a.Get<float>(), a.Get<float>(), 1.0f, kCount);  // FAULT missing_barrier
}
EXPORT(vector_instructions_without_a_barrier)

template <bool wrong>
void overwrites_without_a_barrier(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a;
  pipe.InitBuffer(a, kBytes);
  Duplicate(a.Get<float>(), 1.0f, kCount);
  if (!wrong) {  // over when another pipe has waited for it, and this one for the other
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID0);
  }
  Duplicate(a.Get<float>(), 2.0f, kCount);  // FAULT missing_barrier
}
EXPORT(overwrites_without_a_barrier)

template <bool wrong>
void copies_in_twice_without_a_barrier(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a;
  pipe.InitBuffer(a, kBytes);
  DataCopy(a.Get<float>(), part(x), kCount);
  if (!wrong) PipeBarrier<PIPE_MTE2>();
  DataCopy(a.Get<float>()[kCount / 2], part(y), kCount / 2);  // FAULT copies_overlap
}
EXPORT(copies_in_twice_without_a_barrier)

template <bool wrong>
void takes_a_buffer_that_is_still_filled(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  pipe.InitBuffer(in, 1, kBytes);
  for (GM_ADDR from : {x, y}) {
    LocalTensor<float> t = in.AllocTensor<float>();
    DataCopy(t, part(from), kCount);  // FAULT copies_overlap
    if (!wrong) in.EnQue(t), t = in.DeQue<float>();
    in.FreeTensor(t);
  }
}
EXPORT(takes_a_buffer_that_is_still_filled)

// What empties the buffer has waited for the copy, by an event of the kernel's own; the next copy waits for it.
template <bool wrong>
void takes_a_buffer_that_nobody_enqueued(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> both;
  pipe.InitBuffer(both, 1, kBytes);
  for (GM_ADDR from : {x, y}) {
    LocalTensor<float> t = both.AllocTensor<float>();
    DataCopy(t, part(from), kCount);  // FAULT copies_overlap
    if (!wrong) {
      SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0), WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
      DataCopy(part(z), t, kCount);
    }
    both.FreeTensor(t);
  }
}
EXPORT(takes_a_buffer_that_nobody_enqueued)

template <bool wrong>
void copies_out_twice_without_a_barrier(ARGUMENTS) {
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> first, second;
  pipe.InitBuffer(first, 1, kBytes);
  pipe.InitBuffer(second, 1, kBytes);
  LocalTensor<float> a = first.AllocTensor<float>(), b = second.AllocTensor<float>();
  DataCopy(a, part(x), kCount);
  first.EnQue(a);
  DataCopy(b, part(y), kCount);
  second.EnQue(b);
  a = first.DeQue<float>(), b = second.DeQue<float>();
  DataCopy(part(z), a, kCount);
  if (!wrong) PipeBarrier<PIPE_MTE3>();
  DataCopy(part(z)[kCount - 64], b, 64);  // FAULT copies_overlap
  first.FreeTensor(a);
  second.FreeTensor(b);
}
EXPORT(copies_out_twice_without_a_barrier)

// The compiler lets the scalar unit wait for what it reads, and so does what comes after it.
template <bool wrong>
void overwrites_what_the_scalar_unit_has_waited_for(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  TBuf<TPosition::VECCALC> sum;
  pipe.InitBuffer(in, 1, kBytes);
  pipe.InitBuffer(sum, kBytes);
  LocalTensor<float> t = in.AllocTensor<float>();
  DataCopy(t, part(x), kCount);
  if (!wrong && t.GetValue(0) != part(x).GetValue(0)) Trap();
  DataCopy(t, part(x), kCount);
  in.EnQue(t);
  t = in.DeQue<float>();
  Adds(sum.Get<float>(), t, 1.0f, kCount);
  if (!wrong && sum.Get<float>().GetValue(0) != part(x).GetValue(0) + 1.0f) Trap();
  DataCopy(t, part(y), kCount);  // FAULT missing_sync
  in.FreeTensor(t);
}
EXPORT(overwrites_what_the_scalar_unit_has_waited_for)

template <bool wrong>
void scalar_reads_too_early(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a;
  pipe.InitBuffer(a, kBytes);
  Duplicate(a.Get<float>(), 1.0f, kCount);
  if (!wrong) {
    SetFlag<HardEvent::V_S>(EVENT_ID0);
    WaitFlag<HardEvent::V_S>(EVENT_ID0);
  }
  if (a.Get<float>().GetValue(0) != 1.0f) Trap();  // FAULT missing_scalar_sync
}
EXPORT(scalar_reads_too_early)

template <bool wrong>
void waits_for_what_nobody_sets(ARGUMENTS) {
  fill(x, z);
  if (!wrong) SetFlag<HardEvent::MTE2_V>(EVENT_ID3);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID3);  // FAULT wait_without_set
}
EXPORT(waits_for_what_nobody_sets)

template <bool wrong>
void nobody_waits(ARGUMENTS) {
  fill(x, z);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID3);  // FAULT set_without_wait
  if (!wrong) WaitFlag<HardEvent::MTE2_V>(EVENT_ID3);
}
EXPORT(nobody_waits)

template <bool wrong>
void set_again_before_the_wait(ARGUMENTS) {
  fill(x, z);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID3);
  if (wrong) SetFlag<HardEvent::MTE2_V>(EVENT_ID3);  // FAULT set_twice
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID3);
}
EXPORT(set_again_before_the_wait)

template <bool wrong>
void event_that_is_none(ARGUMENTS) {
  fill(x, z);
  SetFlag<HardEvent::MTE2_V>(wrong ? 8 : 7);  // FAULT event_id
  WaitFlag<HardEvent::MTE2_V>(wrong ? 8 : 7);
}
EXPORT(event_that_is_none)

template <bool wrong>
void reads_another_cores_result(ARGUMENTS) {
  fill(x, z);
  if (!wrong) SyncAll();
  TPipe pipe;
  TBuf<TPosition::VECCALC> a;
  pipe.InitBuffer(a, kBytes);
  const uint64_t next = (GetBlockIdx() + GetBlockNum() - 1) % GetBlockNum();
  DataCopy(a.Get<float>(), whole(z)[next * kCount], kCount);  // FAULT missing_sync_all
}
EXPORT(reads_another_cores_result)

template <bool wrong>
void one_core_ends_early(ARGUMENTS) {
  fill(x, z);
  if (wrong && GetBlockIdx() == 1) return;
  SyncAll();  // FAULT deadlock
}
EXPORT(one_core_ends_early)

template <bool wrong>
void waits_for_a_core_that_never_comes(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 32);
  GlobalTensor<int32_t> events;
  events.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(workspace));
  const LocalTensor<int32_t> own = buffer.Get<int32_t>();
  if (GetBlockIdx() == 0) IBSet(events, own, 0, wrong ? 1 : 0);
  if (GetBlockIdx() == 1) IBWait(events, own, 0, 0);  // FAULT deadlock
}
EXPORT(waits_for_a_core_that_never_comes)

// Core 1 polls a line of the workspace until core 0 has written it back.
template <bool wrong>
void a_flag_that_is_not_written_back(ARGUMENTS) {
  GlobalTensor<float> flag = whole(workspace);
  if (GetBlockIdx() == 0) {
    fill(x, z);
    PipeBarrier<PIPE_ALL>();
    flag.SetValue(0, 1.0f);
    if (!wrong) DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(flag);
    return;
  }
  do DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(flag);
  while (flag.GetValue(0) != 1.0f);  // FAULT missing_sync_all
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> other;
  pipe.InitBuffer(other, kBytes);
  DataCopy(other.Get<float>(), whole(z), kCount);
}
EXPORT(a_flag_that_is_not_written_back)

// Core 0 writes two parts that lie side by side and tells core 1 of the first.
template <bool wrong>
void reads_what_it_was_not_told_of(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> values, sync;
  pipe.InitBuffer(values, kBytes);
  pipe.InitBuffer(sync, 32);
  GlobalTensor<int32_t> events;
  events.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(workspace));
  const LocalTensor<int32_t> own = sync.Get<int32_t>();
  const GlobalTensor<float> parts = whole(workspace)[kCount];
  const LocalTensor<float> t = values.Get<float>();
  if (GetBlockIdx() == 0) {
    Duplicate(t, 1.0f, kCount);
    PipeBarrier<PIPE_ALL>();
    DataCopy(parts, t, 256);
    IBSet(events, own, 0, 0);
    DataCopy(parts[256], t, 256);
  } else {
    IBWait(events, own, 0, 0);
    DataCopy(t, parts[wrong ? 256 : 0], 256);  // FAULT missing_sync_all
  }
}
EXPORT(reads_what_it_was_not_told_of)

// The next buffer lies where the one before did.
template <bool wrong>
void given_back_while_it_is_written_out(ARGUMENTS) {
  TPipe first;
  TBuf<TPosition::VECCALC> a, b;
  first.InitBuffer(a, kBytes);
  DataCopy(a.Get<float>(), part(x), kCount);
  SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  DataCopy(part(z), a.Get<float>(), kCount);
  if (wrong) first.DestroyWithoutPipeAll();
  else first.Destroy();
  TPipe second;
  second.InitBuffer(b, kBytes);
  Duplicate(b.Get<float>(), 1.0f, kCount);  // FAULT missing_sync
}
EXPORT(given_back_while_it_is_written_out)

// By way of a sum that stays where it is, from iteration to iteration, it may.
template <bool wrong>
void an_iteration_reads_what_an_earlier_one_writes(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<> buffer;
  pipe.InitBuffer(buffer, kBytes);
  LocalTensor<float> t = buffer.Get<float>();
  Duplicate(t, 1.0f, kCount);
  PipeBarrier<PIPE_V>();
  Add(t, t[64], t, 64, 3, {1, 1, 1, 0, 8, 0});
  PipeBarrier<PIPE_V>();
  Adds(t, t[8], 1.0f, 128);
  PipeBarrier<PIPE_V>();
  Adds(t[wrong ? 72 : 256], t, 1.0f, 128);  // FAULT iterations_overlap
}
EXPORT(an_iteration_reads_what_an_earlier_one_writes)
