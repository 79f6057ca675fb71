// Softmax beside its first form: results adjusted, gradients, and the flash softmax with shifted means.
#pragma once

#include "whole.h"

namespace AscendC {

#define OPHOOK_AT ophook::rt::At at = ophook::rt::At::here()

// Rows whose maximum is `from` (its bits) become `to`; whether there was one.
template <typename T1, typename T2, bool isDataFormatNZ = false, uint8_t stepSizeMode = 0>
__aicore__ inline bool AdjustSoftMaxRes(const LocalTensor<T1>& res, const LocalTensor<T2>& max, const uint32_t from,
                                        const T1 to, const SoftMaxShapeInfo& s, OPHOOK_AT) {
  static_assert(whole_details::real<T1> && whole_details::real<T2>, "AdjustSoftMaxRes: half or float");
  static_assert(!stepSizeMode || !isDataFormatNZ, "AdjustSoftMaxRes: another stepSizeMode than 0 is for ND");
  const uint64_t step = stepSizeMode ? 1 : 32 / sizeof(T2);
  const ophook::rt::RowShape rows{s.srcM, s.srcK, s.srcK, isDataFormatNZ ? s.srcM : 0};
  const uint64_t all = rows.all();
  if (!ophook::rt::whole(
          "AdjustSoftMaxRes", {whole_details::part(res, all, "the result")},
          {whole_details::part(res, all, "the result"), whole_details::part(max, s.srcM * step, "the maxima")}, nullptr,
          at))
    return false;
  bool found = false;
  for (uint32_t row = 0; row < s.srcM; ++row) {
    uint32_t bits = 0;
    std::memcpy(&bits, whole_details::data(max) + row * step, sizeof(T2));
    if (bits != from) continue;
    found = true;
    for (uint32_t i = 0; i < s.srcK; ++i) whole_details::data(res)[rows.at(row, i)] = to;
  }
  return found;
}

namespace whole_details {
template <typename T>
void softmax_grad(const char* call, const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src,
                  const Local* work, RowShape s, bool front, At at) {
  static_assert(real<T>, "SoftmaxGrad: half or float");
  const uint64_t all = s.all(), block = 32 / sizeof(T);
  if (!ophook::rt::whole(call, {part(dst, front ? s.count * block : all, "the destination")},
                         {part(grad, all, "the gradient"), part(src, all, "the source")}, work, at))
    return;
  const auto x = values(grad, all), y = values(src, all);
  for (uint64_t row = 0; row < s.count; ++row) {
    double sum = 0;
    for (uint32_t i = 0; i < s.valid; ++i) sum += double(x[s.at(row, i)]) * y[s.at(row, i)];
    if (front)
      for (uint64_t i = 0; i < block; ++i) data(dst)[row * block + i] = narrow<T>(float(sum));
    else
      for (uint32_t i = 0; i < s.width; ++i) {
        const uint64_t at = s.at(row, i);
        data(dst)[at] = narrow<T>((x[at] - float(sum)) * y[at]);
      }
  }
}
}  // namespace whole_details
template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
__aicore__ inline void SoftmaxGrad(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src,
                                   const SoftMaxTiling& tiling, bool isFront = false,
                                   const SoftMaxShapeInfo& shape = {}, OPHOOK_AT) {
  whole_details::softmax_grad(
      "SoftmaxGrad", dst, grad, src, nullptr,
      advanced_details::rows("SoftmaxGrad", shape, tiling.srcM, tiling.srcK, isDataFormatNZ, at), isFront, at);
}
template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
__aicore__ inline void SoftmaxGrad(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src,
                                   const LocalTensor<uint8_t>& tmp, const SoftMaxTiling& tiling, bool isFront = false,
                                   const SoftMaxShapeInfo& shape = {}, OPHOOK_AT) {
  const auto work = tmp.view();
  whole_details::softmax_grad(
      "SoftmaxGrad", dst, grad, src, &work,
      advanced_details::rows("SoftmaxGrad", shape, tiling.srcM, tiling.srcK, isDataFormatNZ, at), isFront, at);
}
template <typename T, bool isBasicBlock = false, bool isDataFormatNZ = false>
__aicore__ inline void SoftmaxGradFront(const LocalTensor<T>& dst, const LocalTensor<T>& grad,
                                        const LocalTensor<T>& src, const SoftMaxTiling& tiling,
                                        const SoftMaxShapeInfo& shape = {}, OPHOOK_AT) {
  whole_details::softmax_grad(
      "SoftmaxGradFront", dst, grad, src, nullptr,
      advanced_details::rows("SoftmaxGradFront", shape, tiling.srcM, tiling.srcK, isDataFormatNZ, at), true, at);
}
template <typename T, bool isBasicBlock = false, bool isDataFormatNZ = false>
__aicore__ inline void SoftmaxGradFront(const LocalTensor<T>& dst, const LocalTensor<T>& grad,
                                        const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
                                        const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {}, OPHOOK_AT) {
  const auto work = tmp.view();
  whole_details::softmax_grad(
      "SoftmaxGradFront", dst, grad, src, &work,
      advanced_details::rows("SoftmaxGradFront", shape, tiling.srcM, tiling.srcK, isDataFormatNZ, at), true, at);
}

// The PASA form of a flash softmax: each row's parts are shifted by their means before the exponential.
struct SoftMaxParams {
  uint32_t srcM, srcK, oriSrcM, oriSrcK, loopCnt, splitMeanCnt;
  float alpha;
};
namespace whole_details {
struct PasaTensors {
  LocalTensor<half> dst, src, exp_max;
  LocalTensor<float> mean, sum, max, in_mean, in_sum, in_max;
};
inline void softmax_pasa(const PasaTensors& t, const Local* work, const SoftMaxTiling& tiling, const SoftMaxParams& p,
                         bool update, At at) {
  const char* call = "SoftmaxFlashV3";
  ophook::rt::needs_tiling(call, tiling.srcM && tiling.srcK, at);
  if (p.splitMeanCnt != 8 || p.srcK < 512 || p.srcK % 64 || p.srcM % 8 || p.srcM != p.oriSrcM || p.srcK != p.oriSrcK ||
      (update && !p.loopCnt))
    return ophook::rt::refuse(call,
                              "splitMeanCnt is 8, srcK a multiple of 64 from 512 on, srcM one of 8, both as the "
                              "original ones, loopCnt from 1 on",
                              at);
  const uint64_t all = uint64_t(p.srcM) * p.srcK, line = 8, numbers = p.srcM * line;
  if (update &&
      !ophook::rt::whole(call, {part(t.exp_max, p.srcM * 16ull, "expMax")},
                         {part(t.in_mean, numbers, "the means so far"), part(t.in_sum, numbers, "the sums so far"),
                          part(t.in_max, numbers, "the maxima so far")},
                         nullptr, at))
    return;
  if (!ophook::rt::whole(call,
                         {part(t.dst, all, "the destination"), part(t.mean, numbers, "the means"),
                          part(t.sum, numbers, "the sums"), part(t.max, numbers, "the maxima")},
                         {part(t.src, all, "the source")}, work, at))
    return;
  const float factor = p.alpha / (1 - p.alpha);
  const uint32_t piece = p.srcK / p.splitMeanCnt;
  for (uint32_t row = 0; row < p.srcM; ++row) {
    std::vector<float> x(p.srcK), part_mean(p.splitMeanCnt, 0.0f);
    float mean = 0;
    for (uint32_t i = 0; i < p.srcK; ++i)
      x[i] = float(data(t.src)[uint64_t(row) * p.srcK + i]), mean += x[i] / float(p.srcK);
    // The page's pseudocode: sums of eight blocks of eight make a part, and what lies beyond 512 is folded onto these
    // by its place in 64.
    for (uint32_t i = 0; i < p.srcK; ++i) part_mean[i < 512 ? i / 64 : i % 64 / 8] += x[i] / float(piece);
    for (uint32_t i = 0; i < p.srcK; ++i) x[i] -= (mean - part_mean[i / piece]) * factor;
    float most = x[0], total = 0;
    for (const float value : x) most = value > most ? value : most;
    const float before_mean = update ? data(t.in_mean)[row * line] : 0,
                before_max = update ? data(t.in_max)[row * line] : 0,
                before_sum = update ? data(t.in_sum)[row * line] : 0;
    const float now_mean = update ? (mean + before_mean * float(p.loopCnt - 1)) / float(p.loopCnt) : mean;
    const float shift = (mean - now_mean) * factor, shift_before = (before_mean - now_mean) * factor;
    float max = shift + most;
    if (update && shift_before + before_max > max) max = shift_before + before_max;
    for (uint32_t i = 0; i < p.srcK; ++i) {
      const float e = std::exp(x[i] - (max - shift));
      total += e, data(t.dst)[uint64_t(row) * p.srcK + i] = half(e);
    }
    const float scale = update ? std::exp(before_max - max + shift_before) : 0;
    if (update) total += scale * before_sum;
    for (uint32_t i = 0; i < line; ++i)
      data(t.mean)[row * line + i] = now_mean, data(t.sum)[row * line + i] = total, data(t.max)[row * line + i] = max;
    if (update)
      for (uint32_t i = 0; i < 16; ++i) data(t.exp_max)[row * 16 + i] = half(scale);
  }
}
}  // namespace whole_details
template <typename T, typename U, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, SoftmaxConfig config = SOFTMAX_DEFAULT_CFG>
__aicore__ inline void SoftmaxFlashV3(const LocalTensor<T>& dst, const LocalTensor<U>& mean,
                                      const LocalTensor<U>& expSum, const LocalTensor<U>& max,
                                      const LocalTensor<T>& src, const LocalTensor<T>& expMax,
                                      const LocalTensor<U>& inMean, const LocalTensor<U>& inExpSum,
                                      const LocalTensor<U>& inMax, const SoftMaxTiling& tiling,
                                      const SoftMaxParams& params, OPHOOK_AT) {
  static_assert(std::is_same_v<T, half> && std::is_same_v<U, float> && !isDataFormatNZ,
                "SoftmaxFlashV3: half with float, in the format ND");
  whole_details::softmax_pasa({dst, src, expMax, mean, expSum, max, inMean, inExpSum, inMax}, nullptr, tiling, params,
                              isUpdate, at);
}
template <typename T, typename U, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, SoftmaxConfig config = SOFTMAX_DEFAULT_CFG>
__aicore__ inline void SoftmaxFlashV3(const LocalTensor<T>& dst, const LocalTensor<U>& mean,
                                      const LocalTensor<U>& expSum, const LocalTensor<U>& max,
                                      const LocalTensor<T>& src, const LocalTensor<T>& expMax,
                                      const LocalTensor<U>& inMean, const LocalTensor<U>& inExpSum,
                                      const LocalTensor<U>& inMax, const LocalTensor<uint8_t>& tmp,
                                      const SoftMaxTiling& tiling, const SoftMaxParams& params, OPHOOK_AT) {
  static_assert(std::is_same_v<T, half> && std::is_same_v<U, float> && !isDataFormatNZ,
                "SoftmaxFlashV3: half with float, in the format ND");
  const whole_details::Work work(tmp);
  whole_details::softmax_pasa({dst, src, expMax, mean, expSum, max, inMean, inExpSum, inMax}, work, tiling, params,
                              isUpdate, at);
}

#undef OPHOOK_AT

}  // namespace AscendC
