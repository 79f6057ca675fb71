// Kernels of many kinds, each over rows of 256 floats: r = f(a, b). Rows are dealt to the cores; what a kernel leaves of r is 0.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr int32_t kWidth = 256, kRows = 3;  // rows of each core
using Row = LocalTensor<float>;
using Work = TBuf<TPosition::VECCALC>;

// Part number `i` of the working memory, 256 elements of 4 bytes each.
template <typename T = float>
LocalTensor<T> part(Work& work, uint32_t i, uint32_t count = kWidth) {
  return work.GetWithOffset<T>(count, i * kWidth * 4);
}
// The scalar unit reads what the vector unit computed, and the other way round.
void vector_to_scalar() {
  SetFlag<HardEvent::V_S>(EVENT_ID0);
  WaitFlag<HardEvent::V_S>(EVENT_ID0);
}
void scalar_to_vector() {
  SetFlag<HardEvent::S_V>(EVENT_ID0);
  WaitFlag<HardEvent::S_V>(EVENT_ID0);
}
// A number stands for a bfloat16_t in the padding of a copy.
[[maybe_unused]] void pads_with_zeros(DataCopyPadExtParams<bfloat16_t>& padding) { padding.paddingValue = 0; }
float read(const Row& tensor, uint32_t i = 0) {
  vector_to_scalar();
  return tensor.GetValue(i);
}
// Places 0, 1, 2 … of a Gather, in bytes, moved by `shift` elements around the row.
LocalTensor<uint32_t> places(Work& work, uint32_t i, int32_t factor, int32_t shift) {
  LocalTensor<int32_t> index = part<int32_t>(work, i);
  CreateVecIndex(index, int32_t(0), kWidth);
  Muls(index, index, int32_t(factor * 4), kWidth);
  Adds(index, index, int32_t(shift * 4), kWidth);
  return index.ReinterpretCast<uint32_t>();
}

void rows(GM_ADDR x, GM_ADDR y, GM_ADDR z, void (*compute)(Row&, Row&, Row&, Work&)) {
  TPipe pipe;
  TQue<TPosition::VECIN, 2> aQueue, bQueue;
  TQue<TPosition::VECOUT, 2> rQueue;
  Work work;
  pipe.InitBuffer(aQueue, 2, kWidth * 4);
  pipe.InitBuffer(bQueue, 2, kWidth * 4);
  pipe.InitBuffer(rQueue, 2, kWidth * 4);
  pipe.InitBuffer(work, 16 * kWidth * 4);
  for (int32_t i = 0; i < kRows; ++i) {
    const uint64_t first = (GetBlockIdx() * kRows + i) * kWidth;
    GlobalTensor<float> gx, gy, gz;
    gx.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x) + first, kWidth);
    gy.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y) + first, kWidth);
    gz.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z) + first, kWidth);
    Row a = aQueue.AllocTensor<float>(), b = bQueue.AllocTensor<float>();
    DataCopy(a, gx, kWidth);
    DataCopy(b, gy, kWidth);
    aQueue.EnQue(a), bQueue.EnQue(b);
    a = aQueue.DeQue<float>(), b = bQueue.DeQue<float>();
    Row r = rQueue.AllocTensor<float>();
    Duplicate(r, 0.0f, kWidth);
    compute(r, a, b, work);
    aQueue.FreeTensor(a), bQueue.FreeTensor(b);
    rQueue.EnQue(r);
    r = rQueue.DeQue<float>();
    DataCopy(gz, r, kWidth);
    rQueue.FreeTensor(r);
  }
}

// x - max(x) and the sum of its exponentials, both of `count` elements, as softmax needs them.
float exponentials(const Row& to, const Row& from, const Row& work, const Row& one, int32_t count) {
  ReduceMax(one, from, work, count);
  Adds(to, from, -read(one), count);
  Exp(to, to, count);
  ReduceSum(one, to, work, count);
  return read(one);
}

}  // namespace

#define KERNEL(name, ...)                                                                          \
  extern "C" __global__ __aicore__ void name(GM_ADDR x, GM_ADDR y, GM_ADDR z) {                     \
    rows(x, y, z, [](Row& r, Row& a, [[maybe_unused]] Row& b, [[maybe_unused]] Work& w) { __VA_ARGS__; }); \
  }

// ---- elementwise ----
KERNEL(add, Add(r, a, b, kWidth))
KERNEL(subtract, Sub(r, a, b, kWidth))
KERNEL(multiply, Mul(r, a, b, kWidth))
KERNEL(divide, Adds(r, b, 10.0f, kWidth); Div(r, a, r, kWidth))
KERNEL(maximum, Max(r, a, b, kWidth))
KERNEL(minimum, Min(r, a, b, kWidth))
KERNEL(axpy, Axpy(b, a, 2.0f, kWidth); Adds(r, b, 0.0f, kWidth))
KERNEL(affine, Muls(r, a, 3.0f, kWidth); Adds(r, r, -1.0f, kWidth))
KERNEL(absolute, Abs(r, a, kWidth))
KERNEL(exponential, Exp(r, a, kWidth))
KERNEL(log1p_abs, Abs(r, a, kWidth); Adds(r, r, 1.0f, kWidth); Ln(r, r, kWidth))
KERNEL(root, Abs(r, a, kWidth); Sqrt(r, r, kWidth))
KERNEL(inverse_root, Abs(r, a, kWidth); Adds(r, r, 1.0f, kWidth); Rsqrt(r, r, kWidth))
KERNEL(reciprocal, Mul(r, a, a, kWidth); Adds(r, r, 1.0f, kWidth); Reciprocal(r, r, kWidth))
KERNEL(relu, Relu(r, a, kWidth))
KERNEL(leaky_relu, LeakyRelu(r, a, 0.1f, kWidth))
KERNEL(clamp, Mins(r, a, 1.0f, kWidth); Maxs(r, r, -1.0f, kWidth))
KERNEL(silu, Muls(r, a, -1.0f, kWidth); Exp(r, r, kWidth); Adds(r, r, 1.0f, kWidth); Div(r, a, r, kWidth))
KERNEL(gelu, Mul(r, a, a, kWidth); Mul(r, r, a, kWidth); Muls(r, r, 0.044715f, kWidth); Add(r, r, a, kWidth);
       Muls(r, r, -1.5957691216f, kWidth); Exp(r, r, kWidth); Adds(r, r, 1.0f, kWidth); Div(r, a, r, kWidth))
KERNEL(softplus, Exp(r, a, kWidth); Adds(r, r, 1.0f, kWidth); Ln(r, r, kWidth))
KERNEL(hardswish, Adds(r, a, 3.0f, kWidth); Maxs(r, r, 0.0f, kWidth); Mins(r, r, 6.0f, kWidth); Muls(r, r, 1.0f / 6, kWidth);
       Mul(r, r, a, kWidth))
KERNEL(tanh_of, Tanh(r, a, kWidth))
KERNEL(sigmoid_of, Sigmoid(r, a, kWidth))
KERNEL(error_function, Erf(r, a, kWidth))
KERNEL(squared_by_power, Power(r, a, 2.0f, kWidth))
KERNEL(floor_of, Floor(r, a, kWidth))
KERNEL(masked, Muls(r, a, 2.0f, uint64_t(32), uint8_t(4), UnaryRepeatParams(1, 1, 8, 8)))

// ---- comparison and selection ----
KERNEL(greater_of_two, Compare(part<uint8_t>(w, 0), a, b, CMPMODE::GT, kWidth);
       Select(r, part<uint8_t>(w, 0), a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, kWidth))
KERNEL(only_positive, CompareScalar(part<uint8_t>(w, 0), a, 0.0f, CMPMODE::GE, kWidth);
       Select(r, part<uint8_t>(w, 0), a, -5.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, kWidth))

// ---- types ----
KERNEL(add_in_half, LocalTensor<half> p = part<half>(w, 0), q = part<half>(w, 1); Cast(p, a, RoundMode::CAST_RINT, kWidth);
       Cast(q, b, RoundMode::CAST_RINT, kWidth); Add(p, p, q, kWidth); Cast(r, p, RoundMode::CAST_NONE, kWidth))
KERNEL(through_bfloat16, Cast(part<bfloat16_t>(w, 0), a, RoundMode::CAST_RINT, kWidth);
       Cast(r, part<bfloat16_t>(w, 0), RoundMode::CAST_NONE, kWidth))
KERNEL(integers, LocalTensor<int32_t> p = part<int32_t>(w, 0); Muls(r, a, 100.0f, kWidth); Cast(p, r, RoundMode::CAST_TRUNC, kWidth);
       ShiftRight(p, p, int32_t(2), kWidth); Cast(r, p, RoundMode::CAST_NONE, kWidth))
KERNEL(dequantize, LocalTensor<int32_t> p = part<int32_t>(w, 0); LocalTensor<half> h = part<half>(w, 1); Muls(r, a, 100.0f, kWidth);
       Cast(p, r, RoundMode::CAST_TRUNC, kWidth); SetDeqScale(half(0.25f)); Cast(h, p, RoundMode::CAST_FLOOR, kWidth);
       Cast(r, h, RoundMode::CAST_NONE, kWidth))
KERNEL(low_bits, LocalTensor<int16_t> p = part<int16_t>(w, 0), q = part<int16_t>(w, 1); LocalTensor<half> h = part<half>(w, 2);
       Muls(r, a, 100.0f, kWidth); Cast(h, r, RoundMode::CAST_RINT, kWidth); Cast(p, h, RoundMode::CAST_RINT, kWidth);
       Duplicate(q, int16_t(15), kWidth); And(p, p, q, kWidth); Cast(h, p, RoundMode::CAST_NONE, kWidth);
       Cast(r, h, RoundMode::CAST_NONE, kWidth))
KERNEL(quantize, Row one = part(w, 0); LocalTensor<half> h = part<half>(w, 1); LocalTensor<int8_t> q = part<int8_t>(w, 2);
       Abs(r, a, kWidth); ReduceMax(one, r, part(w, 3), kWidth); const float scale = read(one) / 127.0f;
       Muls(r, a, 1.0f / scale, kWidth); Cast(h, r, RoundMode::CAST_RINT, kWidth); Cast(q, h, RoundMode::CAST_RINT, kWidth);
       Cast(h, q, RoundMode::CAST_NONE, kWidth); Cast(r, h, RoundMode::CAST_NONE, kWidth); Muls(r, r, scale, kWidth))

// ---- reductions and what is made of them ----
KERNEL(row_sum, ReduceSum(r, a, part(w, 0), kWidth))
KERNEL(row_max_and_place, ReduceMax(r, a, part(w, 0), kWidth, true))
KERNEL(row_min, ReduceMin(r, a, part(w, 0), kWidth))
KERNEL(sums_of_eight, BlockReduceSum(r, a, 4, 64, 1, 1, 8))
KERNEL(sums_of_64, WholeReduceSum(r, a, 64, 4, 1, 1, 8))
// A comparison covers whole repeats, also what lies behind a tail and was never computed.
KERNEL(mask_of_a_tail, Row x = part(w, 0); Adds(x, a, 0.0f, 37); auto mask = part<uint8_t>(w, 1); CompareScalar(mask, x, 0.0f, CMPMODE::GT, 64);
       Select(r, mask, x, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 37))
// From left to right the first of these sums would be one more, and the second 2176.
KERNEL(sums_two_by_two, Row x = part(w, 0); Duplicate(x, 1.0f, kWidth); vector_to_scalar(); x.SetValue(0, 1e8f); x.SetValue(2, -1e8f);
       scalar_to_vector(); ReduceSum(r, x, part(w, 1), kWidth))
KERNEL(half_sums_two_by_two, auto x = part<half>(w, 0); auto y = part<half>(w, 1); Duplicate(x, half(1.0f), 128); vector_to_scalar();
       x.SetValue(0, half(2048.0f)); scalar_to_vector(); WholeReduceSum(y, x, 128, 1, 1, 1, 8); Cast(r, y, RoundMode::CAST_NONE, 1))
KERNEL(mean_and_variance, Row one = part(w, 0); ReduceSum(one, a, part(w, 1), kWidth); const float mean = read(one) / kWidth;
       Adds(part(w, 2), a, -mean, kWidth); Mul(part(w, 2), part(w, 2), part(w, 2), kWidth);
       ReduceSum(one, part(w, 2), part(w, 1), kWidth); const float variance = read(one) / kWidth; Duplicate(r, mean, 8);
       Duplicate(r[8], variance, 8))
KERNEL(softmax, const float sum = exponentials(r, a, part(w, 1), part(w, 0), kWidth); Muls(r, r, 1.0f / sum, kWidth))
KERNEL(log_softmax, Row one = part(w, 0); const float sum = exponentials(r, a, part(w, 1), one, kWidth); Duplicate(part(w, 2), sum, 8);
       Ln(part(w, 2), part(w, 2), 8); ReduceMax(one, a, part(w, 1), kWidth);
       Adds(r, a, -read(one) - read(part(w, 2)), kWidth))
KERNEL(layer_norm, Row one = part(w, 0); ReduceSum(one, a, part(w, 1), kWidth); Adds(r, a, -read(one) / kWidth, kWidth);
       Mul(part(w, 2), r, r, kWidth); ReduceSum(one, part(w, 2), part(w, 1), kWidth); Muls(one, one, 1.0f / kWidth, 1);
       Adds(one, one, 1e-5f, 1); Sqrt(one, one, 1); Muls(r, r, 1.0f / read(one), kWidth); Mul(r, r, b, kWidth))
KERNEL(rms_norm, Row one = part(w, 0); Mul(r, a, a, kWidth); ReduceSum(one, r, part(w, 1), kWidth); Muls(one, one, 1.0f / kWidth, 1);
       Sqrt(one, one, 1); Muls(r, a, 1.0f / read(one), kWidth); Mul(r, r, b, kWidth))

// ---- moves ----
KERNEL(reversed, Gather(r, a, places(w, 0, -1, kWidth - 1), 0, kWidth))
KERNEL(rolled, LocalTensor<int32_t> p = places(w, 0, 1, 3).ReinterpretCast<int32_t>(); vector_to_scalar();
       for (int i = kWidth - 3; i < kWidth; ++i) p.SetValue(i, (i + 3 - kWidth) * 4); scalar_to_vector();
       Gather(r, a, p.ReinterpretCast<uint32_t>(), 0, kWidth))
KERNEL(even_elements, uint64_t kept = 0; GatherMask(r, a, uint8_t(1), false, 0, GatherMaskParams(1, 4, 8, 0), kept))
KERNEL(picked_by_bits, uint64_t kept = 0; LocalTensor<uint32_t> p = part<uint32_t>(w, 0); Duplicate(p, 0x99999999u, 8);
       Duplicate(p[8], 0x11111111u, 8); Duplicate(r, 0.0f, kWidth); GatherMask(r, a, p, true, 64, {1, 4, 8, 0}, kept);
       GatherMask(r[kWidth / 2], a, p, true, 64, {1, 2, 8, 1}, kept))
KERNEL(sign_bits, LocalTensor<int32_t> p = part<int32_t>(w, 0); Cast(p, a, RoundMode::CAST_FLOOR, kWidth);
       auto& bits = *reinterpret_cast<LocalTensor<uint32_t>*>(&p); ShiftRight(bits, bits, 31u, kWidth);
       Cast(r, p, RoundMode::CAST_NONE, kWidth))
KERNEL(each_eight_times, Brcb(r, a, 4, BrcbRepeatParams(1, 8)))
KERNEL(transpose, LocalTensor<half> p = part<half>(w, 0), q = part<half>(w, 1); Cast(p, a, RoundMode::CAST_RINT, kWidth);
       Transpose(q, p); Cast(r, q, RoundMode::CAST_NONE, kWidth))
KERNEL(scatter, vector_to_scalar(); for (int i = 0; i < 64; ++i) r.SetValue((i * 37) % kWidth, a.GetValue(i)); scalar_to_vector())
KERNEL(running_sum, vector_to_scalar(); float sum = 0; for (int i = 0; i < kWidth; ++i) r.SetValue(i, sum += a.GetValue(i));
       scalar_to_vector())
KERNEL(three_taps, Row left = part(w, 1), right = part(w, 2); LocalTensor<int32_t> p = places(w, 0, 1, -1).ReinterpretCast<int32_t>();
       Maxs(p, p, int32_t(0), kWidth); Gather(left, a, p.ReinterpretCast<uint32_t>(), 0, kWidth);
       p = places(w, 0, 1, 1).ReinterpretCast<int32_t>(); Mins(p, p, int32_t((kWidth - 1) * 4), kWidth);
       Gather(right, a, p.ReinterpretCast<uint32_t>(), 0, kWidth); Add(r, left, right, kWidth); Muls(r, r, 0.25f, kWidth);
       Axpy(r, a, 0.5f, kWidth))

// ---- sorting ----
KERNEL(sorted, LocalTensor<uint32_t> index = part<uint32_t>(w, 0); Row pairs = part(w, 1, 512), temporary = part(w, 3, 512);
       CreateVecIndex(index.ReinterpretCast<int32_t>(), int32_t(0), kWidth); Sort<float, true>(pairs, a, index, temporary, kWidth / 32);
       Extract(r, index, pairs, kWidth / 32))
KERNEL(eight_largest_places, LocalTensor<uint32_t> index = part<uint32_t>(w, 0); Row pairs = part(w, 1, 512), temporary = part(w, 3, 512);
       CreateVecIndex(index.ReinterpretCast<int32_t>(), int32_t(0), kWidth); Sort<float, true>(pairs, a, index, temporary, kWidth / 32);
       Extract(part(w, 5), index, pairs, kWidth / 32); Cast(r, index.ReinterpretCast<int32_t>(), RoundMode::CAST_NONE, 8))

// ---- matrices: a and b are 16 by 16; for attention 16 tokens of 16, the values are the queries ----
KERNEL(matmul, vector_to_scalar(); for (int i = 0; i < 16; ++i) for (int k = 0; k < 16; ++k)
           Axpy(r[i * 16], b[k * 16], a.GetValue(i * 16 + k), 16))
KERNEL(attention, Row scores = part(w, 0), one = part(w, 1), work = part(w, 2), products = part(w, 3);
       for (int i = 0; i < 16; ++i) {
         for (int j = 0; j < 16; ++j) {
           Mul(products, a[i * 16], b[j * 16], 16);
           ReduceSum(one, products, work, 16);
           const float score = read(one) * 0.25f;
           scores.SetValue(j, score);
         }
         scalar_to_vector();
         const float sum = exponentials(scores, scores, work, one, 16);
         for (int j = 0; j < 16; ++j) Axpy(r[i * 16], a[j * 16], read(scores, j) / sum, 16);
       })

// ---- formulas over whole tensors ----
KERNEL(gelu_of, Gelu(r, a, kWidth))
KERNEL(faster_gelu_of, FasterGelu(r, a, part<uint8_t>(w, 0), kWidth))
KERNEL(gated_gelu, GeGLU(r, a, b))
KERNEL(gated_relu, ReGlu(r, a, b, part<uint8_t>(w, 0), kWidth))
KERNEL(gated_swish, SwiGLU(r, a, b, 2.0f, uint32_t(kWidth)))
KERNEL(swish_of, Swish(r, a, kWidth, 2.0f))
KERNEL(exponential_of, Exp<float, 10>(r, a, part<uint8_t>(w, 0), kWidth))
KERNEL(at_most, ClampMax(r, a, part<uint8_t>(w, 0), 0.5f, kWidth))
KERNEL(powers, Abs(part(w, 0), a, kWidth); Power(r, part(w, 0), 3.0f, part<uint8_t>(w, 1)))
KERNEL(cumulated, Row last = part(w, 0); static constexpr CumSumConfig by_rows{false, false, false}; CumSum<float, by_rows>(r, last, a, CumSumInfo{4, 64}))
KERNEL(columns_broadcast, const uint32_t to[] = {16, 16}, from[] = {16, 1}; Broadcast<float, 2, 1>(r, a, to, from))
KERNEL(padded, PadParams p(0, 1, 7); PadTiling t{16, 15, 15}; Pad(r, a, p, t))
KERNEL(unpadded, UnPadParams p(0, 1); UnPadTiling t{16, 16}; UnPad(r, a, p, t))
KERNEL(gradient_of_softmax, SoftMaxTiling t{}; t.srcM = 4, t.srcK = 64; SoftmaxGrad(r, a, b, t))
KERNEL(dropped, LocalTensor<uint16_t> every_second = part<uint16_t>(w, 0); Duplicate(every_second, uint16_t(1), 128); DropOutShapeInfo info;
       info.firstAxis = 1, info.srcLastAxis = kWidth, info.maskLastAxis = kWidth;
       DropOut(r, a, every_second.ReinterpretCast<uint8_t>(), part<uint8_t>(w, 1), 0.5f, info))
KERNEL(chosen_by_bytes, LocalTensor<uint16_t> every_second = part<uint16_t>(w, 0); Duplicate(every_second, uint16_t(1), 128);
       SelectWithBytesMaskShapeInfo info; info.firstAxis = 1, info.srcLastAxis = kWidth, info.maskLastAxis = kWidth;
       Select(r, a, -5.0f, every_second.ReinterpretCast<uint8_t>(), part<uint8_t>(w, 1), info))
KERNEL(blocks_backwards, LocalTensor<int32_t> p = part<int32_t>(w, 0); CreateVecIndex(p, int32_t(0), 32); Muls(p, p, int32_t(-32), 32);
       Adds(p, p, int32_t(31 * 32), 32);
       Gatherb(r.ReinterpretCast<uint32_t>(), a.ReinterpretCast<uint32_t>(), p.ReinterpretCast<uint32_t>(), 4, GatherRepeatParams{1, 8}))
KERNEL(sum_from_the_register, ReduceSum(part(w, 0), a, part(w, 1), kWidth); vector_to_scalar(); const float sum = GetReduceRepeatSumSpr<float>();
       scalar_to_vector(); Duplicate(r, sum, 8); const uint64_t bits = GetAccVal(); Duplicate(r[8], *reinterpret_cast<const float*>(&bits), ONE_BLK_FLOAT_NUM))
KERNEL(greatest_from_the_register, ReduceRepeat<ReduceType::MAX>(part(w, 0), a, 64, 4, 1, 1, 8); vector_to_scalar(); float most = 0, at = 0, least = 0, no = 0;
       GetReduceRepeatMaxMinSpr(most, at); ReduceMin(part(w, 0), a, part(w, 1), kWidth); vector_to_scalar(); GetReduceMaxMinCount(least, no);
       scalar_to_vector(); Duplicate(r, most, 8); Duplicate(r[8], float(*reinterpret_cast<uint32_t*>(&at)), 8); Duplicate(r[16], least, 8))
KERNEL(sums_of_even_lanes, uint64_t even[] = {0x5555555555555555ull, 0}; ReduceRepeat<ReduceType::SUM>(r, a, even, 4, 1, 1, 8))
KERNEL(sums_of_few_lanes, AscendCUtils::SetMask<float>(40); WholeReduceSum<float, false>(r, a, 0, 2, 1, 1, 8); PipeBarrier<PIPE_V>();
       AscendCUtils::SetMask<float>(0, 0xf0); WholeReduceSum<float, false>(r[8], a, 0, AscendCUtils::GetC0Count(16), 1, 1, 8); ResetMask())
KERNEL(sums_in_counter_mode, SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(0, kWidth - 32);
       ReduceRepeat<ReduceType::SUM, float, float, false>(r, a, int32_t(MASK_PLACEHOLDER), 1, 1, 1, 8); SetMaskNorm(); ResetMask())

// ---- masks ----
KERNEL(masks_in_counter_mode, SetMaskCount(); Adds(r, a, 1.0f, 70, 1, {1, 1, 8, 8}); uint64_t mask[] = {20, 0}; Muls(r[128], a, 2.0f, mask, 1, {2, 1, 16, 8});
       SetMaskNorm(); ResetMask())
KERNEL(masks_from_outside, SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(100); Adds<float, false>(r, a, 1.0f, 1); SetMaskNorm();
       SetVectorMask<float, MaskMode::NORMAL>(0, 0xf0); Muls<float, false>(r[128], a, 2.0f, 1); ResetMask())
KERNEL(masks_from_calls, Adds(r, a, 1.0f, 8, 1, {1, 1, 8, 8}); Muls<float, false>(r[64], a, 2.0f, MASK_PLACEHOLDER, 2, {1, 1, 8, 8}); SetMaskCount();
       SetVectorMask<float, MaskMode::COUNTER>(0, 8); Adds(r[192], a, 1.0f, 8); Muls<float, false>(r[192], a, 2.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8}))
KERNEL(copies_in_counter_mode, SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(0, 72); Copy<float, false>(r, a, MASK_PLACEHOLDER, 2, {1, 1, 16, 10});
       SetMaskNorm(); ResetMask())
KERNEL(gather_mask_ends_counting, uint64_t kept = 0; SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(0, 8); GatherMask(r, a, uint8_t(1), true, 64u, {1, 1, 8, 0}, kept);
       Adds<float, false>(r[64], a, 1.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8}))
KERNEL(sum_of_a_mask_from_outside, SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(0, 70); ReduceSum<float, false>(r, a, part(w, 0), 1); SetMaskNorm(); ResetMask();
       vector_to_scalar(); const float sum = GetReduceRepeatSumSpr<float>(); scalar_to_vector(); Duplicate(r[8], sum, 8))

KERNEL(chosen_by_an_address, LocalTensor<uint8_t> bits = part<uint8_t>(w, 0); LocalTensor<uint32_t> where = part<uint32_t>(w, 1); Compare(bits, a, b, CMPMODE::LT, kWidth);
       Duplicate(where, uint32_t(bits.GetPhyAddr()), 8); SetCmpMask(where); SetVectorMask<float>(64);
       Select<float, SELMODE::VSEL_TENSOR_TENSOR_MODE>(r, a, b, 4, {1, 1, 1, 8, 8, 8}); ResetMask())
KERNEL(chosen_as_before, LocalTensor<uint8_t> bits = part<uint8_t>(w, 0); Duplicate(bits.ReinterpretCast<uint16_t>(), uint16_t(0x00ff), 16);
       Select(r[64], bits, a, b, SELMODE::VSEL_CMPMASK_SPR, 64); SetVectorMask<float>(64);
       Select<float, SELMODE::VSEL_CMPMASK_SPR>(r, a, b, 1, {1, 1, 1, 8, 8, 8}); ResetMask())

// Twelve of 16 columns, as fractals; what fills the last one up is 0.
extern "C" __global__ __aicore__ void fractals_from_rows(GM_ADDR x, GM_ADDR, GM_ADDR z) {
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, kWidth * 4);
  for (int32_t i = 0; i < kRows; ++i) {
    const uint64_t first = (GetBlockIdx() * kRows + i) * kWidth;
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x) + first, kWidth);
    to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z) + first, kWidth);
    Row t = queue.AllocTensor<float>();
    DataCopy(t, from, Nd2NzParams{1, 16, 12, 0, 16, 16, 1, 0});
    queue.EnQue(t);
    t = queue.DeQue<float>();
    DataCopy(to, t, kWidth);
    queue.FreeTensor(t);
  }
}

// ---- what lies over something else, and whole numbers ----
KERNEL(gather_in_place, LocalTensor<uint32_t> p = places(w, 0, -1, 63); Adds(r, a, 0.0f, 64); Gather(r, r, p, 0, 64))
KERNEL(transpose_in_place, LocalTensor<uint16_t> h = part<uint16_t>(w, 0); LocalTensor<uint8_t> none = part<uint8_t>(w, 2); Cast(h.ReinterpretCast<half>(), a, RoundMode::CAST_RINT, kWidth);
       Transpose(h, h, none, TransposeParamsExt(0, 0, 16, 16, TransposeType::TRANSPOSE_ND2ND_B16));
       Transpose(h, h, none, TransposeParamsExt(0, 4, 2, 8, TransposeType::TRANSPOSE_NCHW2NHWC));
       Transpose(h, h, none, TransposeParamsExt(1, 4, 2, 8, TransposeType::TRANSPOSE_TYPE_NONE)); Cast(r, h.ReinterpretCast<half>(), RoundMode::CAST_NONE, kWidth))
KERNEL(bits_of_32, LocalTensor<int32_t> i = part<int32_t>(w, 0); LocalTensor<int32_t> m = part<int32_t>(w, 1); Cast(i, a, RoundMode::CAST_TRUNC, kWidth); Duplicate(m, 3, kWidth);
       And(i, i, m, 128); LocalTensor<int32_t> rest = i[128]; LocalTensor<int32_t> bits = m[128]; rest.SetSize(128); bits.SetSize(128); rest = rest | bits;
       Cast(r, i, RoundMode::CAST_NONE, kWidth))

// ---- quantization ----
#define TO_FLOATS(halves) Cast(r, halves, RoundMode::CAST_NONE, kWidth)
#define BYTES_TO_FLOATS(bytes) Cast(part<half>(w, 1), bytes, RoundMode::CAST_NONE, kWidth); TO_FLOATS(part<half>(w, 1))
KERNEL(quantized_by_one, LocalTensor<int8_t> q = part<int8_t>(w, 0); AscendQuant(q, a, 10.0f, 0.5f, uint32_t(kWidth)); BYTES_TO_FLOATS(q))
KERNEL(quantized_by_channel, LocalTensor<int8_t> q = part<int8_t>(w, 0); AscendQuant(q, a, part<uint8_t>(w, 2), b, b[32], 32u, 32u, uint32_t(kWidth));
       BYTES_TO_FLOATS(q))
KERNEL(dequantized, LocalTensor<int32_t> q = part<int32_t>(w, 0); Cast(q, a, RoundMode::CAST_TRUNC, kWidth);
       AscendDequant(r, q, b, DequantParams{8, 32, 16}))
KERNEL(antiquantized, LocalTensor<int8_t> q = part<int8_t>(w, 0); AscendQuant(q, a, 10.0f, 0.0f, uint32_t(kWidth)); LocalTensor<half> by = part<half>(w, 2);
       Cast(by, b, RoundMode::CAST_RINT, 64); q.SetSize(kWidth);
       AscendAntiQuant<int8_t, half, false>(part<half>(w, 3), q, by[32], by, 8u, AntiQuantShapeInfo{1, 32, 1, 32}); TO_FLOATS(part<half>(w, 3)))
KERNEL(four_bits, LocalTensor<half> h = part<half>(w, 0); LocalTensor<int4b_t> q = part<int8_t>(w, 1).ReinterpretCast<int4b_t>();
       Cast(h, a, RoundMode::CAST_RINT, kWidth); Cast(q, h, RoundMode::CAST_RINT, kWidth); Cast(h, q, RoundMode::CAST_NONE, kWidth); TO_FLOATS(h))

// ---- normalizations: four rows of 64 ----
#define FOUR_ROWS(Tiling) Tiling t{}; t.bLength = 1, t.sLength = 4, t.hLength = 64
KERNEL(rows_normalized, LayerNormSeparateTiling t{}; t.aLength = 4, t.rLength = 64;
       LayerNorm<float, float>(r, part(w, 0), part(w, 1), a, b, b[64], 1e-5f, LayerNormPara{4, 60, 64}, t))
KERNEL(with_given_moments, Duplicate(part(w, 0), 0.5f, 8); Duplicate(part(w, 1), 2.0f, 8);
       Normalize<float, float>(r, part(w, 2), part(w, 0), part(w, 1), a, b, b[64], part<uint8_t>(w, 3), 1e-5f, NormalizePara{4, 64, 64}))
KERNEL(deep_norm, FOUR_ROWS(DeepNormTiling); DeepNorm(r, part(w, 0), part(w, 1), a, b, b, b[64], 2.0f, 1e-5f, t))
KERNEL(gradient_of_layer_norm, FOUR_ROWS(LayerNormGradTiling); Duplicate(part(w, 0), 2.0f, 8); Duplicate(part(w, 1), 0.25f, 8);
       LayerNormGrad(r, part(w, 2), a, b, part(w, 0), part(w, 1), b, 1e-5f, t))
KERNEL(gradients_of_gamma_and_beta, FOUR_ROWS(LayerNormGradBetaTiling); LayerNormGradBeta(r, r[64], a, b, t))
KERNEL(batch_norm, BatchNormTiling t{}; t.originalBLength = 4, t.shCurLength = 64; BatchNorm(r, part(w, 0), part(w, 1), a, b, b[8], 1e-5f, t))
KERNEL(group_norm, GroupNormTiling t{}; t.n = 1, t.c = 4, t.g = 2, t.d = 2, t.hw = 60, t.hwAlignSize = 64;
       GroupNorm(r, part(w, 0), part(w, 1), a, b, b[8], 1e-5f, t))
KERNEL(moments_in_pieces, Row m = part(w, 0), v = part(w, 1), m2 = part(w, 2), v2 = part(w, 3); Duplicate(m, 0.0f, 64); Duplicate(v, 0.0f, 64);
       WelfordUpdate<float, float>(m2, v2, m, v, a, WelfordUpdateParam{1, 64, 64, 1.0f});
       WelfordUpdate<float, float>(m, v, m2, v2, a[64], WelfordUpdateParam{1, 64, 64, 0.5f});
       WelfordFinalizePara p{2, 64, 2, 64, 0, 0, 1.0f / 64, 1.0f / 128, 0}; WelfordFinalize(r, r[8], m, v, p))

// Masks in two types, combined as bytes: 16 numbers of 8 bits are 16 lanes of 16 bits, the whole mask of a row.
KERNEL(chosen_by_masks_of_bytes, LocalTensor<uint16_t> above = part<uint16_t>(w, 0); LocalTensor<uint8_t> below = part<uint8_t>(w, 1);
       CompareScalar(above, a, 0.0f, CMPMODE::GT, kWidth); CompareScalar(below, b, 0.5f, CMPMODE::LT, kWidth);
       LocalTensor<uint8_t> both = part<uint8_t>(w, 2), either = part<uint8_t>(w, 3); And(both, above.ReinterpretCast<uint8_t>(), below, 16);
       Or(either, above.ReinterpretCast<uint8_t>(), below, 16); Select(r, both, a, 2.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, kWidth);
       Select(r, either, r, -2.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, kWidth))

// Of the last of eight pairs of bytes one was never computed, and nobody takes it.
KERNEL(low_bytes_of_pairs, LocalTensor<half> h = part<half>(w, 0); Row x = part(w, 1); LocalTensor<uint8_t> bytes = part<uint8_t>(w, 2);
       LocalTensor<uint16_t> pairs = bytes.ReinterpretCast<uint16_t>(); Abs(x, a, 16); Muls(x, x, 20.0f, 16);
       Cast(h, x, RoundMode::CAST_RINT, 16); Cast(bytes, h, RoundMode::CAST_TRUNC, 15); ShiftLeft(pairs, pairs, uint16_t(8), 8);
       ShiftRight(pairs, pairs, uint16_t(8), 8); Cast(h, pairs.ReinterpretCast<int16_t>(), RoundMode::CAST_NONE, 8);
       Cast(r, h, RoundMode::CAST_NONE, 8))

// ---- other orders ----
// Rows of 512 halves, a and b, eight times; of the first one, what becomes of a.
KERNEL(softmax_shifted_by_means, LocalTensor<half> x = w.GetWithOffset<half>(4096, 0);
       for (int i = 0; i < 16; ++i) Cast(x[i * kWidth], i % 2 ? b : a, RoundMode::CAST_RINT, kWidth);
       SoftMaxTiling t{}; t.srcM = 8, t.srcK = 512; const SoftMaxParams p{8, 512, 8, 512, 1, 8, 0.9375f}; Row n = part(w, 12);
       SoftmaxFlashV3<half, float>(x, part(w, 8), part(w, 9), part(w, 10), x, part<half>(w, 11), n, n, n, t, p); TO_FLOATS(x))
// The sum, the maximum, the factor and the part's maximum of each row, one number a row; the tiling is the kernel's own.
KERNEL(softmax_in_parts_packed, static constexpr SoftmaxConfig packed{false, 0, 0, SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC};
       const SoftMaxShapeInfo s{4, 64, 4, 64}; constexpr auto t = SoftMaxFlashV2TilingFunc(SoftMaxShapeInfo{4, 64, 4, 64}, 4, 4, 4096, true);
       Row y = part(w, 4); SoftmaxFlashV2<float, false, false, false, false, packed>(y, r, r[8], a, r[16], r, r[8], t, s);
       SoftmaxFlashV2<float, true, false, false, false, packed>(y, r[24], r, r[8], b, r[16], r, r[8], part<uint8_t>(w, 5, 8192), t);
       DataCopy(r[64], y, 192))
KERNEL(fractals_to_rows, LocalTensor<half> x = part<half>(w, 0, 512), y = part<half>(w, 1, 512); Cast(x, a, RoundMode::CAST_RINT, kWidth);
       Cast(x[kWidth], b, RoundMode::CAST_RINT, kWidth); ConfusionTransposeTiling t{}; t.param0 = 1, t.param1 = 2, t.param2 = 16, t.param3 = 16;
       Transpose(y, x, TransposeType::TRANSPOSE_NZ2ND_0213, t); TO_FLOATS(y))
KERNEL(fractals_merged, LocalTensor<half> x = part<half>(w, 0, 512), y = part<half>(w, 1, 512); Cast(x, a, RoundMode::CAST_RINT, kWidth);
       Cast(x[kWidth], b, RoundMode::CAST_RINT, kWidth); ConfusionTransposeTiling t{}; t.param0 = 1, t.param1 = 2, t.param2 = 16, t.param3 = 16;
       Transpose(y, x, TransposeType::TRANSPOSE_NZ2NZ_012_WITHOUT_N, t); Transpose(x, y, TransposeType::TRANSPOSE_NZ2ND_012_WITHOUT_N, t); TO_FLOATS(x))
KERNEL(channels_last, static constexpr TransDataConfig config{DataFormat::NCDHW, DataFormat::NDC1HWC0}; LocalTensor<half> x = part<half>(w, 0);
       const auto from = MakeLayout(MakeShape(1, 16, 1, 4, 4), MakeStride()); const auto to = MakeLayout(MakeShape(1, 1, 1, 4, 4, 16), MakeStride());
       Cast(x, a, RoundMode::CAST_RINT, kWidth); TransDataParams<decltype(from), decltype(to)> p{from, to};
       TransData<config>(part<half>(w, 1), x, p); TO_FLOATS(part<half>(w, 1)))
KERNEL(chosen_by_one_repeat, LocalTensor<uint16_t> bits = part<uint16_t>(w, 0); Duplicate(bits, uint16_t(0x00ff), 4);
       Select(r, bits.ReinterpretCast<uint8_t>(), a, b, SELMODE::VSEL_CMPMASK_SPR, kWidth))
KERNEL(compared_in_the_register, LocalTensor<uint8_t> bits = part<uint8_t>(w, 0); Compare(a, b, CMPMODE::GT, 64, BinaryRepeatParams{}); GetCmpMask(bits);
       Select(r, bits, a, b, SELMODE::VSEL_CMPMASK_SPR, 64))
