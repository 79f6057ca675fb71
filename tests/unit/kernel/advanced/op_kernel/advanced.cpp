// One advanced function a call, chosen by the tiling; what a function leaves of its outputs is 0.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kSpace = 8192;  // bytes of each result

extern "C" __global__ __aicore__ void advanced(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, GM_ADDR first, GM_ADDR second,
                                               GM_ADDR index, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA(t, tiling);
  using T = DTYPE_X;
  TPipe pipe;
  TBuf<TPosition::VECCALC> inputs[3], results[4], temporary;
  for (auto& each : inputs) pipe.InitBuffer(each, kSpace);
  for (auto& each : results) pipe.InitBuffer(each, kSpace);
  pipe.InitBuffer(temporary, t.temporary);
  const LocalTensor<T> a = inputs[0].Get<T>(), g = inputs[1].Get<T>(), b = inputs[2].Get<T>();
  const LocalTensor<T> r = results[0].Get<T>(), p = results[1].Get<T>(), q = results[2].Get<T>();
  const LocalTensor<int32_t> places = results[3].Get<int32_t>();
  const LocalTensor<uint8_t> w = temporary.Get<uint8_t>();
  const auto in = [&](const LocalTensor<T>& to, GM_ADDR from, uint32_t rows) {
    GlobalTensor<T> gm;
    gm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(from));
    DataCopyPad(to, gm, DataCopyExtParams(rows, t.valid * sizeof(T), 0, 0, 0), DataCopyPadExtParams<T>(true, 0, t.width - t.valid, T(0)));
  };
  in(a, x, t.rows), in(g, gamma, 1), in(b, beta, 1);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  for (auto& each : results) Duplicate(each.Get<float>(), 0.0f, kSpace / 4);
  SoftMaxShapeInfo shape;
  shape.srcM = shape.oriSrcM = t.rows, shape.srcK = t.width, shape.oriSrcK = t.valid;
  const uint32_t sizes[] = {t.rows, t.valid};
  switch (t.function) {
    case 0: SoftMax(r, p, q, a, w, t.softmax, shape); break;
    case 1: LogSoftMax(r, p, q, a, t.logSoftmax, shape); break;
    case 2: LayerNorm(r, p, q, a, g, b, w, T(1e-3f), t.layerNorm); break;
    case 3: RmsNorm(r, a, g, w, T(1e-3f), t.rmsNorm); break;
    case 4: {
      SumParams sums;
      sums.outter = t.rows, sums.inner = t.width, sums.n = t.valid;
      Sum(p, a, w, sums);
      ReduceMax<T, Pattern::Reduce::AR>(q, a, w, sizes, true);
      if constexpr (sizeof(T) == 4) ReduceSum<T, Pattern::Reduce::RA>(r, a, w, sizes, true);  // it has no half
      break;
    }
    case 5: {
      TopKInfo info;
      info.outter = int32_t(t.rows), info.inner = int32_t(t.width), info.n = int32_t(t.valid);
      LocalTensor<int32_t> none;
      LocalTensor<bool> unfinished;
      TopK<T, false, false, false, TopKMode::TOPK_NORMAL>(r, places, a, none, unfinished, w, int32_t(t.k), t.topk, info, true);
      break;
    }
    case 6: ConfusionTranspose(r, a, w, TransposeType::TRANSPOSE_ND2ND_ONLY, t.transpose); break;
    case 7: {  // 16 rows by whole blocks, by the instruction itself
      const uint32_t columns = sizeof(T) == 4 ? 8 : 16;
      uint64_t to[16], from[16];
      for (uint32_t i = 0; i < 16; ++i) {
        from[i] = reinterpret_cast<uint64_t>(a[i * t.width].GetPhyAddr());
        to[i] = reinterpret_cast<uint64_t>(r[sizeof(T) == 4 ? i * 8 : i * 16].GetPhyAddr());
      }
      const uint8_t times = uint8_t(t.width / columns);
      TransDataTo5HD<T>(to, from, TransDataTo5HDParams(false, false, times, times > 1 ? columns * 16 * sizeof(T) / 32 : 0, times > 1 ? 1 : 0));
      break;
    }
    case 8: Transpose(r, a, w, TransposeParamsExt{1, uint16_t(t.rows), 1, uint16_t(t.width), TransposeType::TRANSPOSE_NCHW2NHWC}); break;
    case 9: {  // a row in two halves: the second goes on from the first
      SoftMaxShapeInfo half = shape;
      const uint32_t part = t.width / 2;
      half.srcK = half.oriSrcK = part;
      const LocalTensor<T> left = inputs[1].Get<T>(), right = inputs[2].Get<T>(), change = p[1024];
      for (uint32_t r = 0; r < t.rows; ++r) {
        DataCopy(left[r * part], a[r * t.width], part);
        DataCopy(right[r * part], a[r * t.width + part], part);
      }
      SoftmaxFlashV2<T, false>(left, p, q, left, change, p, q, w, t.softmax, half);
      SoftmaxFlashV2<T, true>(right, p, q, right, change, p, q, w, t.softmax, half);
      DataCopy(r, right, t.rows * part);
      DataCopy(r[1024], left, t.rows * part);
      break;
    }
    default: Trap();
  }
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  GM_ADDR const outputs[] = {y, first, second, index};
  for (int i = 0; i < 4; ++i) {
    GlobalTensor<float> gm;
    gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(outputs[i]));
    DataCopy(gm, results[i].Get<float>(), kSpace / 4);
  }
}
