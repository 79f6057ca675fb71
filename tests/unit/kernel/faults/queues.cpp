// Queues and buffers: order, balance, size.
#include "common.h"

template <bool wrong>
void more_local_memory_than_there_is(ARGUMENTS) {
  TPipe pipe;
  In in;
  pipe.InitBuffer(in, 2, wrong ? 100 * 1024 : 64 * 1024);  // FAULT local_capacity
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> behind;
  pipe.InitBuffer(behind, 1, kBytes);
  pass(behind, x, z);
}
EXPORT(more_local_memory_than_there_is)

template <bool wrong>
void never_freed(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  pipe.InitBuffer(in, 1, kBytes);
  LocalTensor<float> t = in.AllocTensor<float>();
  DataCopy(t, part(x), kCount);
  in.EnQue(t);
  t = in.DeQue<float>();  // FAULT not_freed
  if (!wrong) in.FreeTensor(t);
}
EXPORT(never_freed)

template <bool wrong>
void left_in_the_queue(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  pipe.InitBuffer(in, 1, kBytes);
  LocalTensor<float> t = in.AllocTensor<float>();
  DataCopy(t, part(x), kCount);
  in.EnQue(t);  // FAULT left_in_queue
  if (wrong) return;
  t = in.DeQue<float>();
  in.FreeTensor(t);
}
EXPORT(left_in_the_queue)

template <bool wrong>
void no_free_buffer(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  pipe.InitBuffer(in, 1, kBytes);
  for (int tile = 0; tile < 2; ++tile) {
    LocalTensor<float> t = in.AllocTensor<float>();  // FAULT queue_full
    DataCopy(t, part(x), kCount);
    in.EnQue(t);
    t = in.DeQue<float>();
    if (!wrong) in.FreeTensor(t);
  }
}
EXPORT(no_free_buffer)

template <bool wrong>
void dequeues_nothing(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  pipe.InitBuffer(in, 1, kBytes);
  LocalTensor<float> t = in.AllocTensor<float>();
  DataCopy(t, part(x), kCount);
  if (!wrong) in.EnQue(t);
  t = in.DeQue<float>();  // FAULT queue_empty
  in.FreeTensor(t);
}
EXPORT(dequeues_nothing)

template <bool wrong>
void deeper_than_declared(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  pipe.InitBuffer(in, 2, kBytes);
  LocalTensor<float> a = in.AllocTensor<float>();
  LocalTensor<float> b = in.AllocTensor<float>();
  DataCopy(a, part(x), kCount);
  DataCopy(b, part(y), kCount);
  in.EnQue(a);
  if (!wrong) a = in.DeQue<float>();
  in.EnQue(b);  // FAULT queue_depth
  if (wrong) a = in.DeQue<float>();
  b = in.DeQue<float>();
  in.FreeTensor(a);
  in.FreeTensor(b);
}
EXPORT(deeper_than_declared)

template <bool wrong>
void enqueued_twice(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  pipe.InitBuffer(in, 1, kBytes);
  LocalTensor<float> t = in.AllocTensor<float>();
  DataCopy(t, part(x), kCount);
  in.EnQue(t);
  if (wrong) in.EnQue(t);  // FAULT queue_order
  t = in.DeQue<float>();
  in.FreeTensor(t);
}
EXPORT(enqueued_twice)

template <bool wrong>
void freed_into_another_queue(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In one;
  TQue<TPosition::VECOUT, 1> other;
  pipe.InitBuffer(one, 1, kBytes);
  pipe.InitBuffer(other, 1, kBytes);
  LocalTensor<float> t = one.AllocTensor<float>();
  DataCopy(t, part(x), kCount);
  one.EnQue(t);
  t = one.DeQue<float>();
  if (wrong) other.FreeTensor(t);  // FAULT queue_foreign
  one.FreeTensor(t);
}
EXPORT(freed_into_another_queue)

template <bool wrong>
void freed_into_a_queue_alike(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In one, other;
  pipe.InitBuffer(one, 1, kBytes);
  pipe.InitBuffer(other, 1, kBytes);
  for (int tile = 0; tile < 2; ++tile) {  // it is free again
    LocalTensor<float> t = one.AllocTensor<float>();
    DataCopy(t, part(x), kCount);
    one.EnQue(t);
    t = one.DeQue<float>();
    if (wrong) other.FreeTensor(t);  // FAULT queue_alike
    else one.FreeTensor(t);
  }
}
EXPORT(freed_into_a_queue_alike)

template <bool wrong>
void used_after_free(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(in, 1, kBytes);
  pipe.InitBuffer(buffer, kBytes);
  LocalTensor<float> t = in.AllocTensor<float>(), other;
  DataCopy(t, part(x), kCount);
  in.EnQue(t);
  t = in.DeQue<float>();
  if (wrong) in.FreeTensor(t), other = in.AllocTensor<float>();
  Adds(buffer.Get<float>(), t, 1.0f, kCount);  // FAULT use_after_free
  in.FreeTensor(wrong ? other : t);
}
EXPORT(used_after_free)

template <bool wrong>
void used_before_it_is_taken_again(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(in, 1, kBytes);
  pipe.InitBuffer(buffer, kBytes);
  LocalTensor<float> t = in.AllocTensor<float>();
  DataCopy(t, part(x), kCount);
  in.EnQue(t);
  t = in.DeQue<float>();
  if (wrong) in.FreeTensor(t);
  Adds(buffer.Get<float>(), t, 1.0f, kCount);  // FAULT free_and_used
  if (!wrong) in.FreeTensor(t);
}
EXPORT(used_before_it_is_taken_again)

template <bool wrong>
void freed_twice(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  pipe.InitBuffer(in, 1, kBytes);
  LocalTensor<float> t = in.AllocTensor<float>();
  DataCopy(t, part(x), kCount);
  in.EnQue(t);
  t = in.DeQue<float>();
  in.FreeTensor(t);
  if (wrong) in.FreeTensor(t);  // FAULT use_after_free
}
EXPORT(freed_twice)

template <bool wrong>
void queue_without_a_buffer(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  if (!wrong) pipe.InitBuffer(in, 1, kBytes);
  LocalTensor<float> t = in.AllocTensor<float>();  // FAULT queue_not_ready
  in.FreeTensor(t);
}
EXPORT(queue_without_a_buffer)

template <bool wrong>
void more_than_the_buffer_has(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 1024);
  LocalTensor<float> t = buffer.Get<float>(wrong ? 264 : 256);  // FAULT local_bounds
  Duplicate(t, 1.0f, 256);
}
EXPORT(more_than_the_buffer_has)

template <bool wrong>
void a_buffer_as_large_as_a_wrong_number(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  pipe.InitBuffer(in, 1, wrong ? 0xfffffff1u : kBytes);  // FAULT local_capacity
}
EXPORT(a_buffer_as_large_as_a_wrong_number)

template <bool wrong>
void more_buffers_than_a_pipe_has(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffers[65];
  for (int i = 0; i < (wrong ? 65 : 64); ++i) pipe.InitBuffer(buffers[i], 32);  // FAULT pipe_buffers
}
EXPORT(more_buffers_than_a_pipe_has)

template <bool wrong>
void more_buffers_than_the_pool_has(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBufPool<TPosition::VECCALC> pool;
  TBuf<TPosition::VECCALC> buffers[5];
  pipe.InitBufPool(pool, 5 * kBytes);
  for (int i = 0; i < (wrong ? 5 : 4); ++i) pool.InitBuffer(buffers[i], kBytes);  // FAULT pipe_buffers
}
EXPORT(more_buffers_than_the_pool_has)

// Both pools begin where the first does: what the first gave away has to come back before its Reset.
template <bool wrong>
void never_freed_in_its_pool(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBufPool<TPosition::VECCALC> first, second;
  pipe.InitBufPool(first, kBytes);
  pipe.InitBufPool(second, kBytes, first);
  for (auto* pool : {&first, &second}) {
    In in;
    pool->InitBuffer(in, 1, kBytes);
    LocalTensor<float> t = in.AllocTensor<float>();
    DataCopy(t, part(x), kCount);
    in.EnQue(t);
    t = in.DeQue<float>();  // FAULT not_freed
    if (!wrong) in.FreeTensor(t);
    pool->Reset();
  }
}
EXPORT(never_freed_in_its_pool)

// A pool whose InitBuffer is the kernel's own.
class Halves {
 public:
  Halves() { Init(); }
  template <class T>
  bool InitBuffer(T& queue, uint8_t count, uint32_t bytes) {
    queue.InitStartBufHandle(GetBufHandle(GetCurBufSize()), count, bytes);
    for (uint32_t i = 0; i < count; ++i)
      queue.InitBufHandle(this, i, GetBufHandle(uint8_t(GetCurBufSize() + i)), GetCurAddr() + i * bytes, bytes);
    SetCurAddr(GetCurAddr() + count * bytes);
    SetCurBufSize(uint8_t(GetCurBufSize() + count));
    return true;
  }
  EXTERN_IMPL_BUFPOOL(Halves, TPosition::VECCALC, 4)
};

template <bool wrong>
void a_queue_beyond_its_own_pool(ARGUMENTS) {
  TPipe pipe;
  Halves pool;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
  pipe.InitBufPool(pool, wrong ? kBytes : 2 * kBytes);
  pool.InitBuffer(queue, 2, kBytes);  // FAULT-WITHOUT-LINE local_capacity
  pass(queue, x, z);
}
EXPORT(a_queue_beyond_its_own_pool)

// What the loop waits for is refused each time: the core is ended.
template <bool wrong>
void loops_until_something_is_computed(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In in;
  pipe.InitBuffer(in, 1, kBytes);
  LocalTensor<float> t = in.AllocTensor<float>(), other = t;
  if (wrong) in.FreeTensor(t), other = in.AllocTensor<float>();
  do {
    Duplicate(t, 1.0f, kCount);  // FAULT use_after_free
  } while (wrong);
  in.FreeTensor(other);
}
EXPORT(loops_until_something_is_computed)

template <bool wrong>
void a_second_pipe(ARGUMENTS) {
  fill(x, z);
  TPipe pipe, other;
  In in, second;
  pipe.InitBuffer(in, 1, kBytes);
  if (!wrong) pipe.Destroy();
  other.InitBuffer(second, 1, kBytes);  // FAULT second_pipe
}
EXPORT(a_second_pipe)

template <bool wrong>
void more_buffers_than_events(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  In one[9];
  for (int i = 0; i < 9; ++i) {
    pipe.InitBuffer(one[i], 1, 512);
    LocalTensor<float> t = one[i].AllocTensor<float>();
    DataCopy(t, part(x), 128);
    one[i].EnQue(t);
    t = one[i].DeQue<float>();
    one[i].FreeTensor(t);  // FAULT queue_events
    if (!wrong) one[i].FreeAllEvent();
  }
}
EXPORT(more_buffers_than_events)
