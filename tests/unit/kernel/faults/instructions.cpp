// Vector instructions: data types, masks, bounds.
#include "common.h"

template <bool wrong>
void type_that_add_has_not(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a;
  pipe.InitBuffer(a, kBytes);
  using T = std::conditional_t<wrong, bfloat16_t, half>;
  LocalTensor<T> t = a.Get<T>();
  Duplicate(t, T(1.0f), 64);
  Add(t, t, t, 64);  // FAULT data_type
}
EXPORT(type_that_add_has_not)

template <bool wrong>
void conversion_that_is_none(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a, b;
  pipe.InitBuffer(a, kBytes);
  pipe.InitBuffer(b, kBytes);
  using T = std::conditional_t<wrong, int16_t, int32_t>;
  LocalTensor<bfloat16_t> t = a.Get<bfloat16_t>();
  Duplicate(t, bfloat16_t(1.0f), 64);
  Cast(b.Get<T>(), t, RoundMode::CAST_RINT, 64);  // FAULT data_type
}
EXPORT(conversion_that_is_none)

template <bool wrong>
void rounding_that_is_none(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a, b;
  pipe.InitBuffer(a, kBytes);
  pipe.InitBuffer(b, kBytes);
  Duplicate(a.Get<float>(), 1.5f, 64);
  Cast(b.Get<bfloat16_t>(), a.Get<float>(), wrong ? RoundMode::CAST_NONE : RoundMode::CAST_RINT, 64);  // FAULT rounding
}
EXPORT(rounding_that_is_none)

template <bool wrong>
void mask_larger_than_256_bytes(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a;
  pipe.InitBuffer(a, kBytes);
  LocalTensor<float> t = a.Get<float>();
  Duplicate(t, 1.0f, kCount);
  Adds(t, t, 1.0f, uint64_t(wrong ? 128 : 64), uint8_t(1), UnaryRepeatParams(1, 1, 8, 8));  // FAULT mask_cut
}
EXPORT(mask_larger_than_256_bytes)

// Counter mode counts elements, and steps from one repeat to the next as the strides say.
template <bool wrong>
void counter_mode_leaves_a_gap(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a, b, c;
  for (auto* each : {&a, &b, &c}) pipe.InitBuffer(*each, kBytes);
  LocalTensor<float> s = a.Get<float>(), t = b.Get<float>();
  Duplicate(s, 1.0f, kCount);
  SetMaskCount();
  SetVectorMask<float, MaskMode::COUNTER>(0, 128);
  Adds<float, false>(t, s, 1.0f, MASK_PLACEHOLDER, 1, UnaryRepeatParams(1, 1, wrong ? 16 : 8, 8));
  SetMaskNorm();
  ResetMask();
  ReduceSum(c.Get<float>(), t, s, 128);  // FAULT uninitialized
}
EXPORT(counter_mode_leaves_a_gap)

template <bool wrong>
void repeats_beyond_the_buffer(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a;
  pipe.InitBuffer(a, kBytes);
  LocalTensor<float> t = a.Get<float>();
  Duplicate(t, 1.0f, kCount);
  Adds(t, t, 1.0f, uint64_t(64), uint8_t(wrong ? 17 : 16), UnaryRepeatParams(1, 1, 8, 8));  // FAULT local_bounds
}
EXPORT(repeats_beyond_the_buffer)

template <bool wrong>
void count_beyond_the_buffer(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a;
  pipe.InitBuffer(a, 1024);
  Duplicate(a.Get<float>(), 1.0f, wrong ? 257 : 256);  // FAULT local_bounds
}
EXPORT(count_beyond_the_buffer)

// No fault: a buffer's length is rounded up to blocks, and a tensor may be a part of it.
extern "C" __global__ __aicore__ void count_beyond_the_tensor(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a;
  pipe.InitBuffer(a, 1000);
  Duplicate(a.Get<float>(8), 1.0f, 256);
}

// What is computed from behind a buffer is nobody's, and the values of the buffer that lies there stay.
template <bool wrong>
void computes_behind_its_buffer(ARGUMENTS) {
  fill(x, z);
  GlobalTensor<float> out;
  out.SetGlobalBuffer((__gm__ float*)z + GetBlockIdx() * kCount, kCount);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a, b, c;
  pipe.InitBuffer(a, 224);
  pipe.InitBuffer(b, 256);
  pipe.InitBuffer(c, 256);
  LocalTensor<float> s = a.Get<float>(), t = b.Get<float>(), u = c.Get<float>();
  Duplicate(s, 1.0f, 56);
  Duplicate(t, 2.0f, 64);
  Add(u, s, t, 64);  // what lies behind s is t, whose own values are known
  Add(t, t, t, 64);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(out, t, 64);
  DataCopy(out[64], u, wrong ? 64 : 56);
}
extern "C" __global__ __aicore__ void uses_what_is_behind_its_buffer(ARGUMENTS) {
  computes_behind_its_buffer<true>(x, y, z, workspace);
}
extern "C" __global__ __aicore__ void leaves_what_is_behind_its_buffer(ARGUMENTS) {
  computes_behind_its_buffer<false>(x, y, z, workspace);
}

template <bool wrong>
void chooses_behind_a_tail(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a, b;
  pipe.InitBuffer(a, 256);
  pipe.InitBuffer(b, 32);
  LocalTensor<float> t = a.Get<float>();
  LocalTensor<uint8_t> mask = b.Get<uint8_t>();
  Duplicate(t, 1.0f, 8);
  CompareScalar(mask, t, 0.0f, CMPMODE::GT, 64);
  const LocalTensor<uint16_t> bits = mask.ReinterpretCast<uint16_t>();
  And(bits, bits, bits, 4);
  Select(t, mask, t, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(part(z), t, wrong ? 16 : 8);  // FAULT uninitialized
}
EXPORT(chooses_behind_a_tail)

template <bool wrong>
void operand_unaligned(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> a;
  pipe.InitBuffer(a, kBytes);
  LocalTensor<float> t = a.Get<float>();
  Duplicate(t, 1.0f, kCount);
  Adds(t[256], t[wrong ? 1 : 8], 1.0f, 64);  // FAULT alignment
}
EXPORT(operand_unaligned)

template <bool wrong>
void condition_that_does_not_hold(ARGUMENTS) {
  fill(x, z);
  assert(GetBlockNum() == (wrong ? 0 : 2));  // FAULT assertion
}
EXPORT(condition_that_does_not_hold)

template <bool wrong>
void ends_itself(ARGUMENTS) {
  fill(x, z);
  if (wrong) Trap();  // FAULT trap
}
EXPORT(ends_itself)

// `count` numbers of x, to be summed.
struct Summed {
  TPipe pipe;
  In in;
  TBuf<TPosition::VECCALC> sums;
  LocalTensor<float> t;
  Summed(GM_ADDR x, uint32_t count) {
    pipe.InitBuffer(in, 1, kBytes);
    pipe.InitBuffer(sums, kBytes);
    t = in.AllocTensor<float>();
    DataCopy(t, part(x), count);
    in.EnQue(t);
    t = in.DeQue<float>();
  }
  ~Summed() { in.FreeTensor(t); }
};

template <bool wrong>
void more_repeats_than_255(ARGUMENTS) {
  fill(x, z);
  Summed s(x, kCount);
  WholeReduceSum<float>(s.sums.Get<float>(), s.t, 64, wrong ? 256 : 255, 1, 1, 0);  // FAULT repeat
}
EXPORT(more_repeats_than_255)

// Of a repeat of which nothing was computed nobody takes what comes out; one of which a part is missing is a mistake.
template <bool wrong>
void sums_a_row_of_which_a_part_is_missing(ARGUMENTS) {
  fill(x, z);
  Summed s(x, wrong ? 64 + 32 : 64);
  WholeReduceSum<float>(s.sums.Get<float>(), s.t, 64, 2, 1, 1, 8);  // FAULT uninitialized
}
EXPORT(sums_a_row_of_which_a_part_is_missing)

// The last group's values are filled up, and its indices are not: they go along and come last.
template <bool wrong>
void sorts_a_group_that_is_not_filled_up(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 12 * 256);
  LocalTensor<float> all = buffer.Get<float>(), pairs = all[2 * 64], merged = all[4 * 64], sorted = all[6 * 64];
  LocalTensor<int32_t> indices = all[64].ReinterpretCast<int32_t>();
  LocalTensor<uint32_t> places = all[7 * 64].ReinterpretCast<uint32_t>();
  DataCopy(all, part(x), 40);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  if (!wrong) Duplicate(all[40], -1e30f, 24);
  CreateVecIndex(indices, 0, 40);
  Sort32(pairs, all, indices.ReinterpretCast<uint32_t>(), 2);  // FAULT uninitialized
  const uint16_t lengths[4] = {32, 32, 0, 0};
  MrgSort(merged, MrgSortSrcList<float>(pairs, pairs[64], pairs, pairs), MrgSort4Info(lengths, false, 3, 1));
  Extract(sorted, places, merged, 2);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(part(z), sorted, 64);
  DataCopy(part(z)[64], places.ReinterpretCast<float>(), 40);
}
EXPORT(sorts_a_group_that_is_not_filled_up)

// Numbers of 8 bits are combined in lanes of 16: as many bytes again.
template <bool wrong>
void masks_of_bytes_are_twice_as_long(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<> a;
  pipe.InitBuffer(a, 256);
  LocalTensor<uint8_t> mask = a.Get<uint8_t>();
  Duplicate(mask.ReinterpretCast<uint16_t>(), uint16_t(7), 128);
  And(mask, mask, mask, wrong ? 256 : 128);  // FAULT local_bounds
}
EXPORT(masks_of_bytes_are_twice_as_long)

template <bool wrong>
void moves_a_type_that_none_has(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<> a, b, c;
  for (auto* each : {&a, &b, &c}) pipe.InitBuffer(*each, 256);
  Duplicate(a.Get<float>(), 1.0f, 64);
  Duplicate(b.Get<uint32_t>(), 0u, 8);
  using T = std::conditional_t<wrong, int8_t, int16_t>;
  Gather(c.Get<T>(), a.Get<T>(), b.Get<uint32_t>(), 0, 8);  // FAULT data_type
}
EXPORT(moves_a_type_that_none_has)

template <bool wrong>
void adds_a_type_that_none_has(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<> a;
  pipe.InitBuffer(a, 256);
  LocalTensor<float> t = a.Get<float>();
  Duplicate(t, 0.0f, 8);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  SetAtomicAdd<std::conditional_t<wrong, uint16_t, int16_t>>();
  PipeBarrier<PIPE_MTE3>();
  DataCopy(part(z), t, 8);  // FAULT data_type
  DisableDmaAtomic();
}
EXPORT(adds_a_type_that_none_has)

// Sums of a repeat's blocks begin at a multiple of 8, the greatest of a repeat with its place at one of 2.
template <bool wrong>
void sums_of_blocks_unaligned(ARGUMENTS) {
  fill(x, z);
  Summed s(x, 64);
  const LocalTensor<float> sums = s.sums.Get<float>();
  WholeReduceMax<float>(sums[2], s.t, 64, 1, 1, 1, 8);
  BlockReduceSum<float>(sums[wrong ? 12 : 8], s.t, 1, 64, 1, 1, 8);  // FAULT alignment
}
EXPORT(sums_of_blocks_unaligned)

template <bool wrong>
void greatest_with_its_place_unaligned(ARGUMENTS) {
  fill(x, z);
  Summed s(x, 64);
  WholeReduceMax<float>(s.sums.Get<float>()[wrong ? 1 : 2], s.t, 64, 1, 1, 1, 8);  // FAULT alignment
}
EXPORT(greatest_with_its_place_unaligned)

template <bool wrong>
void merges_onto_its_lists(ARGUMENTS) {
  fill(x, z);
  Summed s(x, 64);
  TBuf<> buffer;
  s.pipe.InitBuffer(buffer, 10 * 256);
  LocalTensor<float> pairs = buffer.Get<float>(), merged = pairs[wrong ? 64 : 4 * 64];
  LocalTensor<int32_t> indices = pairs[8 * 64].ReinterpretCast<int32_t>();
  CreateVecIndex(indices, 0, 64);
  Sort32(pairs, s.t, indices.ReinterpretCast<uint32_t>(), 2);
  const uint16_t lengths[4] = {32, 32, 0, 0};
  MrgSort(merged, MrgSortSrcList<float>(pairs, pairs[64], pairs, pairs), MrgSort4Info(lengths, false, 3, 1));  // FAULT overlap
}
EXPORT(merges_onto_its_lists)

template <bool wrong>
void half_a_byte(ARGUMENTS) {
  fill(x, z);
  TPipe pipe;
  TBuf<> a, b;
  for (auto* each : {&a, &b}) pipe.InitBuffer(*each, 256);
  LocalTensor<half> t = a.Get<half>();
  Duplicate(t, half(1), 128);
  Cast(b.Get<int8_t>().ReinterpretCast<int4b_t>(), t, RoundMode::CAST_RINT, wrong ? 63 : 64);  // FAULT mask
}
EXPORT(half_a_byte)

// With a place, more than one repeat leaves what lies between in the temporary tensor.
template <bool wrong>
void uses_what_was_temporary(ARGUMENTS) {
  fill(x, z);
  Summed s(x, 128);
  LocalTensor<float> most = s.sums.Get<float>(), copy = most[512];
  Adds(copy, s.t, 0.0f, 128);
  PipeBarrier<PIPE_V>();
  ReduceMax(most, s.t, wrong ? copy : most[256], 128, true);
  PipeBarrier<PIPE_V>();
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(part(z), copy, 128);  // FAULT uninitialized
}
EXPORT(uses_what_was_temporary)
