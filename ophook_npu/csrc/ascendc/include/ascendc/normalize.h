// Normalizations by the formulas of their pages, over whole tensors.
#pragma once

#include "whole.h"

namespace AscendC {

#define OPHOOK_AT ophook::rt::At at = ophook::rt::At::here()

namespace whole_details {
// Mean and variance of elements first, first + step, … (`count` of them).
struct Moments {
  float mean, variance;
};
inline Moments moments(const std::vector<float>& x, uint64_t first, uint64_t count, uint64_t step = 1) {
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < count; ++i) sum += x[first + i * step];
  const double mean = sum / double(count);
  for (uint64_t i = 0; i < count; ++i) squares += (x[first + i * step] - mean) * (x[first + i * step] - mean);
  return {float(mean), float(squares / double(count))};
}
inline float rstd(float variance, float epsilon) { return 1.0f / std::sqrt(variance + epsilon); }
}  // namespace whole_details

struct LayerNormConfig {
  bool isNoBeta = false, isNoGamma = false, isOnlyOutput = false, isOutputRstd = true;
};
constexpr LayerNormConfig LNCFG_NORM{};
struct LayerNormPara {
  uint32_t aLength, rLength, rLengthWithPadding;
};
struct NormalizeConfig {
  ReducePattern reducePattern = ReducePattern::AR;
  int32_t aLength = -1;
  bool isNoBeta = false, isNoGamma = false, isOnlyOutput = false;
};
constexpr NormalizeConfig NLCFG_NORM{};
struct NormalizePara {
  uint32_t aLength, rLength, rLengthWithPadding;
};

namespace whole_details {
struct Affine {  // what is left out of x * gamma + beta
  bool no_gamma, no_beta;
};
template <typename U, typename T, typename F>
void affine_rows(const LocalTensor<T>& output, const LocalTensor<T>& x, const LocalTensor<U>& gamma,
                 const LocalTensor<U>& beta, Affine without, uint32_t rows, uint32_t used, uint32_t width, F of_row) {
  const auto all = values(x, uint64_t(rows) * width);
  for (uint32_t row = 0; row < rows; ++row) {
    const auto [mean, factor] = of_row(all, row);
    for (uint32_t i = 0; i < used; ++i) {
      float y = (all[uint64_t(row) * width + i] - mean) * factor;
      if (!without.no_gamma) y *= wide(data(gamma)[i]);
      if (!without.no_beta) y += wide(data(beta)[i]);
      data(output)[uint64_t(row) * width + i] = narrow<T>(y);
    }
  }
}
// Reads gamma and beta where they are used.
template <typename U>
bool affine_parts(const char* call, const LocalTensor<U>& gamma, const LocalTensor<U>& beta, Affine without,
                  uint32_t used, At at) {
  return (without.no_gamma || ophook::rt::whole(call, {}, {part(gamma, used, "gamma")}, nullptr, at)) &&
         (without.no_beta || ophook::rt::whole(call, {}, {part(beta, used, "beta")}, nullptr, at));
}
template <typename U, typename T, LayerNormConfig config>
void layer_norm(const LocalTensor<T>& output, const LocalTensor<float>& mean, const LocalTensor<float>& rstds,
                const LocalTensor<T>& x, const LocalTensor<U>& gamma, const LocalTensor<U>& beta, float epsilon,
                const Local* work, const LayerNormPara& p, At at) {
  static_assert(real<T> && real<U> && sizeof(U) >= sizeof(T),
                "LayerNorm: half or float, gamma and beta no narrower than x");
  static_assert(!config.isOnlyOutput, "LayerNorm: isOnlyOutput has to be false");
  static_assert(config.isOutputRstd, "LayerNorm: the variance as output (isOutputRstd = false) is Ascend950's");
  constexpr Affine without{config.isNoGamma, config.isNoBeta};
  const uint64_t all = uint64_t(p.aLength) * p.rLengthWithPadding;
  if (!affine_parts("LayerNorm", gamma, beta, without, p.rLength, at) ||
      !ophook::rt::whole(
          "LayerNorm",
          {part(output, all, "the output"), part(mean, p.aLength, "the mean"), part(rstds, p.aLength, "the rstd")},
          {part(x, all, "the source")}, work, at))
    return;
  ophook::rt::apart("LayerNorm", part(output, all, ""), {part(x, all, "")}, at);
  affine_rows(output, x, gamma, beta, without, p.aLength, p.rLength, p.rLengthWithPadding,
              [&](const std::vector<float>& v, uint32_t row) {
                const Moments m = moments(v, uint64_t(row) * p.rLengthWithPadding, p.rLength);
                data(mean)[row] = m.mean, data(rstds)[row] = rstd(m.variance, epsilon);
                return std::pair(m.mean, data(rstds)[row]);
              });
}
template <typename U, typename T, NormalizeConfig config>
void normalized(const LocalTensor<T>& output, const LocalTensor<float>& rstds, const LocalTensor<float>& mean,
                const LocalTensor<float>& variance, const LocalTensor<T>& x, const LocalTensor<U>& gamma,
                const LocalTensor<U>& beta, const Local* work, float epsilon, const NormalizePara& p, At at) {
  static_assert(real<T> && real<U> && sizeof(U) >= sizeof(T),
                "Normalize: half or float, gamma and beta no narrower than x");
  static_assert(config.reducePattern == ReducePattern::AR, "Normalize: only the pattern AR is there");
  static_assert(!config.isOnlyOutput, "Normalize: isOnlyOutput has to be false");
  constexpr Affine without{config.isNoGamma, config.isNoBeta};
  const uint64_t all = uint64_t(p.aLength) * p.rLengthWithPadding;
  if (!affine_parts("Normalize", gamma, beta, without, p.rLength, at) ||
      !ophook::rt::whole(
          "Normalize", {part(output, all, "the output"), part(rstds, p.aLength, "the rstd")},
          {part(x, all, "the source"), part(mean, p.aLength, "the mean"), part(variance, p.aLength, "the variance")},
          work, at))
    return;
  ophook::rt::apart("Normalize", part(output, all, ""), {part(x, all, "")}, at);
  affine_rows(output, x, gamma, beta, without, p.aLength, p.rLength, p.rLengthWithPadding,
              [&](const std::vector<float>&, uint32_t row) {
                data(rstds)[row] = rstd(data(variance)[row], epsilon);
                return std::pair(data(mean)[row], data(rstds)[row]);
              });
}
}  // namespace whole_details
// Rows are the last dimension of (A, R).
template <typename U, typename T, bool isReuseSource = false, LayerNormConfig config = LNCFG_NORM>
__aicore__ inline void LayerNorm(const LocalTensor<T>& output, const LocalTensor<float>& outputMean,
                                 const LocalTensor<float>& outputRstd, const LocalTensor<T>& inputX,
                                 const LocalTensor<U>& gamma, const LocalTensor<U>& beta, const float epsilon,
                                 const LocalTensor<uint8_t>& tmp, const LayerNormPara& para,
                                 const LayerNormSeparateTiling& tiling, OPHOOK_AT) {
  ophook::rt::needs_tiling("LayerNorm", tiling.aLength && tiling.rLength, at);
  const auto work = tmp.view();
  whole_details::layer_norm<U, T, config>(output, outputMean, outputRstd, inputX, gamma, beta, epsilon, &work, para,
                                          at);
}
template <typename U, typename T, bool isReuseSource = false, LayerNormConfig config = LNCFG_NORM>
__aicore__ inline void LayerNorm(const LocalTensor<T>& output, const LocalTensor<float>& outputMean,
                                 const LocalTensor<float>& outputRstd, const LocalTensor<T>& inputX,
                                 const LocalTensor<U>& gamma, const LocalTensor<U>& beta, const float epsilon,
                                 const LayerNormPara& para, const LayerNormSeparateTiling& tiling, OPHOOK_AT) {
  ophook::rt::needs_tiling("LayerNorm", tiling.aLength && tiling.rLength, at);
  whole_details::layer_norm<U, T, config>(output, outputMean, outputRstd, inputX, gamma, beta, epsilon, nullptr, para,
                                          at);
}
template <typename U, typename T, bool isReuseSource = false, NormalizeConfig config = NLCFG_NORM>
__aicore__ inline void Normalize(const LocalTensor<T>& output, const LocalTensor<float>& outputRstd,
                                 const LocalTensor<float>& inputMean, const LocalTensor<float>& inputVariance,
                                 const LocalTensor<T>& inputX, const LocalTensor<U>& gamma, const LocalTensor<U>& beta,
                                 const LocalTensor<uint8_t>& tmp, const float epsilon, const NormalizePara& para,
                                 OPHOOK_AT) {
  const auto work = tmp.view();
  whole_details::normalized<U, T, config>(output, outputRstd, inputMean, inputVariance, inputX, gamma, beta, &work,
                                          epsilon, para, at);
}
template <typename U, typename T, bool isReuseSource = false, NormalizeConfig config = NLCFG_NORM>
__aicore__ inline void Normalize(const LocalTensor<T>& output, const LocalTensor<float>& outputRstd,
                                 const LocalTensor<float>& inputMean, const LocalTensor<float>& inputVariance,
                                 const LocalTensor<T>& inputX, const LocalTensor<U>& gamma, const LocalTensor<U>& beta,
                                 const float epsilon, const NormalizePara& para, OPHOOK_AT) {
  whole_details::normalized<U, T, config>(output, outputRstd, inputMean, inputVariance, inputX, gamma, beta, nullptr,
                                          epsilon, para, at);
}

namespace whole_details {
// LayerNorm(alpha * x + gx) of rows of (B, S, H). The page calls the third result rstd; its example and the vendor's
// have the variance.
template <typename T>
void deep_norm(const LocalTensor<T>& dst, const LocalTensor<T>& mean, const LocalTensor<T>& spread,
               const LocalTensor<T>& x, const LocalTensor<T>& gx, const LocalTensor<T>& beta,
               const LocalTensor<T>& gamma, const Local* work, float alpha, float epsilon, const DeepNormTiling& t,
               At at) {
  static_assert(real<T>, "DeepNorm: half or float");
  ophook::rt::needs_tiling("DeepNorm", t.bLength && t.sLength && t.hLength, at);
  const uint64_t rows = uint64_t(t.bLength) * t.sLength, width = t.hLength,
                 used = t.originalHLength ? t.originalHLength : t.hLength;
  if (width > 2040) return ophook::rt::refuse("DeepNorm", "rows have up to 2040 elements", at);
  if (!ophook::rt::whole(
          "DeepNorm",
          {part(dst, rows * width, "the destination"), part(mean, rows, "the mean"), part(spread, rows, "the rstd")},
          {part(x, rows * width, "the source"), part(gx, rows * width, "gx"), part(beta, used, "beta"),
           part(gamma, used, "gamma")},
          work, at))
    return;
  auto all = values(x, rows * width);
  const auto sub = values(gx, rows * width), scale = values(gamma, used), shift = values(beta, used);
  for (uint64_t i = 0; i < all.size(); ++i) all[i] = alpha * all[i] + sub[i];
  for (uint64_t row = 0; row < rows; ++row) {
    const Moments m = moments(all, row * width, used);
    const float factor = rstd(m.variance, epsilon);
    data(mean)[row] = narrow<T>(m.mean), data(spread)[row] = narrow<T>(m.variance);
    for (uint64_t i = 0; i < used; ++i)
      data(dst)[row * width + i] = narrow<T>((all[row * width + i] - m.mean) * factor * scale[i] + shift[i]);
  }
}
template <typename T>
void layer_norm_grad(const LocalTensor<T>& pd_x, const LocalTensor<T>& for_gamma, const LocalTensor<T>& dy,
                     const LocalTensor<T>& x, const LocalTensor<T>& variance, const LocalTensor<T>& mean,
                     const LocalTensor<T>& gamma, const Local* work, float epsilon, const LayerNormGradTiling& t,
                     At at) {
  static_assert(real<T>, "LayerNormGrad: half or float");
  ophook::rt::needs_tiling("LayerNormGrad", t.bLength && t.sLength && t.hLength, at);
  const uint64_t rows = uint64_t(t.bLength) * t.sLength, width = t.hLength,
                 used = t.originalHLength ? t.originalHLength : t.hLength;
  const uint64_t all = rows * width;
  if (!ophook::rt::whole(
          "LayerNormGrad", {part(pd_x, all, "the gradient of x"), part(for_gamma, all, "resForGamma")},
          {part(dy, all, "the gradient"), part(x, all, "the source"), part(variance, rows, "the variance"),
           part(mean, rows, "the mean"), part(gamma, used, "gamma")},
          work, at))
    return;
  const auto g = values(dy, all), v = values(x, all), scale = values(gamma, used);
  for (uint64_t row = 0; row < rows; ++row) {
    const float middle = wide(data(mean)[row]), factor = rstd(wide(data(variance)[row]), epsilon);
    double pd_var = 0, pd_mean = 0, centred = 0;
    for (uint64_t i = 0; i < used; ++i) {
      const double pd_xl = double(g[row * width + i]) * scale[i], off = double(v[row * width + i]) - middle;
      pd_var += -0.5 * pd_xl * off * std::pow(double(factor), 3), pd_mean -= pd_xl * factor, centred += -2.0 * off;
    }
    pd_mean += pd_var / double(used) * centred;
    for (uint64_t i = 0; i < used; ++i) {
      const uint64_t e = row * width + i;
      const double off = double(v[e]) - middle;
      data(pd_x)[e] = narrow<T>(
          float(double(g[e]) * scale[i] * factor + pd_var * 2.0 / double(used) * off + pd_mean / double(used)));
      data(for_gamma)[e] = narrow<T>(float(off * factor));
    }
  }
}
template <typename T>
void layer_norm_grad_beta(const LocalTensor<T>& pd_gamma, const LocalTensor<T>& pd_beta,
                          const LocalTensor<T>& for_gamma, const LocalTensor<T>& dy, const Local* work,
                          const LayerNormGradBetaTiling& t, At at) {
  static_assert(real<T>, "LayerNormGradBeta: half or float");
  ophook::rt::needs_tiling("LayerNormGradBeta", t.bLength && t.sLength && t.hLength, at);
  const uint64_t rows = uint64_t(t.bLength) * t.sLength, width = t.hLength;
  if (!ophook::rt::whole("LayerNormGradBeta",
                         {part(pd_gamma, width, "the gradient of gamma"), part(pd_beta, width, "the gradient of beta")},
                         {part(for_gamma, rows * width, "resForGamma"), part(dy, rows * width, "the gradient")}, work,
                         at))
    return;
  const auto r = values(for_gamma, rows * width), g = values(dy, rows * width);
  for (uint64_t i = 0; i < width; ++i) {
    double by_gamma = 0, by_beta = 0;
    for (uint64_t row = 0; row < rows; ++row)
      by_gamma += double(r[row * width + i]) * g[row * width + i], by_beta += g[row * width + i];
    data(pd_gamma)[i] = narrow<T>(float(by_gamma)), data(pd_beta)[i] = narrow<T>(float(by_beta));
  }
}
// Over the batch: each of S * H features has a mean and a variance of its own; gamma and beta have one value a batch
// element.
template <typename T>
void batch_norm(const LocalTensor<T>& out, const LocalTensor<T>& mean, const LocalTensor<T>& variance,
                const LocalTensor<T>& x, const LocalTensor<T>& gamma, const LocalTensor<T>& beta, const Local* work,
                float epsilon, const BatchNormTiling& t, At at) {
  static_assert(real<T>, "BatchNorm: half or float");
  ophook::rt::needs_tiling("BatchNorm", t.originalBLength && t.shCurLength, at);
  const uint64_t batch = t.originalBLength, features = t.shCurLength;
  if (!ophook::rt::whole(
          "BatchNorm",
          {part(out, batch * features, "the output"), part(mean, features, "the mean"),
           part(variance, features, "the variance")},
          {part(x, batch * features, "the source"), part(gamma, batch, "gamma"), part(beta, batch, "beta")}, work, at))
    return;
  const auto v = values(x, batch * features), scale = values(gamma, batch), shift = values(beta, batch);
  for (uint64_t i = 0; i < features; ++i) {
    const Moments m = moments(v, i, batch, features);
    const float factor = rstd(m.variance, epsilon);
    data(mean)[i] = narrow<T>(m.mean), data(variance)[i] = narrow<T>(m.variance);
    for (uint64_t b = 0; b < batch; ++b)
      data(out)[b * features + i] = narrow<T>((v[b * features + i] - m.mean) * factor * scale[b] + shift[b]);
  }
}
// Over the channels of a group, of (N, C, H, W) with H * W padded to whole blocks.
template <typename T>
void group_norm(const LocalTensor<T>& out, const LocalTensor<T>& mean, const LocalTensor<T>& variance,
                const LocalTensor<T>& x, const LocalTensor<T>& gamma, const LocalTensor<T>& beta, const Local* work,
                float epsilon, const GroupNormTiling& t, At at) {
  static_assert(real<T>, "GroupNorm: half or float");
  ophook::rt::needs_tiling("GroupNorm", t.n && t.g && t.d && t.hw, at);
  const uint64_t groups = uint64_t(t.n) * t.g, all = groups * t.d * t.hwAlignSize;
  if (!ophook::rt::whole(
          "GroupNorm",
          {part(out, all, "the output"), part(mean, groups, "the mean"), part(variance, groups, "the variance")},
          {part(x, all, "the source"), part(gamma, t.c, "gamma"), part(beta, t.c, "beta")}, work, at))
    return;
  const auto v = values(x, all), scale = values(gamma, t.c), shift = values(beta, t.c);
  for (uint64_t group = 0; group < groups; ++group) {
    std::vector<float> used;
    for (uint32_t d = 0; d < t.d; ++d)
      for (uint32_t i = 0; i < t.hw; ++i) used.push_back(v[(group * t.d + d) * t.hwAlignSize + i]);
    const Moments m = moments(used, 0, used.size());
    const float factor = rstd(m.variance, epsilon);
    data(mean)[group] = narrow<T>(m.mean), data(variance)[group] = narrow<T>(m.variance);
    for (uint32_t d = 0; d < t.d; ++d)
      for (uint32_t i = 0; i < t.hw; ++i) {
        const uint64_t e = (group * t.d + d) * t.hwAlignSize + i, channel = group % t.g * t.d + d;
        data(out)[e] = narrow<T>((v[e] - m.mean) * factor * scale[channel] + shift[channel]);
      }
  }
}
}  // namespace whole_details
template <typename T, bool isReuseSrc = false, bool isBasicBlock = false>
__aicore__ inline void DeepNorm(const LocalTensor<T>& dst, const LocalTensor<T>& mean, const LocalTensor<T>& rstd,
                                const LocalTensor<T>& src, const LocalTensor<T>& gx, const LocalTensor<T>& beta,
                                const LocalTensor<T>& gamma, const LocalTensor<uint8_t>& tmp, const T alpha,
                                const T epsilon, const DeepNormTiling& tiling, OPHOOK_AT) {
  const auto work = tmp.view();
  whole_details::deep_norm(dst, mean, rstd, src, gx, beta, gamma, &work, float(alpha), float(epsilon), tiling, at);
  if constexpr (isReuseSrc && std::is_same_v<T, float>)
    advanced_details::spent(src, uint64_t(tiling.bLength) * tiling.sLength * tiling.hLength, dst, mean, rstd);
}
template <typename T, bool isReuseSrc = false, bool isBasicBlock = false>
__aicore__ inline void DeepNorm(const LocalTensor<T>& dst, const LocalTensor<T>& mean, const LocalTensor<T>& rstd,
                                const LocalTensor<T>& src, const LocalTensor<T>& gx, const LocalTensor<T>& beta,
                                const LocalTensor<T>& gamma, const T alpha, const T epsilon,
                                const DeepNormTiling& tiling, OPHOOK_AT) {
  whole_details::deep_norm(dst, mean, rstd, src, gx, beta, gamma, nullptr, float(alpha), float(epsilon), tiling, at);
  if constexpr (isReuseSrc && std::is_same_v<T, float>)
    advanced_details::spent(src, uint64_t(tiling.bLength) * tiling.sLength * tiling.hLength, dst, mean, rstd);
}
struct LayerNormGradShapeInfo {
  DataFormat dataFormat = DataFormat::ND;
};
template <typename T, bool isReuseSource = false>
__aicore__ inline void LayerNormGrad(const LocalTensor<T>& outputPdX, const LocalTensor<T>& resForGamma,
                                     const LocalTensor<T>& inputDy, const LocalTensor<T>& inputX,
                                     const LocalTensor<T>& inputVariance, const LocalTensor<T>& inputMean,
                                     const LocalTensor<T>& inputGamma, LocalTensor<uint8_t>& tmp, T epsilon,
                                     const LayerNormGradTiling& tiling, const LayerNormGradShapeInfo& = {}, OPHOOK_AT) {
  const auto work = tmp.view();
  whole_details::layer_norm_grad(outputPdX, resForGamma, inputDy, inputX, inputVariance, inputMean, inputGamma, &work,
                                 float(epsilon), tiling, at);
  if constexpr (isReuseSource && std::is_same_v<T, float>)
    advanced_details::spent(inputX, uint64_t(tiling.bLength) * tiling.sLength * tiling.hLength, outputPdX, resForGamma);
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void LayerNormGrad(const LocalTensor<T>& outputPdX, const LocalTensor<T>& resForGamma,
                                     const LocalTensor<T>& inputDy, const LocalTensor<T>& inputX,
                                     const LocalTensor<T>& inputVariance, const LocalTensor<T>& inputMean,
                                     const LocalTensor<T>& inputGamma, T epsilon, const LayerNormGradTiling& tiling,
                                     const LayerNormGradShapeInfo& = {}, OPHOOK_AT) {
  whole_details::layer_norm_grad(outputPdX, resForGamma, inputDy, inputX, inputVariance, inputMean, inputGamma, nullptr,
                                 float(epsilon), tiling, at);
  if constexpr (isReuseSource && std::is_same_v<T, float>)
    advanced_details::spent(inputX, uint64_t(tiling.bLength) * tiling.sLength * tiling.hLength, outputPdX, resForGamma);
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void LayerNormGradBeta(const LocalTensor<T>& outputPdGamma, const LocalTensor<T>& outputPdBeta,
                                         const LocalTensor<T>& resForGamma, const LocalTensor<T>& inputDy,
                                         const LocalTensor<uint8_t>& tmp, const LayerNormGradBetaTiling& tiling,
                                         OPHOOK_AT) {
  const auto work = tmp.view();
  whole_details::layer_norm_grad_beta(outputPdGamma, outputPdBeta, resForGamma, inputDy, &work, tiling, at);
  if constexpr (isReuseSource && std::is_same_v<T, float>)
    advanced_details::spent(inputDy, uint64_t(tiling.bLength) * tiling.sLength * tiling.hLength, outputPdGamma,
                            outputPdBeta);
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void LayerNormGradBeta(const LocalTensor<T>& outputPdGamma, const LocalTensor<T>& outputPdBeta,
                                         const LocalTensor<T>& resForGamma, const LocalTensor<T>& inputDy,
                                         const LayerNormGradBetaTiling& tiling, OPHOOK_AT) {
  whole_details::layer_norm_grad_beta(outputPdGamma, outputPdBeta, resForGamma, inputDy, nullptr, tiling, at);
  if constexpr (isReuseSource && std::is_same_v<T, float>)
    advanced_details::spent(inputDy, uint64_t(tiling.bLength) * tiling.sLength * tiling.hLength, outputPdGamma,
                            outputPdBeta);
}
namespace whole_details {
template <typename T, typename... Results>
void spends(const LocalTensor<T>& x, const GroupNormTiling& t, const Results&... results) {
  advanced_details::spent(x, uint64_t(t.n) * t.c * t.hwAlignSize, results...);
}
template <typename T, typename... Results>
void spends(const LocalTensor<T>&, const BatchNormTiling&, const Results&...) {}  // its isReuseSource is reserved
}  // namespace whole_details
#define OPHOOK_NORM(name, function, Tiling, ...)                                                                      \
  template <typename T, bool isReuseSource = false __VA_OPT__(, ) __VA_ARGS__>                                        \
  __aicore__ inline void name(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,                         \
                              const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,                     \
                              const LocalTensor<T>& gamma, const LocalTensor<T>& beta,                                \
                              const LocalTensor<uint8_t>& tmp, const T epsilon, const Tiling& tiling, OPHOOK_AT) {    \
    const auto work = tmp.view();                                                                                     \
    whole_details::function(output, outputMean, outputVariance, inputX, gamma, beta, &work, float(epsilon), tiling,   \
                            at);                                                                                      \
    if constexpr (isReuseSource && std::is_same_v<T, float>)                                                          \
      whole_details::spends(inputX, tiling, output, outputMean, outputVariance);                                      \
  }                                                                                                                   \
  template <typename T, bool isReuseSource = false __VA_OPT__(, ) __VA_ARGS__>                                        \
  __aicore__ inline void name(const LocalTensor<T>& output, const LocalTensor<T>& outputMean,                         \
                              const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,                     \
                              const LocalTensor<T>& gamma, const LocalTensor<T>& beta, const T epsilon,               \
                              const Tiling& tiling, OPHOOK_AT) {                                                      \
    whole_details::function(output, outputMean, outputVariance, inputX, gamma, beta, nullptr, float(epsilon), tiling, \
                            at);                                                                                      \
    if constexpr (isReuseSource && std::is_same_v<T, float>)                                                          \
      whole_details::spends(inputX, tiling, output, outputMean, outputVariance);                                      \
  }
OPHOOK_NORM(BatchNorm, batch_norm, BatchNormTiling, bool isBasicBlock = false)
OPHOOK_NORM(GroupNorm, group_norm, GroupNormTiling)
#undef OPHOOK_NORM

// Mean and variance of a long row that comes in pieces.
struct WelfordUpdateConfig {
  bool isInplace = false;
};
constexpr WelfordUpdateConfig WFUPDATE_DEFAULT_CFG{false};
struct WelfordUpdateParam {
  uint32_t rnLength, abLength, abComputeLength;
  float nRec;  // 1 / how many pieces there were
};
struct WelfordFinalizeConfig {
  bool isCorrection = false;
};
constexpr WelfordFinalizeConfig WFFINALIZE_DEFAULT_CFG{false};
struct WelfordFinalizePara {
  uint32_t rnLength, abLength, headCount, headCountLength, tailCount, tailCountLength;
  float abRec, rRec, rRecWithCorrection;
};
namespace whole_details {
// Elements beyond abComputeLength are those that came in where isInplace says so, and else not written.
template <bool in_place, typename T, typename U>
void welford_update(const LocalTensor<U>& mean, const LocalTensor<U>& spread, const LocalTensor<U>& in_mean,
                    const LocalTensor<U>& in_spread, const LocalTensor<T>& x, const Local* work,
                    const WelfordUpdateParam& p, At at) {
  static_assert(real<T> && std::is_same_v<U, float>, "WelfordUpdate: half or float, and float for mean and variance");
  const uint32_t computed = p.abComputeLength, all = in_place ? p.abLength : computed;
  if (p.rnLength != 1 || !computed || computed > p.abLength || p.abLength * sizeof(T) % 32)
    return ophook::rt::refuse("WelfordUpdate", "rnLength is 1, abLength whole blocks, abComputeLength 1 to abLength",
                              at);
  const Part to[] = {part(mean, all, "the mean"), part(spread, all, "the variance")},
             from[] = {part(in_mean, all, "the mean so far"), part(in_spread, all, "the variance so far"),
                       part(x, computed, "the source")};
  if (!ophook::rt::whole("WelfordUpdate", {to[0], to[1]}, {from[0], from[1], from[2]}, work, at)) return;
  for (const Part& each : to)
    if (!in_place) ophook::rt::apart("WelfordUpdate", each, {from[0], from[1], from[2]}, at);
  for (uint32_t i = 0; i < all; ++i) {
    const float before = data(in_mean)[i], off = i < computed ? wide(data(x)[i]) - before : 0.0f;
    data(mean)[i] = before + off * p.nRec;
    data(spread)[i] = data(in_spread)[i] + (i < computed ? off * (wide(data(x)[i]) - data(mean)[i]) : 0.0f);
  }
}
inline void welford_finalize(const LocalTensor<float>& mean, const LocalTensor<float>& variance,
                             const LocalTensor<float>& in_mean, const LocalTensor<float>& in_variance,
                             const LocalTensor<int32_t>* counts, const Local* work, const WelfordFinalizePara& p,
                             At at) {
  if (p.abLength % 8 || (!counts && p.headCountLength + p.tailCountLength != p.abLength) ||
      (p.tailCountLength && !p.tailCount))
    return ophook::rt::refuse("WelfordFinalize",
                              "abLength is whole blocks, without counts the sum of headCountLength and "
                              "tailCountLength, and tailCountLength goes with a tailCount",
                              at);
  if ((counts && !ophook::rt::whole("WelfordFinalize", {}, {part(*counts, p.abLength, "the counts")}, nullptr, at)) ||
      !ophook::rt::whole("WelfordFinalize", {part(mean, 1, "the mean"), part(variance, 1, "the variance")},
                         {part(in_mean, p.abLength, "the means"), part(in_variance, p.abLength, "the variances")}, work,
                         at))
    return;
  const bool even = !counts && !p.tailCountLength;
  auto weight = [&](uint32_t i) {
    return counts ? double(data(*counts)[i])
           : even ? double(p.rnLength)
                  : double(i < p.headCountLength ? p.headCount : p.tailCount);
  };
  double sum = 0, squares = 0;
  for (uint32_t i = 0; i < p.abLength; ++i) sum += data(in_mean)[i] * (even ? 1.0 : weight(i));
  const double middle = sum * (even ? p.abRec : p.rRec);
  for (uint32_t i = 0; i < p.abLength; ++i)
    squares += data(in_variance)[i] + weight(i) * (data(in_mean)[i] - middle) * (data(in_mean)[i] - middle);
  data(mean)[0] = float(middle), data(variance)[0] = float(squares * p.rRec);
}
}  // namespace whole_details
template <typename T, typename U, bool isReuseSource = false, WelfordUpdateConfig config = WFUPDATE_DEFAULT_CFG>
__aicore__ inline void WelfordUpdate(const LocalTensor<U>& outputMean, const LocalTensor<U>& outputVariance,
                                     const LocalTensor<U>& inputMean, const LocalTensor<U>& inputVariance,
                                     const LocalTensor<T>& inputX, const LocalTensor<uint8_t>& tmp,
                                     const WelfordUpdateParam& para, OPHOOK_AT) {
  const auto work = tmp.view();
  whole_details::welford_update<config.isInplace>(outputMean, outputVariance, inputMean, inputVariance, inputX, &work,
                                                  para, at);
  if constexpr (isReuseSource) advanced_details::spent(inputX, para.abLength, outputMean, outputVariance);
}
template <typename T, typename U, bool isReuseSource = false, WelfordUpdateConfig config = WFUPDATE_DEFAULT_CFG>
__aicore__ inline void WelfordUpdate(const LocalTensor<U>& outputMean, const LocalTensor<U>& outputVariance,
                                     const LocalTensor<U>& inputMean, const LocalTensor<U>& inputVariance,
                                     const LocalTensor<T>& inputX, const WelfordUpdateParam& para, OPHOOK_AT) {
  whole_details::welford_update<config.isInplace>(outputMean, outputVariance, inputMean, inputVariance, inputX, nullptr,
                                                  para, at);
  if constexpr (isReuseSource) advanced_details::spent(inputX, para.abLength, outputMean, outputVariance);
}
#define OPHOOK_FINALIZE(more, given, tmp, work)                                                                   \
  template <bool isReuseSource = false, WelfordFinalizeConfig config = WFFINALIZE_DEFAULT_CFG>                    \
  __aicore__ inline void WelfordFinalize(                                                                         \
      const LocalTensor<float>& outputMean, const LocalTensor<float>& outputVariance,                             \
      const LocalTensor<float>& inputMean, const LocalTensor<float>& inputVariance more tmp,                      \
      WelfordFinalizePara& para, OPHOOK_AT) {                                                                     \
    static_assert(!config.isCorrection, "WelfordFinalize: isCorrection is Ascend950's");                          \
    whole_details::welford_finalize(outputMean, outputVariance, inputMean, inputVariance, given, work, para, at); \
  }
#define OPHOOK_COUNTS , const LocalTensor<int32_t>& counts
#define OPHOOK_TMP , const LocalTensor<uint8_t>& tmp
OPHOOK_FINALIZE(, nullptr, , nullptr)
OPHOOK_FINALIZE(, nullptr, OPHOOK_TMP, whole_details::Work(tmp))
OPHOOK_FINALIZE(OPHOOK_COUNTS, &counts, , nullptr)
OPHOOK_FINALIZE(OPHOOK_COUNTS, &counts, OPHOOK_TMP, whole_details::Work(tmp))
#undef OPHOOK_FINALIZE
#undef OPHOOK_COUNTS
#undef OPHOOK_TMP
#undef OPHOOK_AT

}  // namespace AscendC
