// Forms of functions that pages have beside the usual one.
#include "rows.h"
#include "c_api/asc_simd.h"

namespace {
constexpr SoftmaxConfig kConfig = {true, 0, 0};
[[maybe_unused]] const Std::tuple<int4b_t, half, bfloat16_t> kOfNumbers = {1, 2.0, 3.0};
}  // namespace

// x: 16 rows of 32 in NZ. z: their softmax, the sums, the maxima, and the softmax by these, of which 20 columns count.
extern "C" __global__ __aicore__ void softmax_nz(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, (3 * 512 + 2 * 128) * 4);
  LocalTensor<float> from = buffer.Get<float>(), all = from[512], sum = from[1536], max = from[1664];
  copy_in(from, x, 512);
  Duplicate(from[512], 0.0f, 1024);
  const SoftMaxShapeInfo shape = {16, 32, 16, 20};
  SoftMax<float, false, false, true, kConfig>(all, sum, max, from, SoftMaxTiling{}, shape);
  SimpleSoftMax<float, false, false, true>(all[512], sum, max, from, SoftMaxTiling{}, shape);
  copy_out(z, all, 1280);
}

// x: 8 rows of 64. z: their softmax by sums and maxima in float, of half.
extern "C" __global__ __aicore__ void softmax_of_half(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 512 * 2 * 2 + 2 * 64 * 4);
  LocalTensor<half> from = buffer.Get<half>(), to = from[512];
  LocalTensor<float> sum = buffer.Get<float>()[512], max = sum[64];
  copy_in(from, x, 512);
  const SoftMaxShapeInfo shape = {8, 64, 8, 64};
  SoftMax<half>(to, sum, max, from, SoftMaxTiling{}, shape);
  SimpleSoftMax<half>(to, sum, max, from, SoftMaxTiling{}, shape);
  copy_out(z, to, 512);
}

// x: 64 numbers. z: two matrices of 2 rows of 16 from NZ, 20 apart and 48 a matrix; then x by way of device memory.
extern "C" __global__ __aicore__ void ways_out(GM_ADDR x, GM_ADDR z, GM_ADDR workspace) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 2 * 576 * 4);
  LocalTensor<float> from = buffer.Get<float>(), back = from[576];
  copy_in(from, x, 576);
  GlobalTensor<float> to, spill;
  to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z), 1024);
  spill.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace), 128);
  Nz2NdParamsFull params{2, 2, 32, 1, 2, 40, 100};
  DataCopy(to, from, params);
  pipe.InitSpmBuffer(spill, 512);
  pipe.WriteSpmBuffer(from, DataCopyParams{2, 1, 1, 0}, 64);
  PipeBarrier<PIPE_ALL>();
  pipe.ReadSpmBuffer(back, 16, 64);
  copy_out(z + 512 * 4, back, 16);
}
extern "C" __global__ __aicore__ void no_spill(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 64);
  LocalTensor<float> from = buffer.Get<float>();
  copy_in(from, x, 16);
  pipe.WriteSpmBuffer(from, 16);
}

// x: 512 numbers as half, then 32 factors. z: what the page's example computes, of 64 lanes in the second call.
extern "C" __global__ __aicore__ void interpolated(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 2048 + 1024 + 128 + 544 * 32);
  LocalTensor<half> from = buffer.Get<half>(), factors = from[512], to = from[1024];
  LocalTensor<uint32_t> offsets = buffer.Get<uint32_t>()[768];
  LocalTensor<uint8_t> work = buffer.Get<uint8_t>()[2048 + 1024 + 128];
  copy_in(from, x, 544);
  for (uint32_t i = 0; i < 32; ++i) offsets.SetValue(i, i * 32);
  Duplicate(to, half(0), 512);
  PipeBarrier<PIPE_ALL>();
  LocalTensor<half> used = factors[0];
  used.SetSize(32), from.SetSize(512);
  BilinearInterpolation(to, from, offsets, used, uint64_t{128}, uint8_t{2}, false, uint16_t{1}, uint16_t{128},
                        uint8_t{2}, work);
  uint64_t mask[2] = {~uint64_t{0}, 0};
  BilinearInterpolation(to[256], from, offsets, used, mask, uint8_t{2}, true, uint16_t{1}, uint16_t{128}, uint8_t{2},
                        work);
  copy_out(z, to, 512);
}

// x: 16 whole numbers as int32_t, 16 scales as float, 64 bytes of int8_t. z: see the test.
extern "C" __global__ __aicore__ void quantized(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 4096);
  LocalTensor<float> all = buffer.Get<float>(), to = all[256];
  copy_in(all, x, 48);
  LocalTensor<int32_t> whole = all.ReinterpretCast<int32_t>();
  LocalTensor<float> scales = all[16];
  LocalTensor<uint8_t> work = buffer.Get<uint8_t>()[3072];
  whole.SetSize(16), scales.SetSize(16);
  AscendDequant<float, float>(to, whole, scales);
  AscendDequant<float, float>(to[16], whole, scales, work);
  AscendDequant<float, float>(to[32], whole, scales, 16u);
  AscendDequant<float, float>(to[48], whole, scales, work, 16u);
  LocalTensor<int8_t> bytes = all[32].ReinterpretCast<int8_t>();
  bytes.SetSize(64);
  LocalTensor<bfloat16_t> wide = to[64].ReinterpretCast<bfloat16_t>(), by = all[128].ReinterpretCast<bfloat16_t>();
  Duplicate(all[128].ReinterpretCast<uint16_t>(), uint16_t{0x4000}, 32);  // 2 as bfloat16_t
  AscendAntiQuant<int8_t, bfloat16_t, false>(wide, bytes, by, work, 2u, AntiQuantShapeInfo{0, 0, 1, 32});
  AscendAntiQuant<int8_t, bfloat16_t, false>(wide[64], bytes, ToBfloat16(0.5f), work, 2u);
  Duplicate(work.ReinterpretCast<uint16_t>(), uint16_t{0x0100}, 16);
  DropOut(to[128], all[16], work, 0.5f, [] {
    DropOutShapeInfo info;
    info.firstAxis = 1, info.srcLastAxis = 16, info.maskLastAxis = 32;
    return info;
  }());
  copy_out(z, to, 144);
}

// x: 16 rows of 16 as half. z: the columns, by addresses that lie in local memory.
extern "C" __global__ __aicore__ void by_addresses(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 1024 + 256);
  LocalTensor<half> from = buffer.Get<half>(), to = from[256];
  LocalTensor<uint64_t> sources = buffer.Get<uint64_t>()[128], ends = sources[16];
  copy_in(from, x, 256);
  for (int i = 0; i < NCHW_CONV_ADDR_LIST_SIZE; ++i) {
    sources.SetValue(i, reinterpret_cast<uint64_t>(from[16 * i].GetPhyAddr()));
    ends.SetValue(i, reinterpret_cast<uint64_t>(to[16 * i].GetPhyAddr()));
  }
  PipeBarrier<PIPE_ALL>();
  TransDataTo5HD<half>(ends, sources, TransDataTo5HDParams(false, false, 1, 0, 0));
  GlobalTensor<uint64_t> words;
  words.SetGlobalBuffer(reinterpret_cast<__gm__ uint64_t*>(x), 64);
  DataCachePreload(words, int64_t{0});
  GlobalTensor<half> out;
  out.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(z), 272);
  copy_out(z, to, 256);
  InitOutput(out[256], 16);
}

// What a kernel says about itself.
namespace {
__aicore__ inline void count(uint32_t& calls, uint32_t step) { calls += step; }
}  // namespace
extern "C" __global__ __aicore__ void tells(GM_ADDR x, GM_ADDR z) {
  asc_prof_start();
  TRACE_START(0x1);
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 64);
  LocalTensor<float> from = buffer.Get<float>();
  copy_in(from, x, 16);
  DumpAccChkPoint(from, 7, 8, 8);
  PrintTimeStamp(65577);
  assert(GetProgramCounter() != 0);
  Async<EngineType::AIV, copy_out<float>>(z, from, 16u);
  Async<EngineType::AIC, copy_out<float>>(x, from, 16u);
  static_assert(
      std::is_same_v<Std::Int<2>, Std::integral_constant<size_t, 2>> && Std::tuple_size_v<Std::tuple<int>> == 1, "");
  TRACE_STOP(0x1);
  asc_prof_stop();
}

// By C: x is 64 of int16_t and 16 rows of 16 of half. z: 128 of int8_t, in halves of blocks by one scale, then by 16;
// the rows' columns; and, a step behind the addresses, those of the second half of the rows.
extern "C" __global__ __aicore__ void by_c(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 2048);
  LocalTensor<half> all = buffer.Get<half>();
  copy_in(all, x, 320);
  Duplicate(all[320], half(0), 704);
  __ubuf__ int16_t* from = reinterpret_cast<__ubuf__ int16_t*>(all.GetPhyAddr());
  __ubuf__ int8_t* bytes = reinterpret_cast<__ubuf__ int8_t*>(all[320].GetPhyAddr());
  asc_set_deq_scale(0.5f, int16_t{1}, true);
  asc_deq_int162b8_h_sync(bytes, from, 64);
  float scales[16];
  int16_t offsets[16];
  bool signs[16];
  for (int i = 0; i < 16; ++i) scales[i] = i / 4.0f, offsets[i] = i, signs[i] = true;
  asc_set_deq_scale(reinterpret_cast<__ubuf__ uint64_t*>(all[960].GetPhyAddr()), scales, offsets, signs);
  asc_vdeq_int162b8_l_sync(bytes, from, 64);
  __ubuf__ half *rows[16], *columns[16];
  __ubuf__ half* first = reinterpret_cast<__ubuf__ half*>(all.GetPhyAddr());
  for (int i = 0; i < 16; ++i) rows[i] = first + 64 + 16 * i, columns[i] = first + 384 + 16 * i;
  asc_set_va_reg(VA0, columns), asc_set_va_reg(VA1, columns + 8), asc_set_va_reg(VA2, rows),
      asc_set_va_reg(VA3, rows + 8);
  asc_transto5hd_b16_sync(VA0, VA2, 1, 0, 0);
  asc_transto5hd_b16_sync(VA0, VA2, 0, 0, 0);
  copy_out(z, all[320], 320);
  PipeBarrier<PIPE_ALL>();
  asc_transto5hd_b16_sync(VA0, VA2, 1, 16, 0);
  copy_out(z + 640, all[640], 256);
}

// Tensors that are described: the same functions, of the type of their elements. x: 128 floats, z: what became of them,
// the sizes of types, and numbers of a layout.
template <typename T>
using Described = LocalTensor<TensorTrait<T>>;
extern "C" __global__ __aicore__ void described(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> out;
  TBuf<TPosition::VECCALC> more;
  pipe.InitBuffer(in, 1, 512), pipe.InitBuffer(out, 1, 1024), pipe.InitBuffer(more, 2048);
  GlobalTensor<TensorTrait<float>> from, to;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), 128),
      to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z), 256);
  Described<float> a = in.AllocTensor<TensorTrait<float>>();
  DataCopy(a, from, 128);
  in.EnQue(a);
  a = in.DeQue<TensorTrait<float>>();
  Described<float> b = out.AllocTensor<TensorTrait<float>>();
  Described<half> h = more.Get<TensorTrait<half>>();
  Described<uint32_t> offsets = more.GetWithOffset<TensorTrait<uint32_t>>(64, 512);
  Described<uint8_t> bits = more.GetWithOffset<TensorTrait<uint8_t>>(256, 1024);
  Adds(b, a, 2.0f, 64, 1, {1, 1, 8, 8});
  Muls(b[64], a[64], 3.0f, 64);
  Cast(h, b, RoundMode::CAST_RINT, 64);
  Maxs(h, h, half(1), 64);
  Cast(b[128], h, RoundMode::CAST_NONE, 64);
  CreateVecIndex(more.GetWithOffset<int32_t>(64, 512), 0, 64);
  ShiftLeft(offsets, offsets, 2u, 64);
  Gather(b[64], b[64], offsets, 0, 64);
  Compare(bits, a, b, CMPMODE::LT, 64);
  Select(b[64], bits, b[64], 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);
  SetFlag<HardEvent::V_S>(EVENT_ID0);
  WaitFlag<HardEvent::V_S>(EVENT_ID0);
  const auto layout = MakeLayout(MakeShape(10, 20, 30), MakeStride(1, 100, 200));
  auto trait = MakeTensorTrait<float, TPosition::VECIN>(layout);
  LocalTensor<decltype(trait)> tensor;
  tensor.SetTensorTrait(trait);
  const float numbers[8] = {float(Std::get<1>(tensor.GetTensorTrait().GetLayout().GetShape())),
                            float(Std::get<2>(trait.GetStride())),
                            float(is_tensorTrait<decltype(trait)>::value),
                            float(is_tensorTrait<decltype(layout)>::value),
                            float(sizeof(TensorTrait<int8_t>)),
                            float(decltype(trait)::tPos == TPosition::VECIN),
                            float(b.GetSize()),
                            b.GetValue(64)};
  for (uint32_t i = 0; i < 64; ++i) b.SetValue(192 + i, i < 8 ? numbers[i] : 0.0f);
  out.EnQue(b);
  in.FreeTensor(a);
  b = out.DeQue<TensorTrait<float>>();
  DataCopy(to, b, 256);
  out.FreeTensor(b);
}

// x: 2 rows of 64. z: their running sums, and their softmax, by configurations that a class template has.
template <typename T>
struct Configured {
  static constexpr SoftmaxConfig kSoftmax = {true, 0, 0};
  __aicore__ void run(LocalTensor<T> to, LocalTensor<T> from) {
    static constexpr CumSumConfig rows = {true, false, false};
    ASCENDC_ASSERT((nothing_declares_it > 0), { KERNEL_LOG(KERNEL_ERROR, "%d", nothing_declares_it); });
    LocalTensor<T> last = to, sum = to[256], max = to[256 + 2 * 8];
    CumSum<T, rows>(to, last, from, CumSumInfo{2, 64});
    SoftMax<T, false, false, false, kSoftmax>(to[128], sum, max, from, SoftMaxTiling{}, SoftMaxShapeInfo{2, 64, 2, 64});
  }
};
extern "C" __global__ __aicore__ void configured_in_a_class(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, (128 + 256 + 32) * 4);
  LocalTensor<float> from = buffer.Get<float>();
  copy_in(from, x, 128);
  Configured<float>().run(from[128], from);
  copy_out(z, from[128], 256);
}

// x: 4 tiles of 64. z: the same, through two buffers that nothing computes with.
extern "C" __global__ __aicore__ void copied_through(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TQue<TPosition::VECCALC, 2> queue;
  pipe.InitBuffer(queue, 2, 256);
  for (int tile = 0; tile < 4; ++tile) {
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x) + tile * 64, 64);
    to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z) + tile * 64, 64);
    LocalTensor<float> t = queue.AllocTensor<float>();
    DataCopy(t, from, 64);
    queue.EnQue(t);
    t = queue.DeQue<float>();
    DataCopy(to, t, 64);
    queue.FreeTensor(t);
  }
}
