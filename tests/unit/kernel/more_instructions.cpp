// Sorting, the math library, and what no other file is of. Each result goes to a part of z of its own.
#include "rows.h"

// Names that no page has, and many kernels use; and abs of a float, which is none of C's.
static_assert(ONE_REPEAT_FLOAT_SIZE == B32_DATA_NUM_PER_REPEAT && B32_DATA_NUM_PER_BLOCK * B32_BYTE_SIZE == 32, "");
static_assert(FULL_MASK == ~uint64_t{0} && PI > 3.14f && std::is_same_v<decltype(abs(-0.5f)), float>, "");
static_assert(TWO == 2 && std::is_same_v<decltype(sbitset0(sbitset1(8, 1), 3)), uint64_t>, "");

static_assert(CeilAlign(uint64_t{17}, 16) == 32 && AscendC::Ceil(17, 16) == 2 && QF322F16_PRE > VREQ8, "");
static_assert(clz(uint64_t{1}) == 63 && clz(int64_t{1}) == 63 && sflbits(int64_t{1}) == 62 &&
                  bcnt0(uint64_t{7}) == 61 && bcnt1(uint64_t{7}) == 3,
              "");
static_assert(sff0(uint64_t{7}) == 3 && sff1(uint64_t{8}) == 3 && std::is_same_v<__bf16, bfloat16_t>, "");
static_assert(std::is_same_v<__fp16, half>);
static_assert(sizeof(AscendC::fp8_e8m0_t) == 1 && pad_t::PAD_NONE == AscendC::pad_t::PAD_NONE, "");

// Rows of 13 in columns of 14, and what is left of 11 and 12: the last dimension may be of any size.
constexpr auto kBlocks =
    MakeLayout(MakeShape(MakeShape(Std::Int<13>{}, Std::Int<0>{}), MakeShape(Std::Int<14>{}, Std::Int<0>{})),
               MakeStride(MakeStride(Std::Int<14>{}, Std::Int<182>{}), MakeStride(Std::Int<1>{}, Std::Int<154>{})));
static_assert(decltype(kBlocks(MakeCoord(Std::Int<20>{}, Std::Int<30>{})))::value == 590 &&
                  kBlocks(MakeCoord(20, 30)) == 590,
              "");

// z: 0 values of a full sort, 128 indices; 256 values sorted in groups of 32 and merged, 384 indices.
extern "C" __global__ __aicore__ void sorts(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> values, indices, pairs, work, results;
  pipe.InitBuffer(values, kCount * 4);
  pipe.InitBuffer(indices, kCount * 4);
  pipe.InitBuffer(pairs, kCount * 8);
  pipe.InitBuffer(work, kCount * 8);
  pipe.InitBuffer(results, 4 * kCount * 4);
  LocalTensor<float> v = values.Get<float>(), p = pairs.Get<float>(), w = work.Get<float>(), r = results.Get<float>(),
                     concat;
  copy_in(v, x, kCount);
  CreateVecIndex(indices.Get<int32_t>(), int32_t(0), kCount);
  Concat(concat, v, w, kCount / 16);
  Sort<float, true>(p, concat, indices.Get<uint32_t>(), w, kCount / 32);
  Extract(r, r[kCount].ReinterpretCast<uint32_t>(), p, kCount / 32);
  Sort32(p, v, indices.Get<uint32_t>(), kCount / 32);
  const uint32_t step = GetSortLen<float>(32);
  uint16_t lengths[4] = {32, 32, 32, 32};
  MrgSort(w, MrgSortSrcList<float>(p, p[step], p[2 * step], p[3 * step]), MrgSort4Info(lengths, false, 15, 1));
  uint16_t taken[4];
  GetMrgSortResult(taken[0], taken[1], taken[2], taken[3]);
  assert(taken[0] + taken[1] + taken[2] + taken[3] == kCount);
  Extract(r[2 * kCount], r[3 * kCount].ReinterpretCast<uint32_t>(), w, kCount / 32);
  copy_out(z, r, 4 * kCount);
}

// Tensors without a TPipe: of a TBuf whose TPipe is gone, and where it is written down; a transposition by addresses.
extern "C" __global__ __aicore__ void placed(GM_ADDR x, GM_ADDR z) {
  TBuf<TPosition::VECCALC> before, kept, other;
  TPipe gone;
  gone.InitBuffer(before, 1024);
  gone.InitBuffer(kept, 2 * kCount * 4);
  gone.Destroy();
  TPipe pipe;
  pipe.InitBuffer(other, 32);
  LocalTensor<float> k = kept.Get<float>(), numbered, pointed, begun;
  copy_in(k, x, kCount);
  numbered.address_.logicPos = static_cast<uint8_t>(TPosition::VECIN);
  numbered.address_.bufferAddr = 1024;
  numbered.address_.dataLen = 64 * 4;
  begun.InitBuffer(1024, 64);
  begun.address_.logicPos = static_cast<uint8_t>(TPosition::VECIN);
  assert(begun.GetSize() == 64 && begun.GetPhyAddr() == numbered.GetPhyAddr());
  pointed.address_.logicPos = static_cast<uint8_t>(TPosition::VECOUT);
  pointed.address_.bufferAddr = reinterpret_cast<uint64_t>((__ubuf__ float*)k[64].GetPhyAddr());
  assert(numbered.GetSize() == 64 && numbered[16].GetSize() == 48 && pointed.GetPhyAddr() == k.GetPhyAddr(64));
  Adds(numbered, numbered, 1.0f, 64);
  Muls(pointed, pointed, 2.0f, 64);
  __ubuf__ half *to[16], *from[16];
  for (int i = 0; i < 16; ++i) {
    from[i] = (__ubuf__ half*)k[8 * i].GetPhyAddr();
    to[i] = (__ubuf__ half*)k[kCount + 8 * i].GetPhyAddr();
  }
  TransDataTo5HDImpl<half>(to, from, TransDataTo5HDParams(false, false, 1, 0, 0));
  copy_out(z, k, 2 * kCount);
}

// z: 16 floats for each of four ways to fill up two rows of 5 to 16, which is 3 to the left and 8 to the right, or 3
// and 0; then two rows of 5 that nothing is added to, 8 floats each.
extern "C" __global__ __aicore__ void padded(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> rows;
  pipe.InitBuffer(rows, 80 * 4);
  LocalTensor<float> r = rows.Get<float>();
  GlobalTensor<float> gm;
  gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), 20);
  const DataCopyExtParams five(1, 5 * sizeof(float), 0, 0, 0);
  DataCopyPad(r, gm, five, DataCopyPadExtParams<float>(true, 3, 8, 7.0f));
  DataCopyPad(r[16], gm[5], five, DataCopyPadExtParams<float>(true, 3, 2, 8.0f));  // the end of the block too
  SetPadValue(9.0f);
  DataCopyPad(r[32], gm[10], five, DataCopyPadExtParams<float>(false, 3, 8, 1.0f));
  SetPadValue<float, TPosition::VECIN>(10.0f);
  DataCopyPad(r[48], gm[15], five, DataCopyPadExtParams<float>(false, 3, 8, 1.0f));
  DataCopyPad(r[64], gm[5], five, DataCopyPadExtParams<float>(false, 0, 0, 1.0f));
  DataCopyPad(r[72], gm[10], five, DataCopyPadExtParams<float>(true, 0, 0, 1.0f));
  SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  GlobalTensor<float> out;
  out.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z), 80);
  DataCopy(out, r, 80);
}

// z: one row of kCount for each function, in the order of the calls.
extern "C" __global__ __aicore__ void maths(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> values, work, results;
  pipe.InitBuffer(values, kCount * 4);
  pipe.InitBuffer(work, 1024);
  pipe.InitBuffer(results, 16 * kCount * 4);
  LocalTensor<float> v = values.Get<float>(), r = results.Get<float>();
  LocalTensor<uint8_t> w = work.Get<uint8_t>();
  copy_in(v, x, kCount);
  uint32_t row = 0;
  Floor(r[row++ * kCount], v, kCount);
  Ceil(r[row++ * kCount], v, w, kCount);
  Round(r[row++ * kCount], v, kCount);
  Trunc(r[row++ * kCount], v, w);
  Tanh(r[row++ * kCount], v);
  Sigmoid(r[row++ * kCount], v, kCount);
  Erf(r[row++ * kCount], v, kCount);
  Sign(r[row++ * kCount], v, kCount);
  Sin(r[row++ * kCount], v, kCount);
  Power(r[row++ * kCount], v, 2.0f, kCount);
  Power(r[row++ * kCount], 2.0f, v, kCount);
  Power(r[row++ * kCount], v, v, kCount);
  Fmod(r[row++ * kCount], v, r[5 * kCount], kCount);
  ClampMax(r[row++ * kCount], v, 1.0f, kCount);
  ClampMin(r[row++ * kCount], v, -1.0f, kCount);
  Log(r[row++ * kCount], r[5 * kCount], kCount);
  copy_out(z, r, 16 * kCount);
}

// z: how far two buffers lie from each other, elements of one, the length of a barrier's memory, then the second half
// of x.
extern "C" __global__ __aicore__ void at_places(GM_ADDR x, GM_ADDR z) {
  InitSocState();
  TPipe pipe;
  TQue<TPosition::VECIN, 2> queue;
  pipe.InitBuffer(queue, Std::make_tuple(64, 512), Std::make_tuple(1024, 512));
  GlobalTensor<float> all;
  all.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), kCount);
  LocalTensor<float> first = queue.AllocTensor<float>(), second = queue.AllocTensor<float>();
  GroupBarrier<PipeMode::MTE3_MODE> barrier(z, 3, 6);
  const auto begin = [](const LocalTensor<float>& t) { return reinterpret_cast<uint64_t>(t.GetPhyAddr()); };
  first.SetValue(0, float(begin(second) - begin(first)));
  first.SetValue(1, float(first.GetSize()));
  first.SetValue(2, float(barrier.GetWorkspaceLen()));
  for (int32_t i = 3; i < 8; ++i) first.SetValue(i, 0.0f);
  SetFlag<HardEvent::S_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::S_MTE3>(EVENT_ID0);
  DataCopy(second, all[kCount / 2], kCount / 2);
  SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  all.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z), 8 + kCount / 2);
  DataCopy(all, first, 8);
  DataCopy(all[8], second, kCount / 2);
  queue.FreeTensor(first);
  queue.FreeTensor(second);
}

// z: 8 numbers of every second block of x, then 8 of one value.
extern "C" __global__ __aicore__ void older(GM_ADDR x, GM_ADDR z) {
  PRELOAD(2);
  ASCENDC_REPORT_NOT_SUPPORT(false, "nothing on the device")
  TPipe pipe;
  TBuf<TPosition::VECCALC> values;
  pipe.InitBuffer(values, 2 * 32);
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), 24);
  to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z), 24);
  DataCopyParams every;
  every.blockCount = 2, every.blockLen = 1, every.srcGap = 1, every.dstGap = 0;
  DataCopy(values.Get<float>(), from, every);
  SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  DataCopy(to, values.Get<float>(), 16);
  InitOutput(to[16], 8, 2.5f);

  TBuf<TPosition::VECCALC> others;
  pipe.InitBuffer(others, 5 * 32);
  LocalTensor<int32_t> w = others.Get<int32_t>();
  LocalTensor<float> f = others.Get<float>();
  w(0) = 6, w(0) |= 1, w(0) %= 4, w(0) <<= 2;
  assert(w(0)++ == 12 && --w(0) == 12 && get_imm(32) == get_imm(0) + 32);
  Duplicate(w[8], int32_t(-3), 8);  // as a float it is no number
  Abs(f[8], f[8], 8);
  SetFlag<HardEvent::V_S>(EVENT_ID0);
  WaitFlag<HardEvent::V_S>(EVENT_ID0);
  assert(w(8) == 0x7ffffffd);
  SetFlag<HardEvent::S_V>(EVENT_ID0);
  WaitFlag<HardEvent::S_V>(EVENT_ID0);
  Duplicate(f[8], 2.0f, 8);
  Sum(f[16], f[8], SumParams{1, 6, 6});  // a single row of any length
  LocalTensor<half> h = others.Get<half>()[48];
  Duplicate(h, half(1.0009765625f), 16);
  Duplicate(h[16], half(0.00048828125f), 16);
  Axpy(h[16], h, half(1.0009765625f), 16);  // the product is rounded, and then the sum
  SetFlag<HardEvent::V_S>(EVENT_ID0);
  WaitFlag<HardEvent::V_S>(EVENT_ID0);
  assert(f(16) == 12 && float(h(16)) == 1.001953125f);
}

// z = (x + x) * x - x of whole tensors; then what the kernel was given by value, and two numbers' least and most.
extern "C" __global__ __aicore__ void by_operators(GM_ADDR x, GM_ADDR z, uint32_t whole, float real, int64_t other) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> values, results;
  pipe.InitBuffer(values, kCount * 4);
  pipe.InitBuffer(results, kCount * 4);
  LocalTensor<float> v = values.Get<float>(), r = results.Get<float>();
  copy_in(v, x, kCount);
  r = v + v;
  r = r * v;
  r = r - v;
  SetFlag<HardEvent::V_S>(EVENT_ID2);
  WaitFlag<HardEvent::V_S>(EVENT_ID2);
  r.SetValue(0, float(whole)), r.SetValue(1, real), r.SetValue(2, float(other)),
      r.SetValue(3, float(max(min(whole, 5), 2)));
  set_flag(PIPE_S, PIPE_MTE3, EVENT_ID3);
  wait_flag(PIPE_S, PIPE_MTE3, EVENT_ID3);
  copy_out(z, r, kCount);
}

// z = the sum of x over the cores up to this one: each waits for the one before it.
extern "C" __global__ __aicore__ void one_after_another(GM_ADDR x, GM_ADDR z, GM_ADDR workspace) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> mine, before, events;
  pipe.InitBuffer(mine, kCount * 4);
  pipe.InitBuffer(before, kCount * 4);
  pipe.InitBuffer(events, 32);
  GlobalTensor<int32_t> places;
  places.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(workspace));
  const int64_t core = GetBlockIdx();
  const uint64_t bytes = kCount * sizeof(float);
  LocalTensor<float> a = mine.Get<float>(), b = before.Get<float>();
  copy_in(a, x + core * bytes, kCount);
  if (core > 0) {
    IBWait(places, events.Get<int32_t>(), int32_t(core) - 1, 0);
    copy_in(b, z + (core - 1) * bytes, kCount);
    Add(a, a, b, kCount);
  }
  copy_out(z + core * bytes, a, kCount);
  if (core + 1 < GetBlockNum()) IBSet(places, events.Get<int32_t>(), int32_t(core), 0);
}

// z: 128 floats each of relu(2 x) by way of half; of 0.25 x x in int8_t; of relu(2 k) in int8_t, k = 40 x in int16_t;
// of relu of k, k = 8 x in int32_t; of relu(x x + x); of x, which is then added by what SetStoreAtomicConfig says.
extern "C" __global__ __aicore__ void composites(GM_ADDR x, GM_ADDR z) {
  static_assert(CountLeadingZero(0x0100000000000020) == 7 && CountLeadingZero(0) == 64);
  static_assert(CountBitsCntSameAsSignBit(0x0100000000000020) == 6 && CountBitsCntSameAsSignBit(-1) == -1 &&
                CountBitsCntSameAsSignBit(0) == -1);
  static_assert(GetSFFValue<1>(0x1000000000000100) == 8 && GetSFFValue<0>(~uint64_t{0}) == -1 &&
                GetBitCount<1>(33) == 2 && GetBitCount<0>(33) == 62);
  TPipe pipe;
  TBuf<TPosition::VECCALC> values, results, halves, wholes, bytes;
  for (auto* each : {&values, &halves, &wholes, &bytes}) pipe.InitBuffer(*each, 2 * kCount * 4);
  pipe.InitBuffer(results, 6 * kCount * 4);
  LocalTensor<float> v = values.Get<float>(), scaled = v[kCount], r = results.Get<float>();
  LocalTensor<half> h = halves.Get<half>(), other = h[2 * kCount];
  LocalTensor<int8_t> b = bytes.Get<int8_t>();
  copy_in(v, x, kCount);
  AddReluCast(h, v, v, kCount);
  Cast(r, h, RoundMode::CAST_NONE, kCount);
  Muls(scaled, v, 0.25f, kCount);
  Cast(h, v, RoundMode::CAST_NONE, kCount);
  Cast(other, scaled, RoundMode::CAST_NONE, kCount);
  MulCast(b, h, other, kCount);
  Cast(h, b, RoundMode::CAST_NONE, kCount);
  Cast(r[kCount], h, RoundMode::CAST_NONE, kCount);
  Muls(scaled, v, 40.0f, kCount);
  LocalTensor<int16_t> k = wholes.Get<int16_t>();
  Cast(k, scaled, RoundMode::CAST_RINT, kCount);
  AddReluCast(b, k, k, kCount);
  Cast(h, b, RoundMode::CAST_NONE, kCount);
  Cast(r[2 * kCount], h, RoundMode::CAST_NONE, kCount);
  Muls(scaled, v, 8.0f, kCount);
  LocalTensor<int32_t> i = wholes.Get<int32_t>();
  Cast(i, scaled, RoundMode::CAST_RINT, kCount);
  SetDeqScale(half(0.5f));
  AddDeqRelu(h, i, i, kCount);
  Cast(r[3 * kCount], h, RoundMode::CAST_NONE, kCount);
  Adds(r[4 * kCount], v, 0.0f, kCount);
  MulAddRelu(r[4 * kCount], v, v, kCount);
  Adds(r[5 * kCount], v, 0.0f, kCount);
  copy_out(z, r, 6 * kCount);
  uint16_t type = 9, what = 9;
  SetStoreAtomicConfig<AtomicDtype::ATOMIC_F32, AtomicOp::ATOMIC_SUM>();
  GetStoreAtomicConfig(type, what);
  assert(type == 1 && what == 0);
  PipeBarrier<PIPE_ALL>();
  copy_out(z + 5 * kCount * 4, v, kCount);
  SetStoreAtomicConfig<AtomicDtype::ATOMIC_NONE, AtomicOp::ATOMIC_SUM>();
  GetStoreAtomicConfig(type, what);
  assert(type == 0 && what == 0 && GetTaskRatio() == 1);
}

// The elements 0 and 2 of each repeat of 64. z: 0 the sum, 8 the least, 16 the greatest, from 64 on what Copy and then
// Axpy write over zeros.
extern "C" __global__ __aicore__ void masked(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> values, work, results;
  pipe.InitBuffer(values, kCount * 4);
  pipe.InitBuffer(work, kCount * 4);
  pipe.InitBuffer(results, (64 + 2 * kCount) * 4);
  LocalTensor<float> v = values.Get<float>(), w = work.Get<float>(), r = results.Get<float>();
  copy_in(v, x, kCount);
  uint64_t mask[2] = {5, 0};
  Duplicate(r, 0.0f, 64 + 2 * kCount);
  ReduceSum(r, v, w, mask, 2, 8);
  ReduceMin(r[8], v, w, mask, 2, 8);
  ReduceMax(r[16], v, w, mask, 2, 8, false);
  Copy(r[64], v, mask, 2, {1, 1, 8, 8});
  Axpy(r[64 + kCount], v, 3.0f, mask, 2, {1, 1, 8, 8});
  copy_out(z, r, 64 + 2 * kCount);
}

// 104 of 128 values are there, as in a last tile; Compare and Select take a multiple of 256 bytes. z: those above 0,
// else 0.
template <bool compared>
__aicore__ inline void chosen(GM_ADDR x, GM_ADDR z, uint32_t out) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> values, bits, results;
  for (auto* each : {&values, &bits, &results}) pipe.InitBuffer(*each, kCount * 4);
  LocalTensor<float> v = values.Get<float>(), r = results.Get<float>();
  LocalTensor<uint8_t> mask = bits.Get<uint8_t>();
  copy_in(v, x, 104);
  if (compared) CompareScalar(mask, v, 0.0f, CMPMODE::GT, kCount);
  Duplicate(r, 1.0f, kCount);
  Mul(v, v, r, kCount);
  Duplicate(r, 0.0f, kCount);
  Select(r, mask, v, r, SELMODE::VSEL_TENSOR_TENSOR_MODE, kCount);
  copy_out(z, r, out);
}
extern "C" __global__ __aicore__ void chosen_tail(GM_ADDR x, GM_ADDR z) { chosen<true>(x, z, 104); }
extern "C" __global__ __aicore__ void chosen_behind(GM_ADDR x, GM_ADDR z) { chosen<true>(x, z, kCount); }
extern "C" __global__ __aicore__ void chosen_by_nothing(GM_ADDR x, GM_ADDR z) { chosen<false>(x, z, 104); }

// z: 0 the elements of x, some of them changed one by one; 64 those or 2, by bytes; 128 what was never given a value.
constexpr TQueConfig kOne = {.bufferLen = 256, .bufferNumber = 2};
extern "C" __global__ __aicore__ void elements(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1, &kOne> in;
  TBuf<TPosition::VECCALC> bytes, chosen, temporary;
  pipe.InitBuffer(in, 2, 256);
  pipe.InitBuffer(bytes, 64);
  pipe.InitBuffer(chosen, 256);
  pipe.InitBuffer(temporary, 1024);
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), 64);
  to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z), 192);
  LocalTensor<float> v = in.AllocTensor<float>(), c = chosen.Get<float>();
  DataCopy(v, from, 64);
  in.EnQue(v);
  v = in.DeQue<float>();
  v(0) = 5;
  v(1) += v(0) * 2;
  v(2) = v(0);
  const float fourth = from(3);
  v(3) = -fourth;
  v.Print(9);
  assert(v.ToFile("elements.bin") == 0);
  LocalTensor<uint8_t> b = bytes.Get<uint8_t>();
  for (uint32_t i = 0; i < 64; ++i) b(i) = i % 2;
  SetFlag<HardEvent::S_V>(EVENT_ID0);
  WaitFlag<HardEvent::S_V>(EVENT_ID0);
  SelectWithBytesMaskShapeInfo shape;
  shape.firstAxis = 1, shape.srcLastAxis = shape.maskLastAxis = 64;
  SelectWithBytesMask(c, v, 2.0f, b, temporary.Get<uint8_t>(), shape);
  PipeBarrier<PIPE_ALL>();
  DataCopy(to, v, 64);
  DataCopy(to[64], c, 64);
  for (uint32_t i = 129; i < 192; ++i) to(i) = float(i);
  to(128) = temporary.GetWithOffset<float>(8, 992)(0);
  DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(to);
  in.FreeTensor(v);
}

// z: 64 floats a part: what Select took by bits of Compare with masks, of scalars, of a register; Gather,
// CreateVecIndex and MulAddDst with masks; shifts with rounding.
extern "C" __global__ __aicore__ void chosen_by_masks(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> values, others, results, bits, places, halves, wholes;
  pipe.InitBuffer(values, 512);
  pipe.InitBuffer(others, 512);
  pipe.InitBuffer(results, 12 * 256);
  pipe.InitBuffer(bits, 64);
  pipe.InitBuffer(places, 512);
  pipe.InitBuffer(halves, 256);
  pipe.InitBuffer(wholes, 256);
  auto v = values.Get<float>(), o = others.Get<float>(), r = results.Get<float>();
  auto b = bits.Get<uint8_t>();
  uint64_t odd[2] = {0xaaaaaaaaaaaaaaaa, 0};
  const uint64_t few[2] = {0xff, 0};
  const BinaryRepeatParams both{1, 1, 1, 8, 8, 8};
  const UnaryRepeatParams one{1, 1, 8, 8};
  copy_in(v, x, 128);
  Duplicate(o, 64.0f, 128);
  Duplicate(r, -1.0f, 12 * 64);
  Compare(b, v, o, CMPMODE::LT, few, 2, both);  // the mask has no effect
  Select(r, b, v, o, SELMODE::VSEL_TENSOR_TENSOR_MODE, odd, 2, both);
  auto b2 = bits.GetWithOffset<uint8_t>(32, 32);
  b2 = v != o;
  Select(r[704], b2[8], v[64], o, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64);
  Compares(b[32], v, 10.0f, CMPMODE::GE, uint64_t(3), 1, one);
  Select(r[128], b[32], v, 0.5f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 40, 1, both);
  Select(r[192], b[32], v, o, SELMODE::VSEL_CMPMASK_SPR, 64, 1, both);
  SetCmpMask(b[32]);
  PipeBarrier<PIPE_V>();
  SetVectorMask<float>(0, 0xff);
  Select<float, SELMODE::VSEL_CMPMASK_SPR>(r[256], v, o, 1, both);
  SetCmpMask(v[5]);
  Select(r[320], b[32], v, 1, both);
  ResetMask();
  auto p = places.Get<int32_t>();
  CreateVecIndex(p, 0, 64, 2, 1, 8);
  ShiftLeft(p, p, 2, 128);
  Gather(r[384], v, p.ReinterpretCast<uint32_t>(), 4, odd, 1, 8);
  CreateVecIndex(p, 7, odd, 1, 1, 8);
  Cast(r[448], p, RoundMode::CAST_NONE, 64);
  auto h = halves.Get<half>();
  Cast(h, v, RoundMode::CAST_NONE, 64);
  Duplicate(r[512], 1.0f, 64);
  MulAddDst(r[512], h, h, few, 1, BinaryRepeatParams{1, 1, 1, 8, 4, 4});
  auto w = wholes.Get<int32_t>();
  Cast(w, v, RoundMode::CAST_RINT, 64);
  ShiftRight(p, w, 2, uint64_t(64), 1, one, true);
  Cast(r[576], p, RoundMode::CAST_NONE, 64);
  Muls(w, w, -1, 64);
  ShiftRight(p, w, 32, 64);
  Cast(r[640], p, RoundMode::CAST_NONE, 64);
  PipeBarrier<PIPE_ALL>();
  const uint32_t shape[] = {2, 3};
  DumpTensor(v, 1, 5, ShapeInfo(2, shape));
  copy_out(z, r, 12 * 64);
}

// z: 16 conversions of single numbers; 16 sums of eight, by both names; quotients and remainders of 7 by x[0], which is
// 0.
extern "C" __global__ __aicore__ void singles(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> values, results;
  pipe.InitBuffer(values, kCount * 4);
  pipe.InitBuffer(results, 64 * 4);
  LocalTensor<float> v = values.Get<float>(), r = results.Get<float>();
  copy_in(v, x, kCount);
  Duplicate(r, 0.0f, 64);
  RepeatReduceSum(r[16], v, 2, 64, 0, 1, 1, 8);
  WholeReduceSum(r[24], v, 64, 2, 1, 1, 8);
  SetFlag<HardEvent::V_S>(EVENT_ID0);
  WaitFlag<HardEvent::V_S>(EVENT_ID0);
  const float single = -2.5f;
  r.SetValue(0, Cast<float, int32_t, RoundMode::CAST_FLOOR>(single));
  r.SetValue(1, ScalarCast<float, int32_t, RoundMode::CAST_RINT>(single));
  r.SetValue(2, float(Cast<float, half, RoundMode::CAST_ODD>(1 + 1.5f / 1024)));
  r.SetValue(3, Cast(Cast(1.0f + 1.0f / 512)));
  r.SetValue(4, ScalarGetCountOfValue<1>(7) + ScalarCountLeadingZero(1) + ScalarGetSFFValue<0>(7));
  const auto none = int32_t(v.GetValue(0));
  const int64_t wide = none;
  const auto narrow = uint8_t(none);
  r.SetValue(32, 7 / none);
  r.SetValue(33, 7 % none);
  r.SetValue(34, int64_t(7) / wide);
  r.SetValue(35, int64_t(7) % wide);
  r.SetValue(36, uint8_t(uint8_t(7) / narrow));
  r.SetValue(37, uint8_t(uint8_t(7) % narrow));
  SetFlag<HardEvent::S_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::S_MTE3>(EVENT_ID0);
  copy_out(z, r, 64);
}

// x: 64 numbers of int16_t; z: 128 bytes, of each block of 32 the lower half by one factor, the upper by another one;
// then 128 by factors for each of 16, as numbers without a sign, in the upper halves.
extern "C" __global__ __aicore__ void dequantized(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> values, results, table;
  pipe.InitBuffer(values, 128);
  pipe.InitBuffer(results, 256);
  pipe.InitBuffer(table, 128);
  LocalTensor<float> all = results.Get<float>();
  LocalTensor<int16_t> v = values.Get<int16_t>();
  copy_in(values.Get<float>(), x, 32);
  Duplicate(all, 0.0f, 64);
  SetDeqScale(0.5f, int16_t(-3), true);
  CastDequant<int8_t, int16_t, false, false>(all.ReinterpretCast<int8_t>(), v, 64);
  SetDeqScale(0.25f, int16_t(0), true);
  CastDeq<int8_t, int16_t, true, false, true>(all.ReinterpretCast<int8_t>(), v, 64, 1, {1, 1, 8, 8});
  VdeqInfo each;
  for (int i = 0; i < 16; ++i) each.vdeqScale[i] = 0.125f * i, each.vdeqOffset[i] = i, each.vdeqSignMode[i] = false;
  SetDeqScale<uint64_t>(table.Get<uint64_t>(), each);
  CastDequant<uint8_t, int16_t>(all[32].ReinterpretCast<uint8_t>(), v, 64);
  copy_out(z, all, 64);
}

// 64 whole numbers as half, by a factor, with the mode that operators which quantize give it.
extern "C" __global__ __aicore__ void narrowed(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> values, halves;
  pipe.InitBuffer(values, 256);
  pipe.InitBuffer(halves, 128);
  LocalTensor<float> v = values.Get<float>();
  copy_in(v, x, 64);
  Cast(v.ReinterpretCast<int32_t>(), v, RoundMode::CAST_RINT, 64);
  SetDeqScale(half(0.5f));
  Cast(halves.Get<half>(), v.ReinterpretCast<int32_t>(), RoundMode::CAST_ROUND, 64);
  Cast(v, halves.Get<half>(), RoundMode::CAST_NONE, 64);
  copy_out(z, v, 64);
}

// Copies with what only an Atlas inference product computes on the way.
extern "C" __global__ __aicore__ void enhanced(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> room;
  pipe.InitBuffer(room, 128);
  LocalTensor<float> v = room.Get<float>();
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
  to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z));
  DataCopyEnhancedParams more;
  more.blockMode = BlockMode::BLOCK_MODE_MATRIX;
  DataCopy(v, from, {2, 1, 1, 0}, more);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  DataCopy(v[16], v, {1, 2, 0, 0}, more);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  const DataCopyParams four{1, 4, 0, 0};
  DataCopy(to, v, four, {});
  static_assert(std::is_same_v<decltype(DataCopyPadExtParams{false, 0, 0, 0}), DataCopyPadExtParams<int>>);
}

// z: x times its third element, x and that element, the element, and x where it is smaller.
extern "C" __global__ __aicore__ void by_elements(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> source, results, masks;
  pipe.InitBuffer(source, kCount * 4);
  pipe.InitBuffer(results, 4 * kCount * 4);
  pipe.InitBuffer(masks, 32);
  LocalTensor<float> from = source.Get<float>(), to = results.Get<float>();
  copy_in(from, x, kCount);
  SetFlag<HardEvent::MTE2_S>(EVENT_ID1);
  WaitFlag<HardEvent::MTE2_S>(EVENT_ID1);
  Muls(to, from, from(2), kCount);
  Adds(to[kCount], from, from(2), uint64_t{64}, 2, UnaryRepeatParams{1, 1, 8, 8});
  Duplicate(to[2 * kCount], from(2), kCount);
  LocalTensor<uint8_t> mask = masks.Get<uint8_t>();
  CompareScalar(mask, from, from(2), CMPMODE::LT, kCount);
  PipeBarrier<PIPE_V>();
  Select(to[3 * kCount], mask, from, -1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, kCount);
  copy_out(z, to, 4 * kCount);
}

static_assert(std::is_same_v<decltype(TBuffAddr().bufferHandle), TBufHandle> &&
              std::is_same_v<decltype(LocalTensor<half>().GetBufferHandle()), TBufHandle>);
