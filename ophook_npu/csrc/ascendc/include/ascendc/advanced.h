// The advanced functions: whole rows at once. On the device each is a sequence of vector instructions; here one that
// reads and writes as they do, computed in float and rounded once.
#pragma once

#include "../kernel_tiling/kernel_tiling.h"
#include "type_names.h"
#include "vector.h"

namespace ophook::rt {

// `count` rows of `width` elements each, of which the first `valid` have a meaning.
struct RowShape {
  uint32_t count = 0, width = 0, valid = 0;
  uint32_t fractal_rows = 0;  // of the format NZ: rows of a column of fractals, each 16 elements wide; 0: ND
  uint64_t all() const { return uint64_t(fractal_rows ? fractal_rows : count) * width; }
  uint64_t at(uint64_t row, uint64_t i) const {
    return fractal_rows ? (i / 16 * fractal_rows + row) * 16 + i % 16 : row * width + i;
  }
};
enum class RowsOp : uint8_t {
  softmax,
  log_softmax,
  sum,
  sum_in_pairs,
  mean,
  mean_in_pairs,
  mean_in_float_pairs,
  max,
  min,
  prod,
  all,
  any
};
OPHOOK_RT void softmax(RowsOp which, Local dst, const Local* sum, const Local* max, Local src, const Local* work,
                       RowShape shape, At at);
OPHOOK_RT void simple_softmax(Local dst, Local sum, Local max, Local src, const Local* work, RowShape shape, At at);
// A part of longer rows: with `update` it goes on from the maxima and sums of the parts before. expMax: what these have
// to be multiplied by now. `divide`: by the sum so far, as SoftmaxFlash does; SoftmaxFlashV2 leaves that to the end.
struct FlashTensors {
  Local dst, sum, max, src, exp_max, in_sum, in_max;
  bool packed = false;              // one number a row, where else a block of 32 bytes has it
  const Local* part_max = nullptr;  // of this part alone, where it is asked for
};
OPHOOK_RT void softmax_flash(const char* call, const FlashTensors& t, const Local* work, RowShape shape, bool update,
                             bool divide, At at);
// mean, variance: one value a row; NULL for RmsNorm, which has neither mean nor beta.
OPHOOK_RT void normalize(const char* call, Local dst, const Local* mean, const Local* variance, Local src, Local gamma,
                         const Local* beta, const Local* work, RowShape shape, float epsilon, At at);
// One value a row, or with `columns` one a column.
OPHOOK_RT void fold_rows(const char* call, RowsOp which, bool columns, Local dst, Local src, const Local* work,
                         RowShape shape, At at);
// The sum of a[i] ^ b[i], within int16_t.
OPHOOK_RT void xor_sum(Local dst, Local a, Local b, const Local* work, int64_t count, At at);
// `small`: results lie one after the other, and each row has indices of its own; else each row of results begins a
// block, and all rows have the same indices.
struct TopKHow {
  bool largest, sorted, any_type, small;
};
OPHOOK_RT void top_k(Local values, Local indices, Local src, const Local* src_indices, const Local* finished,
                     const Local* work, int32_t k, RowShape shape, TopKHow how, At at);
// Bytes of a source that the function leaves its own numbers in, but where a result lies.
OPHOOK_RT void spent(Local source, uint64_t bytes, std::initializer_list<Local> results);
OPHOOK_RT void needs_tiling(const char* call, bool there, At at);

}  // namespace ophook::rt

namespace AscendC {

struct SoftMaxShapeInfo {
  uint32_t srcM = 0, srcK = 0, oriSrcM = 0, oriSrcK = 0;
};
enum class SoftmaxMode { SOFTMAX_NORMAL = 0, SOFTMAX_OUTPUT_WITHOUT_BRC = 1 };
struct SoftmaxConfig {
  bool isCheckTiling = true;
  uint32_t oriSrcM = 0, oriSrcK = 0;
  SoftmaxMode mode = SoftmaxMode::SOFTMAX_NORMAL;
};
constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG{};

namespace advanced_details {
using ophook::rt::At;
using ophook::rt::Local;
using ophook::rt::RowShape;
struct Work {  // the scratch tensor of a call, for as long as the call's expression
  explicit Work(const LocalTensor<uint8_t>& tmp) : view(tmp.view()) {}
  operator const Local*() const { return &view; }
  Local view;
};
// With isReuseSource the device leaves its own numbers in the source: nothing of it counts as computed from then on.
template <typename T, typename... Results>
void spent(const LocalTensor<T>& source, uint64_t count, const Results&... results) {
  ophook::rt::spent(source.view(), count * sizeof(T), {results.view()...});
}
inline RowShape rows(const char* call, const SoftMaxShapeInfo& shape, uint32_t m, uint32_t k, bool nz, At at) {
  if (!shape.srcM) {
    ophook::rt::needs_tiling(call, m && k, at);
    return {m, k, k, nz ? m : 0};
  }
  return {shape.oriSrcM ? shape.oriSrcM : shape.srcM, shape.srcK, shape.oriSrcK ? shape.oriSrcK : shape.srcK,
          nz ? shape.srcM : 0};
}
}  // namespace advanced_details

namespace advanced_details {
template <typename T, typename S>
constexpr bool softmax_types = std::is_same_v<T, S> || (std::is_same_v<T, half> && std::is_same_v<S, float>);
}
// sum and max have 32 bytes a row, all with the row's value. T is of the matrices, S of the rows' numbers.
#define OPHOOK_SOFTMAX                                                                                      \
  template <typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false, \
            SoftmaxConfig config = SOFTMAX_DEFAULT_CFG, typename S>
OPHOOK_SOFTMAX __aicore__ inline void SoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum,
                                              const LocalTensor<S>& max, const LocalTensor<T>& src,
                                              const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {},
                                              ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(advanced_details::softmax_types<T, S>, "SoftMax: sums and maxima of the same type, or float for half");
  const auto s = sum.view(), m = max.view();
  ophook::rt::softmax(ophook::rt::RowsOp::softmax, dst.view(), &s, &m, src.view(), nullptr,
                      advanced_details::rows("SoftMax", shape, tiling.srcM, tiling.srcK, isDataFormatNZ, at), at);
}
OPHOOK_SOFTMAX __aicore__ inline void SoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum,
                                              const LocalTensor<S>& max, const LocalTensor<T>& src,
                                              const LocalTensor<uint8_t>& tmp, const SoftMaxTiling& tiling,
                                              const SoftMaxShapeInfo& shape = {},
                                              ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(advanced_details::softmax_types<T, S>, "SoftMax: sums and maxima of the same type, or float for half");
  const auto s = sum.view(), m = max.view(), w = tmp.view();
  ophook::rt::softmax(ophook::rt::RowsOp::softmax, dst.view(), &s, &m, src.view(), &w,
                      advanced_details::rows("SoftMax", shape, tiling.srcM, tiling.srcK, isDataFormatNZ, at), at);
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false, SoftmaxConfig config = SOFTMAX_DEFAULT_CFG>
__aicore__ inline void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
                               const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {},
                               ophook::rt::At at = ophook::rt::At::here()) {
  const auto w = tmp.view();
  ophook::rt::softmax(ophook::rt::RowsOp::softmax, dst.view(), nullptr, nullptr, src.view(), &w,
                      advanced_details::rows("SoftMax", shape, tiling.srcM, tiling.srcK, false, at), at);
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false, SoftmaxConfig config = SOFTMAX_DEFAULT_CFG>
__aicore__ inline void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const SoftMaxTiling& tiling,
                               const SoftMaxShapeInfo& shape = {}, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::softmax(ophook::rt::RowsOp::softmax, dst.view(), nullptr, nullptr, src.view(), nullptr,
                      advanced_details::rows("SoftMax", shape, tiling.srcM, tiling.srcK, false, at), at);
}
// By the sums and maxima that it is given, which have 32 bytes a row.
OPHOOK_SOFTMAX __aicore__ inline void SimpleSoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum,
                                                    const LocalTensor<S>& max, const LocalTensor<T>& src,
                                                    const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {},
                                                    ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(advanced_details::softmax_types<T, S>,
                "SimpleSoftMax: sums and maxima of the same type, or float for half");
  ophook::rt::simple_softmax(
      dst.view(), sum.view(), max.view(), src.view(), nullptr,
      advanced_details::rows("SimpleSoftMax", shape, tiling.srcM, tiling.srcK, isDataFormatNZ, at), at);
}
OPHOOK_SOFTMAX __aicore__ inline void SimpleSoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum,
                                                    const LocalTensor<S>& max, const LocalTensor<T>& src,
                                                    const LocalTensor<uint8_t>& tmp, const SoftMaxTiling& tiling,
                                                    const SoftMaxShapeInfo& shape = {},
                                                    ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(advanced_details::softmax_types<T, S>,
                "SimpleSoftMax: sums and maxima of the same type, or float for half");
  ophook::rt::simple_softmax(
      dst.view(), sum.view(), max.view(), src.view(), advanced_details::Work(tmp),
      advanced_details::rows("SimpleSoftMax", shape, tiling.srcM, tiling.srcK, isDataFormatNZ, at), at);
}
#undef OPHOOK_SOFTMAX
template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
__aicore__ inline void LogSoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& sum, const LocalTensor<T>& max,
                                  const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
                                  const LogSoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {},
                                  ophook::rt::At at = ophook::rt::At::here()) {
  const auto s = sum.view(), m = max.view(), w = tmp.view();
  ophook::rt::softmax(ophook::rt::RowsOp::log_softmax, dst.view(), &s, &m, src.view(), &w,
                      advanced_details::rows("LogSoftMax", shape, tiling.srcM, tiling.srcK, isDataFormatNZ, at), at);
}
template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
__aicore__ inline void LogSoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& sum, const LocalTensor<T>& max,
                                  const LocalTensor<T>& src, const LogSoftMaxTiling& tiling,
                                  const SoftMaxShapeInfo& shape = {}, ophook::rt::At at = ophook::rt::At::here()) {
  const auto s = sum.view(), m = max.view();
  ophook::rt::softmax(ophook::rt::RowsOp::log_softmax, dst.view(), &s, &m, src.view(), nullptr,
                      advanced_details::rows("LogSoftMax", shape, tiling.srcM, tiling.srcK, isDataFormatNZ, at), at);
}

// The tiling of a shape that only the kernel knows. Our functions read these two of it.
__aicore__ inline constexpr SoftMaxTiling SoftMaxFlashV2TilingFunc(
    const SoftMaxShapeInfo& shapeInfo, const uint32_t dataTypeSize1, const uint32_t dataTypeSize2,
    const uint32_t localWorkSpaceSize, const bool isUpdate = false, const bool isBasicBlock = false,
    const bool isDataFormatNZ = false, const bool isFlashOutputBrc = false) {
  SoftMaxTiling tiling{};
  tiling.srcM = shapeInfo.srcM, tiling.srcK = shapeInfo.srcK;
  return tiling;
}

// sum, max and expMax, inSum and inMax have 32 bytes a row, or with SOFTMAX_OUTPUT_WITHOUT_BRC one number. T is of the
// matrices, S of the rows' numbers.
#define OPHOOK_FLASH                                                                                  \
  template <typename T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false, \
            bool isDataFormatNZ = false, SoftmaxConfig config = SOFTMAX_DEFAULT_CFG, typename S, typename E>
namespace advanced_details {
template <bool isUpdate, bool isDataFormatNZ>
void flash_v2(const ophook::rt::FlashTensors& t, const Local* work, const SoftMaxTiling& tiling,
              const SoftMaxShapeInfo& shape, At at) {
  ophook::rt::softmax_flash("SoftmaxFlashV2", t, work,
                            rows("SoftmaxFlashV2", shape, tiling.srcM, tiling.srcK, isDataFormatNZ, at), isUpdate,
                            false, at);
}
constexpr bool packed(const SoftmaxConfig& config) { return config.mode == SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC; }
}  // namespace advanced_details
OPHOOK_FLASH __aicore__ inline void SoftmaxFlashV2(const LocalTensor<T>& dst, const LocalTensor<S>& expSum,
                                                   const LocalTensor<S>& max, const LocalTensor<T>& src,
                                                   const LocalTensor<E>& expMax, const LocalTensor<S>& inExpSum,
                                                   const LocalTensor<S>& inMax, const SoftMaxTiling& tiling,
                                                   const SoftMaxShapeInfo& shape = {},
                                                   ophook::rt::At at = ophook::rt::At::here()) {
  advanced_details::flash_v2<isUpdate, isDataFormatNZ>(
      {dst.view(), expSum.view(), max.view(), src.view(), expMax.view(), inExpSum.view(), inMax.view(),
       advanced_details::packed(config)},
      nullptr, tiling, shape, at);
}
OPHOOK_FLASH __aicore__ inline void SoftmaxFlashV2(const LocalTensor<T>& dst, const LocalTensor<S>& expSum,
                                                   const LocalTensor<S>& max, const LocalTensor<T>& src,
                                                   const LocalTensor<E>& expMax, const LocalTensor<S>& inExpSum,
                                                   const LocalTensor<S>& inMax, const LocalTensor<uint8_t>& tmp,
                                                   const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {},
                                                   ophook::rt::At at = ophook::rt::At::here()) {
  advanced_details::flash_v2<isUpdate, isDataFormatNZ>(
      {dst.view(), expSum.view(), max.view(), src.view(), expMax.view(), inExpSum.view(), inMax.view(),
       advanced_details::packed(config)},
      advanced_details::Work(tmp), tiling, shape, at);
}
// With the maxima of this part, which are written where isUpdate is true.
OPHOOK_FLASH __aicore__ inline void SoftmaxFlashV2(const LocalTensor<T>& dst, const LocalTensor<S>& reduceMax,
                                                   const LocalTensor<S>& expSum, const LocalTensor<S>& max,
                                                   const LocalTensor<T>& src, const LocalTensor<E>& expMax,
                                                   const LocalTensor<S>& inExpSum, const LocalTensor<S>& inMax,
                                                   const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {},
                                                   ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(advanced_details::packed(config),
                "SoftmaxFlashV2: the maxima of a part need SOFTMAX_OUTPUT_WITHOUT_BRC");
  const auto part = reduceMax.view();
  advanced_details::flash_v2<isUpdate, isDataFormatNZ>(
      {dst.view(), expSum.view(), max.view(), src.view(), expMax.view(), inExpSum.view(), inMax.view(), true, &part},
      nullptr, tiling, shape, at);
}
OPHOOK_FLASH __aicore__ inline void SoftmaxFlashV2(const LocalTensor<T>& dst, const LocalTensor<S>& reduceMax,
                                                   const LocalTensor<S>& expSum, const LocalTensor<S>& max,
                                                   const LocalTensor<T>& src, const LocalTensor<E>& expMax,
                                                   const LocalTensor<S>& inExpSum, const LocalTensor<S>& inMax,
                                                   const LocalTensor<uint8_t>& tmp, const SoftMaxTiling& tiling,
                                                   const SoftMaxShapeInfo& shape = {},
                                                   ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(advanced_details::packed(config),
                "SoftmaxFlashV2: the maxima of a part need SOFTMAX_OUTPUT_WITHOUT_BRC");
  const auto part = reduceMax.view();
  advanced_details::flash_v2<isUpdate, isDataFormatNZ>(
      {dst.view(), expSum.view(), max.view(), src.view(), expMax.view(), inExpSum.view(), inMax.view(), true, &part},
      advanced_details::Work(tmp), tiling, shape, at);
}
#undef OPHOOK_FLASH
template <typename T, bool isReuseSource = false, bool isBasicBlock = false, typename S, typename E>
__aicore__ inline void SoftmaxFlash(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max,
                                    const LocalTensor<T>& src, const LocalTensor<E>& expMax,
                                    const LocalTensor<S>& inSum, const LocalTensor<S>& inMax,
                                    const SoftMaxTiling& tiling, bool isUpdate = false,
                                    const SoftMaxShapeInfo& shape = {}, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::softmax_flash(
      "SoftmaxFlash", {dst.view(), sum.view(), max.view(), src.view(), expMax.view(), inSum.view(), inMax.view()},
      nullptr, advanced_details::rows("SoftmaxFlash", shape, tiling.srcM, tiling.srcK, false, at), isUpdate, true, at);
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false, typename S, typename E>
__aicore__ inline void SoftmaxFlash(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max,
                                    const LocalTensor<T>& src, const LocalTensor<E>& expMax,
                                    const LocalTensor<S>& inSum, const LocalTensor<S>& inMax,
                                    const LocalTensor<uint8_t>& tmp, const SoftMaxTiling& tiling, bool isUpdate = false,
                                    const SoftMaxShapeInfo& shape = {}, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::softmax_flash(
      "SoftmaxFlash", {dst.view(), sum.view(), max.view(), src.view(), expMax.view(), inSum.view(), inMax.view()},
      advanced_details::Work(tmp), advanced_details::rows("SoftmaxFlash", shape, tiling.srcM, tiling.srcK, false, at),
      isUpdate, true, at);
}

// Rows are the last dimension of (B, S, H).
template <typename T, bool isReuseSource = false>
__aicore__ inline void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& mean,
                                 const LocalTensor<T>& variance, const LocalTensor<T>& x, const LocalTensor<T>& gamma,
                                 const LocalTensor<T>& beta, const LocalTensor<uint8_t>& tmp, const T epsilon,
                                 const LayerNormTiling& t, ophook::rt::At at = ophook::rt::At::here()) {
  const auto m = mean.view(), v = variance.view(), b = beta.view(), w = tmp.view();
  ophook::rt::needs_tiling("LayerNorm", t.bLength && t.sLength && t.hLength, at);
  ophook::rt::normalize("LayerNorm", output.view(), &m, &v, x.view(), gamma.view(), &b, &w,
                        {t.bLength * t.sLength, t.hLength, t.originalHLength ? t.originalHLength : t.hLength},
                        float(epsilon), at);
  if constexpr (isReuseSource && std::is_same_v<T, float>)
    advanced_details::spent(x, uint64_t(t.bLength) * t.sLength * t.hLength, output, mean, variance);
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& mean,
                                 const LocalTensor<T>& variance, const LocalTensor<T>& x, const LocalTensor<T>& gamma,
                                 const LocalTensor<T>& beta, const T epsilon, const LayerNormTiling& t,
                                 ophook::rt::At at = ophook::rt::At::here()) {
  const auto m = mean.view(), v = variance.view(), b = beta.view();
  ophook::rt::needs_tiling("LayerNorm", t.bLength && t.sLength && t.hLength, at);
  ophook::rt::normalize("LayerNorm", output.view(), &m, &v, x.view(), gamma.view(), &b, nullptr,
                        {t.bLength * t.sLength, t.hLength, t.originalHLength ? t.originalHLength : t.hLength},
                        float(epsilon), at);
  if constexpr (isReuseSource && std::is_same_v<T, float>)
    advanced_details::spent(x, uint64_t(t.bLength) * t.sLength * t.hLength, output, mean, variance);
}
template <typename T, bool isBasicBlock = false>
__aicore__ inline void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma,
                               const LocalTensor<uint8_t>& tmp, const T epsilon, const RmsNormTiling& t,
                               ophook::rt::At at = ophook::rt::At::here()) {
  const auto w = tmp.view();
  ophook::rt::needs_tiling("RmsNorm", t.bLength && t.sLength && t.hLength, at);
  ophook::rt::normalize("RmsNorm", dst.view(), nullptr, nullptr, src.view(), gamma.view(), nullptr, &w,
                        {t.bLength * t.sLength, t.hLength, t.originalHLength ? t.originalHLength : t.hLength},
                        float(epsilon), at);
}
template <typename T, bool isBasicBlock = false>
__aicore__ inline void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma,
                               const T epsilon, const RmsNormTiling& t, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::needs_tiling("RmsNorm", t.bLength && t.sLength && t.hLength, at);
  ophook::rt::normalize("RmsNorm", dst.view(), nullptr, nullptr, src.view(), gamma.view(), nullptr, nullptr,
                        {t.bLength * t.sLength, t.hLength, t.originalHLength ? t.originalHLength : t.hLength},
                        float(epsilon), at);
}

struct SumParams {
  uint32_t outter = 1, inner = 0, n = 0;
};
struct MeanParams {
  uint32_t outter = 1, inner = 0, n = 0;
};
template <typename T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
__aicore__ inline void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
                           const SumParams& p, ophook::rt::At at = ophook::rt::At::here()) {
  const auto w = tmp.view();
  ophook::rt::fold_rows("Sum", ophook::rt::RowsOp::sum_in_pairs, false, dst.view(), src.view(), &w,
                        {p.outter, p.inner, p.n}, at);
}
template <typename T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
__aicore__ inline void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const SumParams& p,
                           ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::fold_rows("Sum", ophook::rt::RowsOp::sum_in_pairs, false, dst.view(), src.view(), nullptr,
                        {p.outter, p.inner, p.n}, at);
}
// The sum is Sum's, in accType: of half alone it may be infinite.
namespace advanced_details {
template <typename T, typename accType>
void mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Local* work, const MeanParams& p, At at) {
  static_assert(
      type_details::listed<T>("half, float") && (std::is_same_v<accType, T> || std::is_same_v<accType, float>),
      "Mean: half or float, and accType the same or float");
  using ophook::rt::RowsOp;
  ophook::rt::fold_rows("Mean", std::is_same_v<accType, T> ? RowsOp::mean_in_pairs : RowsOp::mean_in_float_pairs, false,
                        dst.view(), src.view(), work, {p.outter, p.inner, p.n}, at);
}
}  // namespace advanced_details
template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false,
          int32_t reduceDim = -1>
__aicore__ inline void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
                            const MeanParams& p, ophook::rt::At at = ophook::rt::At::here()) {
  advanced_details::mean<T, accType>(dst, src, advanced_details::Work(tmp), p, at);
}
template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false,
          int32_t reduceDim = -1>
__aicore__ inline void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, const MeanParams& p,
                            ophook::rt::At at = ophook::rt::At::here()) {
  advanced_details::mean<T, accType>(dst, src, nullptr, p, at);
}

// Which of two dimensions is reduced: AR the last, RA the first.
namespace Pattern::Reduce {
struct AR {
  static constexpr bool columns = false;
};
struct RA {
  static constexpr bool columns = true;
};
}  // namespace Pattern::Reduce
namespace advanced_details {
template <typename T>
RowShape padded_rows(const uint32_t shape[], bool padded) {
  const uint32_t unit = uint32_t(32 / sizeof(T));
  return {shape[0], padded ? (shape[1] + unit - 1) / unit * unit : shape[1], shape[1]};
}
}  // namespace advanced_details
#define OPHOOK_REDUCE(name, which, types, newer)                                                                     \
  template <typename T, class pattern, bool isReuseSource = false, bool columns = pattern::columns>                  \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp, \
                              const uint32_t shape[], bool padded, ophook::rt::At at = ophook::rt::At::here()) {     \
    OPHOOK_REDUCED(name, types, newer)                                                                               \
    const auto w = tmp.view();                                                                                       \
    ophook::rt::fold_rows(#name, ophook::rt::RowsOp::which, columns, dst.view(), src.view(), &w,                     \
                          advanced_details::padded_rows<T>(shape, padded), at);                                      \
    if constexpr (isReuseSource)                                                                                     \
      advanced_details::spent(src, advanced_details::padded_rows<T>(shape, padded).all(), dst);                      \
  }                                                                                                                  \
  template <typename T, class pattern, bool isReuseSource = false, bool columns = pattern::columns>                  \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t shape[],          \
                              bool padded, ophook::rt::At at = ophook::rt::At::here()) {                             \
    OPHOOK_REDUCED(name, types, newer)                                                                               \
    ophook::rt::fold_rows(#name, ophook::rt::RowsOp::which, columns, dst.view(), src.view(), nullptr,                \
                          advanced_details::padded_rows<T>(shape, padded), at);                                      \
    if constexpr (isReuseSource)                                                                                     \
      advanced_details::spent(src, advanced_details::padded_rows<T>(shape, padded).all(), dst);                      \
  }
#if __NPU_ARCH__ == 3510
#define OPHOOK_REDUCED(name, types, newer) static_assert(type_details::listed<T>(newer), #name ": " newer);
#else
#define OPHOOK_REDUCED(name, types, newer) static_assert(type_details::listed<T>(types), #name ": " types);
#endif
#define OPHOOK_EVERY "int8_t, uint8_t, int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float, int64_t, uint64_t"
//            name        computed  on an Atlas A2 or A3  on an Ascend950
OPHOOK_REDUCE(ReduceSum, sum, "float", "int32_t, uint32_t, float, int64_t, uint64_t")
OPHOOK_REDUCE(ReduceMean, mean, "float", "float")
OPHOOK_REDUCE(ReduceMax, max, "half, float", OPHOOK_EVERY)
OPHOOK_REDUCE(ReduceMin, min, "half, float", OPHOOK_EVERY)
OPHOOK_REDUCE(ReduceProd, prod, "float", "float")
OPHOOK_REDUCE(ReduceAll, all, "uint8_t, float", "uint8_t, float")
OPHOOK_REDUCE(ReduceAny, any, "uint8_t, float", "uint8_t, float")
#undef OPHOOK_REDUCE
#undef OPHOOK_REDUCED
#undef OPHOOK_EVERY

template <typename T, bool isReuseSource = false>
__aicore__ inline void ReduceXorSum(LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                                    LocalTensor<uint8_t>& tmp, const uint32_t calCount,
                                    ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(std::is_same_v<T, int16_t>, "ReduceXorSum: int16_t");
  const auto w = tmp.view();
  ophook::rt::xor_sum(dst.view(), src0.view(), src1.view(), &w, calCount, at);
  if constexpr (isReuseSource)
    advanced_details::spent(src0, calCount, dst), advanced_details::spent(src1, calCount, dst);
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void ReduceXorSum(LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                                    const uint32_t calCount, ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(std::is_same_v<T, int16_t>, "ReduceXorSum: int16_t");
  ophook::rt::xor_sum(dst.view(), src0.view(), src1.view(), nullptr, calCount, at);
  if constexpr (isReuseSource)
    advanced_details::spent(src0, calCount, dst), advanced_details::spent(src1, calCount, dst);
}

struct TopKInfo {
  int32_t outter = 1, inner = 0, n = 0;
};
// The algorithm of an Ascend950 that has all data types needs no tiling.
#define OPHOOK_TOP_K(work, ...)                                                                                        \
  template <typename T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,                   \
            enum TopKMode topkMode = TopKMode::TOPK_NORMAL, OPHOOK_CONFIG(TopKConfig) config = defaultTopKConfig>      \
  __aicore__ inline void TopK(const LocalTensor<T>& dstValue, const LocalTensor<int32_t>& dstIndex,                    \
                              const LocalTensor<T>& src, const LocalTensor<int32_t>& srcIndex,                         \
                              const LocalTensor<bool>& finish, __VA_ARGS__ const int32_t k, const TopkTiling& tiling,  \
                              const TopKInfo& info, const bool isLargest = true,                                       \
                              ophook::rt::At at = ophook::rt::At::here()) {                                            \
    constexpr bool radix = config.algo == TopKAlgo::RADIX_SELECT;                                                      \
    static_assert(algorithm_details::configured(&config, &defaultTopKConfig),                                          \
                  "TopK: a configuration is for an Ascend950 alone");                                                  \
    static_assert(type_details::listed<T>("half, float") || radix, "TopK: half, float; all with RADIX_SELECT");        \
    constexpr bool small = topkMode == TopKMode::TOPK_NSMALL;                                                          \
    const auto i = srcIndex.view(), f = finish.view();                                                                 \
    const bool largest = config.order == TopKOrder::UNSET ? isLargest : config.order == TopKOrder::LARGEST;            \
    if (!radix) ophook::rt::needs_tiling("TopK", tiling.allDataSize > 0, at);                                          \
    ophook::rt::top_k(                                                                                                 \
        dstValue.view(), dstIndex.view(), src.view(), isInitIndex ? &i : nullptr, isHasfinish ? &f : nullptr, work, k, \
        {uint32_t(info.outter), uint32_t(info.inner), uint32_t(info.n)}, {largest, config.sorted, radix, small}, at);  \
  }
OPHOOK_TOP_K(advanced_details::Work(tmp), const LocalTensor<uint8_t>& tmp, )
OPHOOK_TOP_K(nullptr, )
#undef OPHOOK_TOP_K

}  // namespace AscendC
