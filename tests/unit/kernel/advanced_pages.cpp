// The advanced functions as their pages say it.
#include "rows.h"

// x: 4 rows of 32, then indices of each. z: the two largest of each row, one after the other, and their indices.
extern "C" __global__ __aicore__ void top_of_small_rows(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 2048);
  LocalTensor<float> from = buffer.Get<float>(), to = from[256];
  LocalTensor<bool> none;
  TopkTiling tiling{};
  tiling.allDataSize = 128;
  TopKInfo info;
  info.outter = 4, info.inner = info.n = 32;
  copy_in(from, x, 256);
  TopK<float, true, false, false, TopKMode::TOPK_NSMALL>(to, to[8].ReinterpretCast<int32_t>(), from,
                                                         from[128].ReinterpretCast<int32_t>(), none, 2, tiling, info);
  copy_out(z, to, 16);
  info.inner = info.n = 64, info.outter = 2;
  TopK<float, true, false, false, TopKMode::TOPK_NSMALL>(to, to[8].ReinterpretCast<int32_t>(), from,
                                                         from[128].ReinterpretCast<int32_t>(), none, 2, tiling, info);
  info.inner = info.n = 32;
  TopK<float, true, true, false, TopKMode::TOPK_NSMALL>(to, to[8].ReinterpretCast<int32_t>(), from,
                                                        from[128].ReinterpretCast<int32_t>(), none, 2, tiling, info);
}

// x: 64 of bfloat16_t. z: the first half gated by the second.
extern "C" __global__ __aicore__ void gated(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 512);
  LocalTensor<bfloat16_t> from = buffer.Get<bfloat16_t>(), to = from[64];
  LocalTensor<uint8_t> work = buffer.Get<uint8_t>()[256];
  copy_in(from, x, 64);
  ReGlu(to, from, from[32], work, 32);
  copy_out(z, to, 32);
}

// x: 2 rows of 48 of half, of which 40 count. z: their means in half and, a block behind, in float.
extern "C" __global__ __aicore__ void means(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 512);
  LocalTensor<half> from = buffer.Get<half>(), to = from[96];
  const MeanParams rows{2, 48, 40};
  copy_in(from, x, 96);
  Duplicate(to, half(0), 32);
  Mean(to, from, rows);
  Mean<half, float>(to[16], from, rows);
  copy_out(z, to, 32);
}

// x: 128 of int4b_t, then a scale and an offset for each of 32 columns, of half. z: 4 rows of numbers, then the same of
// columns: k is 64, which two groups of scales share.
extern "C" __global__ __aicore__ void halves_of_bytes(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 2048);
  LocalTensor<half> from = buffer.Get<half>(), to = from[96], scales = from[32], offsets = from[64];
  LocalTensor<uint8_t> work = buffer.Get<uint8_t>()[1024];
  copy_in(from, x, 96);
  LocalTensor<int4b_t> halves = from.ReinterpretCast<int4b_t>();
  halves.SetSize(128);
  AscendAntiQuant<int4b_t, half, false>(to, halves, offsets, scales, work, 4, AntiQuantShapeInfo{1, 32, 1, 32});
  AscendAntiQuant<int4b_t, half, true>(to[128], halves, offsets, scales, 64, AntiQuantShapeInfo{2, 2, 2, 2});
  copy_out(z, to, 256);
  halves.SetSize(96);
  AscendAntiQuant<int4b_t, half, false>(to, halves, half(1), half(2), work, 4);
}

// x: 2 rows of 8 of int32_t. z: of each row 6 numbers times 2, and what follows.
extern "C" __global__ __aicore__ void rows_in_part(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 512);
  LocalTensor<float> all = buffer.Get<float>(), to = all[16];
  copy_in(all, x, 16);
  AscendDequant<float, float>(to, all.ReinterpretCast<int32_t>(), 2.0f, DequantParams{2, 8, 6});
  copy_out(z, to, 16);
  LocalTensor<half> wide = all.ReinterpretCast<half>();
  AscendQuant(to.ReinterpretCast<int8_t>(), wide, wide, wide, 32, 64, 32);
}

// x: 64 numbers. z: what comes of them in their own place.
extern "C" __global__ __aicore__ void in_their_place(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 256);
  LocalTensor<float> all = buffer.Get<float>();
  copy_in(all, x, 64);
  Gelu(all, all, 64);
  Round(all, all, 64);
  Trunc(all, all);
  Tanh(all, all);
  Swish(all, all, 64, 1.0f);
  Power(all, all, 2.0f);
  copy_out(z, all, 64);
}

// x: 2 rows of 16, of which 12 count. z: their softmax in place, then as a part of longer rows.
extern "C" __global__ __aicore__ void rows_with_a_rest(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 1024);
  LocalTensor<float> rows = buffer.Get<float>(), sums = rows[64], maxima = rows[96];
  const SoftMaxShapeInfo shape = {2, 16, 2, 12};
  copy_in(rows, x, 32);
  copy_in(rows[32], x, 32);
  SoftMax(rows, sums, maxima, rows, SoftMaxTiling{}, shape);
  SoftmaxFlashV2<float>(rows[32], sums, maxima, rows[32], sums, sums, maxima, SoftMaxTiling{}, shape);
  copy_out(z, rows, 64);
}

// x: 16 numbers, then means and variances so far of each. z: both after the numbers, of which 12 count, in place.
extern "C" __global__ __aicore__ void a_piece_of_a_row(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 1024);
  LocalTensor<float> all = buffer.Get<float>(), mean = all[16], spread = all[32], to = all[48];
  static constexpr WelfordUpdateConfig in_place = {true};
  copy_in(all, x, 48);
  WelfordUpdate<float, float, false, in_place>(mean, spread, mean, spread, all, WelfordUpdateParam{1, 16, 12, 0.5f});
  Duplicate(to, 7.0f, 32);
  WelfordUpdate<float, float>(to, to[16], mean, spread, all, WelfordUpdateParam{1, 16, 12, 0.5f});
  copy_out(z, mean, 64);
}
// What pages exclude: x[0] says which.
extern "C" __global__ __aicore__ void excluded(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 1024);
  LocalTensor<float> all = buffer.Get<float>(), to = all[128];
  copy_in(all, x, 64);
  DeepNormTiling wide{};
  wide.bLength = wide.sLength = 1, wide.hLength = 2048;
  WelfordFinalizePara head{1, 16, 1, 8, 1, 0, 1, 1, 1}, tail{1, 16, 1, 8, 0, 8, 1, 1, 1};
  switch (int(all.GetValue(0))) {
    case 0: return CumSum<float>(to, to, all, CumSumInfo{4, 6});
    case 1: return CumSum<float>(to, to, all, CumSumInfo{0, 8});
    case 2: return WelfordUpdate<float, float>(to, to, all, all, all, WelfordUpdateParam{2, 16, 8, 1.0f});
    case 3: return WelfordUpdate<float, float>(to, to, all, all, all, WelfordUpdateParam{1, 16, 0, 1.0f});
    case 4: return WelfordFinalize(to, to[8], all, all[16], head);
    case 5: return WelfordFinalize(to, to[8], all, all[16], tail);
    case 6: return DeepNorm(to, to, to, all, all, all, all, 1.0f, 1.0f, wide);
  }
}

// x: 64 numbers. z: FasterGeluV2 of them.
extern "C" __global__ __aicore__ void two_parabolas(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 256);
  LocalTensor<float> all = buffer.Get<float>();
  copy_in(all, x, 64);
  FasterGeluV2(all, all, 64);
  copy_out(z, all, 64);
}
