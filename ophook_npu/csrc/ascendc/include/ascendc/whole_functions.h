// Activations, gates, masks, paddings, sequences and other formulas over whole tensors (whole.h).
#pragma once

#include "whole.h"

namespace AscendC {

namespace whole_details {
inline float gelu(float x) { return x / (1.0f + std::exp(-1.5957691216057308f * (x + 0.044715f * x * x * x))); }
inline float faster_gelu(float x) { return x / (1.0f + std::exp(-1.702f * x)); }
// Two parabolas in the place of the error function.
inline float faster_gelu_v2(float x) {
  const float off = std::min(std::fabs(x) * 0.7071f, 1.769f) - 1.769f;
  return 0.5f * x * (1.0f + std::copysign(1.0f - 0.2888f * off * off, x));
}
inline float swish(float x, float beta) { return x / (1.0f + std::exp(-beta * x)); }
}  // namespace whole_details

#define OPHOOK_AT ophook::rt::At at = ophook::rt::At::here()
#define OPHOOK_REAL(name) static_assert(whole_details::real<T>, name ": half or float")

#define OPHOOK_GELU(name, formula)                                                                                   \
  template <typename T, bool highPrecision = false, bool highPerformance = false>                                    \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dataSize,         \
                              OPHOOK_AT) {                                                                           \
    OPHOOK_REAL(#name);                                                                                              \
    whole_details::each<true>(#name, dst, src, nullptr, dataSize, at,                                                \
                              [](float x) { return whole_details::formula(x); });                                    \
  }                                                                                                                  \
  template <typename T, bool highPrecision = false, bool highPerformance = false>                                    \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp, \
                              const uint32_t dataSize, OPHOOK_AT) {                                                  \
    OPHOOK_REAL(#name);                                                                                              \
    const auto work = tmp.view();                                                                                    \
    whole_details::each<true>(#name, dst, src, &work, dataSize, at,                                                  \
                              [](float x) { return whole_details::formula(x); });                                    \
  }
OPHOOK_GELU(Gelu, gelu)
OPHOOK_GELU(FasterGelu, faster_gelu)
OPHOOK_GELU(FasterGeluV2, faster_gelu_v2)
#undef OPHOOK_GELU

// a gate: src0 times a function of src1
#define OPHOOK_GATE(name, types, formula)                                                                             \
  template <typename T, bool isReuseSource = false>                                                                   \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,      \
                              const LocalTensor<uint8_t>& tmp, uint32_t calCount, OPHOOK_AT) {                        \
    static_assert(type_details::listed<T>(types), #name ": " types);                                                  \
    const auto work = tmp.view();                                                                                     \
    whole_details::each(#name, dst, src0, src1, &work, calCount, at, [](float a, float b) { return a * (formula); }); \
  }                                                                                                                   \
  template <typename T, bool isReuseSource = false>                                                                   \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,      \
                              uint32_t calCount, OPHOOK_AT) {                                                         \
    static_assert(type_details::listed<T>(types), #name ": " types);                                                  \
    whole_details::each(#name, dst, src0, src1, nullptr, calCount, at,                                                \
                        [](float a, float b) { return a * (formula); });                                              \
  }                                                                                                                   \
  template <typename T, bool isReuseSource = false>                                                                   \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,      \
                              const LocalTensor<uint8_t>& tmp, OPHOOK_AT) {                                           \
    name<T, isReuseSource>(dst, src0, src1, tmp, src0.GetSize(), at);                                                 \
  }                                                                                                                   \
  template <typename T, bool isReuseSource = false>                                                                   \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,      \
                              OPHOOK_AT) {                                                                            \
    name<T, isReuseSource>(dst, src0, src1, src0.GetSize(), at);                                                      \
  }
OPHOOK_GATE(GeGLU, "half, float", whole_details::gelu(b))
OPHOOK_GATE(ReGlu, "half, bfloat16_t, float", b > 0 ? b : 0)
#undef OPHOOK_GATE

template <typename T, bool isReuseSource = false>
__aicore__ inline void SwiGLU(LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                              const float& beta, const LocalTensor<uint8_t>& tmp, const uint32_t calCount, OPHOOK_AT) {
  OPHOOK_REAL("SwiGLU");
  const auto work = tmp.view();
  whole_details::each("SwiGLU", dst, src0, src1, &work, calCount, at,
                      [beta](float a, float b) { return a * whole_details::swish(b, beta); });
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void SwiGLU(LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                              const float& beta, const LocalTensor<uint8_t>& tmp, OPHOOK_AT) {
  SwiGLU<T, isReuseSource>(dst, src0, src1, beta, tmp, src0.GetSize(), at);
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void SwiGLU(LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                              const float& beta, const uint32_t calCount, OPHOOK_AT) {
  OPHOOK_REAL("SwiGLU");
  whole_details::each("SwiGLU", dst, src0, src1, nullptr, calCount, at,
                      [beta](float a, float b) { return a * whole_details::swish(b, beta); });
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void SwiGLU(LocalTensor<T>& dst, LocalTensor<T>& src0, LocalTensor<T>& src1, const float& beta,
                              OPHOOK_AT) {
  SwiGLU<T, isReuseSource>(dst, src0, src1, beta, src0.GetSize(), at);
}
template <typename T, bool isReuseSource = false>
__aicore__ inline void Swish(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t dataSize, const T beta,
                             OPHOOK_AT) {
  OPHOOK_REAL("Swish");
  const float factor = whole_details::wide(beta);
  whole_details::each("Swish", dst, src, nullptr, dataSize, at,
                      [factor](float x) { return whole_details::swish(x, factor); });
}

template <typename T>
__aicore__ inline void Arange(const LocalTensor<T>& dst, const T first, const T difference, const int32_t count,
                              OPHOOK_AT) {
  static_assert(whole_details::one_of<T, int16_t, half, int32_t, float>, "Arange: int16_t, half, int32_t, float");
  if (count <= 0 || difference < T(0))
    return ophook::rt::refuse("Arange", "count is above 0, and diffValue is not negative", at);
  ArithProgression(dst, first, difference, count, at);
}

struct DropOutShapeInfo {
  DropOutShapeInfo() = default;
  uint32_t firstAxis = 0, srcLastAxis = 0, maskLastAxis = 0;
};
// dropOutMode: 0 by the shapes, 1 and 2 a byte an element, 3 and 4 a bit.
namespace whole_details {
template <uint32_t dropOutMode, typename T>
void drop_out(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& mask, const Local* work,
              const float keepProb, const DropOutShapeInfo& info, At at) {
  OPHOOK_REAL("DropOut");
  static_assert(dropOutMode <= 4, "DropOut: dropOutMode is 0 to 4");
  if (!(keepProb > 0 && keepProb <= 1) || !info.maskLastAxis)
    return ophook::rt::refuse("DropOut", "keepProb is above 0 and up to 1, maskLastAxis above 0", at);
  const bool bits = dropOutMode ? dropOutMode >= 3 : info.maskLastAxis < info.srcLastAxis;
  const uint64_t all = uint64_t(info.firstAxis) * info.srcLastAxis, line = info.maskLastAxis;
  if (!ophook::rt::whole("DropOut", {part(dst, all, "the destination")},
                         {part(src, all, "the source"), part(mask, info.firstAxis * line, "the mask")}, work, at))
    return;
  const float factor = 1.0f / keepProb;
  for (uint32_t row = 0; row < info.firstAxis; ++row)
    for (uint32_t i = 0; i < info.srcLastAxis; ++i) {
      const uint8_t* m = data(mask) + row * line;
      const bool keep = bits ? m[i / 8] >> i % 8 & 1 : m[i] != 0;
      const uint64_t at_element = uint64_t(row) * info.srcLastAxis + i;
      data(dst)[at_element] = keep ? narrow<T>(wide(data(src)[at_element]) * factor) : T(0);
    }
}
}  // namespace whole_details
template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
__aicore__ inline void DropOut(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& mask,
                               const LocalTensor<uint8_t>& tmp, const float keepProb, const DropOutShapeInfo& info,
                               OPHOOK_AT) {
  whole_details::drop_out<dropOutMode>(dst, src, mask, whole_details::Work(tmp), keepProb, info, at);
}
template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
__aicore__ inline void DropOut(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& mask,
                               const float keepProb, const DropOutShapeInfo& info, OPHOOK_AT) {
  whole_details::drop_out<dropOutMode>(dst, src, mask, nullptr, keepProb, info, at);
}

struct SelectWithBytesMaskShapeInfo {
  SelectWithBytesMaskShapeInfo() = default;
  uint32_t firstAxis = 0, srcLastAxis = 0, maskLastAxis = 0;
};
namespace whole_details {
// The scalar where the mask has (or, with `scalar_first`, has not) a 0.
template <typename T, typename U>
void select_bytes(const LocalTensor<T>& dst, const LocalTensor<T>& src, T scalar, bool scalar_first,
                  const LocalTensor<U>& mask, const LocalTensor<uint8_t>& tmp, const SelectWithBytesMaskShapeInfo& info,
                  At at) {
  OPHOOK_REAL("Select");
  static_assert(one_of<U, bool, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t>,
                "Select: the mask is bool, int8_t, uint8_t, int16_t, uint16_t, int32_t or uint32_t");
  if (info.srcLastAxis * sizeof(T) % 32 || info.maskLastAxis * sizeof(U) % 32 || info.maskLastAxis % 16 ||
      info.maskLastAxis < info.srcLastAxis)
    return ophook::rt::refuse(
        "Select",
        "rows of the source and of the mask are multiples of 32 bytes, and of the mask as long as "
        "the source's and multiples of 16 elements",
        at);
  const uint64_t all = uint64_t(info.firstAxis) * info.srcLastAxis;
  const auto work = tmp.view();
  if (!ophook::rt::whole(
          "Select", {part(dst, all, "the destination")},
          {part(src, all, "the source"), part(mask, uint64_t(info.firstAxis) * info.maskLastAxis, "the mask")}, &work,
          at))
    return;
  for (uint32_t row = 0; row < info.firstAxis; ++row)
    for (uint32_t i = 0; i < info.srcLastAxis; ++i) {
      const bool set = data(mask)[uint64_t(row) * info.maskLastAxis + i] != U(0);
      const uint64_t e = uint64_t(row) * info.srcLastAxis + i;
      data(dst)[e] = set != scalar_first ? scalar : data(src)[e];
    }
}
}  // namespace whole_details
template <typename T, typename U, bool isReuseMask = true>
__aicore__ inline void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, T src1, const LocalTensor<U>& mask,
                              const LocalTensor<uint8_t>& tmp, const SelectWithBytesMaskShapeInfo& info, OPHOOK_AT) {
  whole_details::select_bytes(dst, src0, src1, false, mask, tmp, info, at);
}
template <typename T, typename U, bool isReuseMask = true>
__aicore__ inline void Select(const LocalTensor<T>& dst, T src0, const LocalTensor<T>& src1, const LocalTensor<U>& mask,
                              const LocalTensor<uint8_t>& tmp, const SelectWithBytesMaskShapeInfo& info, OPHOOK_AT) {
  whole_details::select_bytes(dst, src1, src0, true, mask, tmp, info, at);
}
// Its name up to CANN 8.1.
template <typename T, typename U, bool isReuseMask = true, typename A, typename B>
__aicore__ inline void SelectWithBytesMask(const LocalTensor<T>& dst, const A& src0, const B& src1,
                                           const LocalTensor<U>& mask, const LocalTensor<uint8_t>& tmp,
                                           const SelectWithBytesMaskShapeInfo& info, OPHOOK_AT) {
  Select<T, U, isReuseMask>(dst, src0, src1, mask, tmp, info, at);
}

struct PadParams {
  PadParams() = default;
  PadParams(uint16_t left, uint16_t right, int32_t value) : leftPad(left), rightPad(right), padValue(value) {}
  uint16_t leftPad = 0, rightPad = 0;
  int32_t padValue = 0;
};
struct UnPadParams {
  UnPadParams() = default;
  UnPadParams(uint16_t left, uint16_t right) : leftPad(left), rightPad(right) {}
  uint16_t leftPad = 0, rightPad = 0;
};
namespace whole_details {
template <typename T>
constexpr bool padded = one_of<T, int16_t, uint16_t, half, int32_t, uint32_t, float>;
template <typename T>
void pad(const LocalTensor<T>& dst, const LocalTensor<T>& src, const PadParams& p, const Local* work,
         const PadTiling& t, At at) {
  static_assert(padded<T>, "Pad: int16_t, uint16_t, half, int32_t, uint32_t, float");
  ophook::rt::needs_tiling("Pad", t.srcHeight && t.srcWidth, at);
  // A width that is whole blocks already has the pad in it.
  const bool inside = t.srcWidth * sizeof(T) % 32 == 0;
  const uint32_t given = inside ? t.srcOriWidth : t.srcWidth,
                 width = inside ? t.srcWidth : t.srcWidth + p.leftPad + p.rightPad;
  if (inside && (p.leftPad || t.srcOriWidth >= t.srcWidth))
    return ophook::rt::refuse("Pad",
                              "a width of whole blocks is padded on the right, in columns that are there already", at);
  if (width > (t.srcWidth * sizeof(T) + 31) / 32 * 32 / sizeof(T))
    return ophook::rt::refuse("Pad", "a padded row ends with the block of 32 bytes in which the row does", at);
  const uint64_t from = uint64_t(t.srcHeight) * t.srcWidth, to = uint64_t(t.srcHeight) * width;
  if (!ophook::rt::whole("Pad", {part(dst, to, "the destination")}, {part(src, from, "the source")}, work, at)) return;
  const std::vector<T> all(data(src), data(src) + from);
  const uint32_t left = inside ? 0 : p.leftPad;
  for (uint32_t row = 0; row < t.srcHeight; ++row)
    for (uint32_t i = 0; i < width; ++i)
      data(dst)[uint64_t(row) * width + i] =
          i >= left && i < left + given ? all[uint64_t(row) * t.srcWidth + i - left] : T(p.padValue);
}
template <typename T>
void unpad(const LocalTensor<T>& dst, const LocalTensor<T>& src, const UnPadParams& p, const Local* work,
           const UnPadTiling& t, At at) {
  static_assert(padded<T>, "UnPad: int16_t, uint16_t, half, int32_t, uint32_t, float");
  ophook::rt::needs_tiling("UnPad", t.srcHeight && t.srcWidth, at);
  if (t.srcWidth * sizeof(T) % 32) return ophook::rt::refuse("UnPad", "the width is a multiple of 32 bytes", at);
  if (p.leftPad || !p.rightPad || p.rightPad * sizeof(T) >= 32)
    return ophook::rt::refuse("UnPad", "leftPad has no effect on a device, and rightPad is above 0 and below 32 bytes",
                              at);
  const uint32_t width = t.srcWidth - p.leftPad - p.rightPad;
  if (!ophook::rt::whole("UnPad", {part(dst, uint64_t(t.srcHeight) * width, "the destination")},
                         {part(src, uint64_t(t.srcHeight) * t.srcWidth, "the source")}, work, at))
    return;
  for (uint32_t row = 0; row < t.srcHeight; ++row)
    for (uint32_t i = 0; i < width; ++i)
      data(dst)[uint64_t(row) * width + i] = data(src)[uint64_t(row) * t.srcWidth + p.leftPad + i];
}
}  // namespace whole_details
template <typename T>
__aicore__ inline void Pad(const LocalTensor<T>& dst, const LocalTensor<T>& src, PadParams& p, PadTiling& tiling,
                           OPHOOK_AT) {
  whole_details::pad(dst, src, p, nullptr, tiling, at);
}
template <typename T>
__aicore__ inline void Pad(const LocalTensor<T>& dst, const LocalTensor<T>& src, PadParams& p,
                           const LocalTensor<uint8_t>& tmp, PadTiling& tiling, OPHOOK_AT) {
  const auto work = tmp.view();
  whole_details::pad(dst, src, p, &work, tiling, at);
}
template <typename T>
__aicore__ inline void UnPad(const LocalTensor<T>& dst, const LocalTensor<T>& src, UnPadParams& p, UnPadTiling& tiling,
                             OPHOOK_AT) {
  whole_details::unpad(dst, src, p, nullptr, tiling, at);
}
template <typename T>
__aicore__ inline void UnPad(const LocalTensor<T>& dst, const LocalTensor<T>& src, UnPadParams& p,
                             LocalTensor<uint8_t>& tmp, UnPadTiling& tiling, OPHOOK_AT) {
  const auto work = tmp.view();
  whole_details::unpad(dst, src, p, &work, tiling, at);
}

namespace whole_details {
template <typename T, int32_t dim, int32_t axis>
void broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t* to, const uint32_t* from,
               const Local* work, At at) {
  static_assert((dim == 1 || dim == 2) && axis >= 0 && axis < dim,
                "Broadcast: one or two dimensions, and one of them is repeated");
#if __NPU_ARCH__ == 2201
  static_assert(one_of<T, int8_t, uint8_t, half, float>, "Broadcast: int8_t, uint8_t, half, float");
#endif
  if (from[axis] != 1 && from[axis] != to[axis])
    return ophook::rt::refuse("Broadcast", "the dimension that is repeated is 1 in the source", at);
  if (dim == 2 && from[1 - axis] != to[1 - axis])
    return ophook::rt::refuse("Broadcast", "the other dimension is the same in source and destination", at);
  const Local there = dst.view(), here = src.view();
  const uint64_t taken = uint64_t(from[0]) * (dim == 2 ? from[1] : 1) * sizeof(T),
                 given = uint64_t(to[0]) * (dim == 2 ? to[1] : 1) * sizeof(T);
  if (there.offset < here.offset + taken && here.offset < there.offset + given)
    return ophook::rt::refuse("Broadcast", "source and destination overlap", at);
  if (dim == 2 && axis == 0 && from[1] * sizeof(T) % 32)
    return ophook::rt::refuse("Broadcast", "rows that are repeated are multiples of 32 bytes", at);
  const uint32_t rows = dim == 2 ? to[0] : 1, columns = to[dim - 1], have_rows = dim == 2 ? from[0] : 1,
                 have = from[dim - 1];
  std::vector<uint32_t> origins(uint64_t(rows) * columns);
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t i = 0; i < columns; ++i)
      origins[uint64_t(row) * columns + i] = (have_rows == 1 ? 0 : row) * have + (have == 1 ? 0 : i);
  if (!ophook::rt::moves("Broadcast", part(dst, origins.size(), "the destination"),
                         part(src, uint64_t(have_rows) * have, "the source"), origins, work, at))
    return;
  const std::vector<T> all(data(src), data(src) + uint64_t(have_rows) * have);
  for (size_t e = 0; e < origins.size(); ++e) data(dst)[e] = all[origins[e]];
}
}  // namespace whole_details
#define OPHOOK_BROADCAST(name)                                                                                \
  template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>                                \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t* dstShape, \
                              const uint32_t* srcShape, OPHOOK_AT) {                                          \
    whole_details::broadcast<T, dim, axis>(dst, src, dstShape, srcShape, nullptr, at);                        \
  }                                                                                                           \
  template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>                                \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t* dstShape, \
                              const uint32_t* srcShape, LocalTensor<uint8_t>& tmp, OPHOOK_AT) {               \
    const auto work = tmp.view();                                                                             \
    whole_details::broadcast<T, dim, axis>(dst, src, dstShape, srcShape, &work, at);                          \
  }
OPHOOK_BROADCAST(Broadcast)
OPHOOK_BROADCAST(BroadCast)  // an older name, which the vendor's examples use
#undef OPHOOK_BROADCAST

enum class CumSumAlgorithm { CUMSUM_ALGORITHM_LINEBYLINE = 0, CUMSUM_ALGORITHM_SKLANSKY = 1 };
struct CumSumConfig {
  bool isLastAxis{true};
  bool isReuseSource{false};
  bool outputLastRow{false};
  CumSumAlgorithm algorithm{CumSumAlgorithm::CUMSUM_ALGORITHM_LINEBYLINE};
};
constexpr CumSumConfig defaultCumSumConfig{};
struct CumSumInfo {
  uint32_t outter{0};
  uint32_t inner{0};
};
namespace whole_details {
template <typename T, CumSumConfig config>
void cum_sum(LocalTensor<T>& dst, LocalTensor<T>& last, const LocalTensor<T>& src, const Local* work,
             const CumSumInfo& info, At at) {
  static_assert(real<T>, "CumSum: half or float");
  const uint64_t all = uint64_t(info.outter) * info.inner;
  if (!all || info.inner * sizeof(T) % 32)
    return ophook::rt::refuse("CumSum", "outter and inner are more than 0, and inner takes whole blocks", at);
  const Part to = part(dst, all, "the destination"), from = part(src, all, "the source");
  if (!(config.outputLastRow
            ? ophook::rt::whole("CumSum", {to, part(last, info.inner, "the last row")}, {from}, work, at)
            : ophook::rt::whole("CumSum", {to}, {from}, work, at)))
    return;
  std::vector<float> sums = values(src, all);
  for (uint64_t i = 0; i < all; ++i) {
    const uint64_t back = config.isLastAxis ? 1 : info.inner;
    if (config.isLastAxis ? i % info.inner != 0 : i >= back) sums[i] += sums[i - back];
  }
  for (uint64_t i = 0; i < all; ++i) data(dst)[i] = narrow<T>(sums[i]);
  if (config.outputLastRow)
    for (uint32_t i = 0; i < info.inner; ++i) data(last)[i] = data(dst)[all - info.inner + i];
}
}  // namespace whole_details
template <typename T, CumSumConfig config = defaultCumSumConfig>
__aicore__ inline void CumSum(LocalTensor<T>& dst, LocalTensor<T>& lastRow, const LocalTensor<T>& src,
                              LocalTensor<uint8_t>& tmp, const CumSumInfo& info, OPHOOK_AT) {
  const auto work = tmp.view();
  whole_details::cum_sum<T, config>(dst, lastRow, src, &work, info, at);
}
template <typename T, CumSumConfig config = defaultCumSumConfig>
__aicore__ inline void CumSum(LocalTensor<T>& dst, LocalTensor<T>& lastRow, const LocalTensor<T>& src,
                              const CumSumInfo& info, OPHOOK_AT) {
  whole_details::cum_sum<T, config>(dst, lastRow, src, nullptr, info, at);
}

// dst += src * scalar with a tensor for what lies between.
template <typename T, typename U, bool isReuseSource = false>
__aicore__ inline void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U scalar,
                            const LocalTensor<uint8_t>& tmp, const uint32_t calCount, OPHOOK_AT) {
  static_assert(whole_details::real<T> && whole_details::real<U> && sizeof(T) >= sizeof(U),
                "Axpy: half to half or float, float to float");
  const auto work = tmp.view();
  if (!ophook::rt::whole(
          "Axpy", {whole_details::part(dst, calCount, "the destination")},
          {whole_details::part(dst, calCount, "the destination"), whole_details::part(src, calCount, "the source")},
          &work, at))
    return;
  ophook::rt::apart("Axpy", whole_details::part(dst, calCount, ""), {whole_details::part(src, calCount, "")}, at);
  for (uint32_t i = 0; i < calCount; ++i)
    whole_details::data(dst)[i] =
        whole_details::narrow<T>(whole_details::wide(whole_details::data(dst)[i]) +
                                 whole_details::wide(whole_details::data(src)[i]) * whole_details::wide(scalar));
}
#define OPHOOK_CLAMP(name, sign)                                                                                      \
  template <typename T, bool isReuseSource = false>                                                                   \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,  \
                              const T scalar, const uint32_t calCount, OPHOOK_AT) {                                   \
    OPHOOK_REAL(#name);                                                                                               \
    const auto work = tmp.view();                                                                                     \
    const float bound = whole_details::wide(scalar);                                                                  \
    whole_details::each(#name, dst, src, &work, calCount, at, [bound](float x) { return x sign bound ? bound : x; }); \
  }
OPHOOK_CLAMP(ClampMax, >)
OPHOOK_CLAMP(ClampMin, <)
#undef OPHOOK_CLAMP
// expandLevel: how many terms of a series the device takes; here it is the function itself.
template <typename T, uint8_t expandLevel, bool isReuseSource = false>
__aicore__ inline void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
                           const uint32_t calCount, OPHOOK_AT) {
  OPHOOK_REAL("Exp");
  const auto work = tmp.view();
  whole_details::each("Exp", dst, src, &work, calCount, at, [](float x) { return std::exp(x); });
  if constexpr (isReuseSource && std::is_same_v<T, float>) advanced_details::spent(src, calCount, dst);
}
template <typename T, uint8_t expandLevel, bool isReuseSource = false>
__aicore__ inline void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t calCount, OPHOOK_AT) {
  OPHOOK_REAL("Exp");
  whole_details::each("Exp", dst, src, nullptr, calCount, at, [](float x) { return std::exp(x); });
  if constexpr (isReuseSource && std::is_same_v<T, float>) advanced_details::spent(src, calCount, dst);
}

// Blocks of 32 bytes of src0, each times a number of src1, summed up along hRepeat: what the page makes of Gatherb,
// Brcb, Mul and Add, each of which rounds.
namespace whole_details {
inline void interpolate(const LocalTensor<half>& dst, const LocalTensor<half>& src0,
                        const LocalTensor<uint32_t>& offsets, const LocalTensor<half>& src1, const uint64_t (&mask)[2],
                        uint32_t across, bool each_block, uint32_t block_stride, uint32_t next_row, uint32_t rows,
                        const LocalTensor<uint8_t>& tmp, At at) {
  const char* call = "BilinearInterpolation";
  constexpr uint32_t kLanes = 16, kBlocks = 8;
  const uint64_t repeats = uint64_t(across) * rows, numbers = repeats * (each_block ? kBlocks : 1);
  if (!across || !rows || next_row < 128 || next_row == 65535 || next_row % kLanes)
    return ophook::rt::refuse(call, "hRepeat and vRepeat are 1 to 255, vROffset 128 to 65534 and whole blocks", at);
  const uint64_t end = uint64_t(rows - 1) * next_row + uint64_t(kBlocks - 1) * block_stride * kLanes + kLanes;
  const uint64_t scratch = (uint64_t(src0.GetSize()) + src1.GetSize()) * 32;
  if (!ophook::rt::whole(call, {part(dst, end, "the destination")},
                         {part(offsets, repeats * kBlocks, "src0Offset"), part(src1, numbers, "src1")}, nullptr, at))
    return;
  if (tmp.GetSize() < scratch)
    return ophook::rt::refuse(call, "sharedTmpBuffer has 32 bytes for each element of src0 and of src1", at);
  std::vector<half> sums(uint64_t(rows) * kBlocks * kLanes, half(0));
  for (uint64_t repeat = 0; repeat < repeats; ++repeat)
    for (uint32_t block = 0; block < kBlocks; ++block) {
      const uint64_t from = data(offsets)[repeat * kBlocks + block];
      if (from % 32 || from + 32 > uint64_t(src0.GetSize()) * 2)
        return ophook::rt::refuse(call, "src0Offset has multiples of 32 bytes within src0", at);
      if (!ophook::rt::whole(call, {}, {part(src0[uint32_t(from / 2)], kLanes, "src0")}, nullptr, at)) return;
      const float factor = float(data(src1)[each_block ? repeat * kBlocks + block : repeat]);
      half* sum = &sums[(repeat / across * kBlocks + block) * kLanes];
      for (uint32_t i = 0; i < kLanes; ++i) {
        const half product = half(float(data(src0)[from / 2 + i]) * factor);
        sum[i] = repeat % across ? half(float(sum[i]) + float(product)) : product;
      }
    }
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t lane = 0; lane < kBlocks * kLanes; ++lane)
      if (mask[lane / 64] >> lane % 64 & 1)
        data(dst)[uint64_t(row) * next_row + lane / kLanes * block_stride * kLanes + lane % kLanes] =
            sums[row * kBlocks * kLanes + lane];
}
}  // namespace whole_details
#define OPHOOK_INTERPOLATION(given, ...)                                                                             \
  template <typename T>                                                                                              \
  __aicore__ inline void BilinearInterpolation(                                                                      \
      const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src0Offset,                \
      const LocalTensor<T>& src1, given, uint8_t hRepeat, bool repeatMode, uint16_t dstBlkStride, uint16_t vROffset, \
      uint8_t vRepeat, const LocalTensor<uint8_t>& sharedTmpBuffer, OPHOOK_AT) {                                     \
    static_assert(std::is_same_v<T, half>, "BilinearInterpolation: half");                                           \
    const uint64_t bits[2] = {__VA_ARGS__};                                                                          \
    whole_details::interpolate(dst, src0, src0Offset, src1, bits, hRepeat, repeatMode, dstBlkStride, vROffset,       \
                               vRepeat, sharedTmpBuffer, at);                                                        \
  }
OPHOOK_INTERPOLATION(uint64_t mask[], mask[0], mask[1])
OPHOOK_INTERPOLATION(uint64_t mask, mask >= 64 ? ~uint64_t{0} : (uint64_t{1} << mask) - 1,
                     mask >= 128 ? ~uint64_t{0}
                     : mask > 64 ? (uint64_t{1} << (mask - 64)) - 1
                                 : 0)
#undef OPHOOK_INTERPOLATION

namespace whole_details {
#if __NPU_ARCH__ == 2201
template <typename T>
constexpr bool filled = one_of<T, uint16_t, int16_t, half, uint32_t, int32_t, float>;
#else
template <typename T>
constexpr bool filled = true;
#endif
}  // namespace whole_details
// A core fills its device memory by copies from the vector unit's local memory.
#define OPHOOK_FILL(name, Taken, ...)                                                                     \
  template <typename T>                                                                                   \
  __aicore__ inline void name(Taken gm, const uint64_t size, const T value __VA_ARGS__, OPHOOK_AT) {      \
    static_assert(whole_details::filled<T>, #name ": uint16_t, int16_t, half, uint32_t, int32_t, float"); \
    ophook::rt::fill_global(#name, gm.view(), size, sizeof(T), &value, at);                               \
  }
OPHOOK_FILL(Fill, GlobalTensor<T>&)
// Older names, which the vendor's examples and operators use; the first takes a part of a tensor, too, and no value.
OPHOOK_FILL(InitOutput, GlobalTensor<T>, = T(0))
OPHOOK_FILL(InitGlobalMemory, GlobalTensor<T>&)
#undef OPHOOK_FILL

#undef OPHOOK_REAL
#undef OPHOOK_AT

}  // namespace AscendC
