// Quantization by the formulas of its pages: numbers to int8_t (AscendQuant), sums in int32_t to numbers
// (AscendDequant), and int8_t to numbers (AscendAntiQuant). Where a page says in which type a step is computed, its
// rounding is that type's.
#pragma once

#include "whole.h"

namespace AscendC {

#define OPHOOK_AT ophook::rt::At at = ophook::rt::At::here()

struct AscendQuantConfig {
  uint32_t calcCount = 0, offsetCount = 0, scaleCount = 0, workLocalSize = 0;
};
constexpr AscendQuantConfig ASCEND_QUANT_DEFAULT_CFG{0, 0, 0, 0};

namespace whole_details {
inline int8_t quantized(float value) {
  const float even = std::nearbyint(value);
  return int8_t(even != even ? 0 : even < -128 ? -128 : even > 127 ? 127 : even);
}
// Everything is half from the first step on.
inline int8_t quantized(float x, float scale, float offset) {
  return quantized(float(half(float(half(float(half(x)) * float(half(scale)))) + float(half(offset)))));
}

template <typename T>
void quantize(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const Local* work, float scale, float offset,
              uint64_t count, At at) {
  static_assert(real<T>, "AscendQuant: half or float");
  if (!ophook::rt::whole("AscendQuant", {part(dst, count, "the destination")}, {part(src, count, "the source")}, work,
                         at))
    return;
  for (uint64_t i = 0; i < count; ++i) data(dst)[i] = quantized(wide(data(src)[i]), scale, offset);
}
// A scale for each of `channels`, again and again.
template <typename T, typename F>
void quantize(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const Local* work, const LocalTensor<T>& scale,
              F offset, uint64_t channels, uint64_t count, At at) {
  static_assert(real<T>, "AscendQuant: half or float");
  if (!channels || channels % 32 || count % channels)
    return ophook::rt::refuse("AscendQuant", "scaleCount is a multiple of 32, and calCount one of scaleCount", at);
  if (!ophook::rt::whole("AscendQuant", {part(dst, count, "the destination")},
                         {part(src, count, "the source"), part(scale, channels, "the scales")}, work, at))
    return;
  for (uint64_t i = 0; i < count; ++i)
    data(dst)[i] = quantized(wide(data(src)[i]), wide(data(scale)[i % channels]), offset(i % channels));
}
}  // namespace whole_details

// Each with a tensor for what lies between and without, for all of the source and for the first calCount elements of
// it.
#define OPHOOK_QUANT_HEAD                                                                                \
  template <typename T, bool isReuseSource = false, AscendQuantConfig config = ASCEND_QUANT_DEFAULT_CFG> \
  __aicore__ inline void AscendQuant(const LocalTensor<int8_t>&dst, const LocalTensor<T>&src,
#define OPHOOK_QUANT(TMP, work)                                                                                                        \
  OPHOOK_QUANT_HEAD TMP const float scale, const float offset, const uint32_t calCount, OPHOOK_AT) {                                   \
    whole_details::quantize(dst, src, work, scale, offset, calCount, at);                                                              \
  }                                                                                                                                    \
  OPHOOK_QUANT_HEAD TMP const float scale, const float offset, OPHOOK_AT) {                                                            \
    whole_details::quantize(dst, src, work, scale, offset, src.GetSize(), at);                                                         \
  }                                                                                                                                    \
  OPHOOK_QUANT_HEAD TMP const LocalTensor<T>& scales, const T offset, const uint32_t scaleCount, const uint32_t calCount, OPHOOK_AT) { \
    whole_details::quantize(dst, src, work, scales, whole_details::Same{offset}, scaleCount, calCount, at);                            \
  }                                                                                                                                    \
  OPHOOK_QUANT_HEAD TMP const LocalTensor<T>& scales, const T offset, OPHOOK_AT) {                                                     \
    whole_details::quantize(dst, src, work, scales, whole_details::Same{offset}, scales.GetSize(), src.GetSize(), at);                 \
  }                                                                                                                                    \
  OPHOOK_QUANT_HEAD TMP const LocalTensor<T>& scales, const LocalTensor<T>& offsets, const uint32_t scaleCount,                        \
                    const uint32_t offsetCount, const uint32_t calCount, OPHOOK_AT) {                                                  \
    if (offsetCount != scaleCount) return ophook::rt::refuse("AscendQuant", "offsetCount is scaleCount", at);                          \
    if (!ophook::rt::whole("AscendQuant", {}, {whole_details::part(offsets, offsetCount, "the offsets")}, nullptr,                     \
                           at))                                                                                                        \
      return;                                                                                                                          \
    whole_details::quantize(dst, src, work, scales, whole_details::Each<T>{offsets}, scaleCount, calCount, at);                        \
  }                                                                                                                                    \
  OPHOOK_QUANT_HEAD TMP const LocalTensor<T>& scales, const LocalTensor<T>& offsets, OPHOOK_AT) {                                      \
    if (!ophook::rt::whole("AscendQuant", {}, {whole_details::part(offsets, offsets.GetSize(), "the offsets")},                        \
                           nullptr, at))                                                                                               \
      return;                                                                                                                          \
    whole_details::quantize(dst, src, work, scales, whole_details::Each<T>{offsets}, scales.GetSize(), src.GetSize(),                  \
                            at);                                                                                                       \
  }
#define OPHOOK_TMP const LocalTensor<uint8_t>&tmp,
namespace whole_details {
template <typename T>
struct Same {  // one number for all
  T value;
  float operator()(uint64_t) const { return wide(value); }
};
template <typename T>
Same(T) -> Same<T>;
template <typename T>
struct Each {
  LocalTensor<T> of;
  float operator()(uint64_t i) const { return wide(data(of)[i]); }
};
}  // namespace whole_details
OPHOOK_QUANT(OPHOOK_TMP, whole_details::Work(tmp))
OPHOOK_QUANT(, nullptr)
#undef OPHOOK_QUANT
#undef OPHOOK_QUANT_HEAD

enum class DeQuantMode { DEQUANT_WITH_SINGLE_ROW, DEQUANT_WITH_MULTI_ROW };
struct DequantParams {
  uint32_t m, n, calCount;
};
namespace whole_details {
// Of a 64-bit scale the low half is a float.
template <typename T>
float scale_of(T scale) {
  if constexpr (std::is_same_v<T, uint64_t>) return __builtin_bit_cast(float, uint32_t(scale));
  else return wide(scale);
}
template <typename dstT, typename scaleT, bool vector>
constexpr bool dequant_types = (std::is_same_v<scaleT, float> || std::is_same_v<scaleT, bfloat16_t>)
                                   ? std::is_same_v<dstT, float> || std::is_same_v<dstT, bfloat16_t>
                                   : vector && std::is_same_v<scaleT, uint64_t> && std::is_same_v<dstT, half>;
template <DeQuantMode mode, typename dstT, typename F>
void dequantize(const LocalTensor<dstT>& dst, const LocalTensor<int32_t>& src, F scale, const Local* work,
                DequantParams p, At at) {
  const uint32_t unit = 32 / sizeof(dstT);
  if (!p.calCount || p.calCount > p.n || p.n % 8)
    return ophook::rt::refuse("AscendDequant", "n is a multiple of 8, and calCount 1 to n", at);
  if (mode == DeQuantMode::DEQUANT_WITH_SINGLE_ROW && p.m == 1 && p.calCount % unit == 0 && p.n % p.calCount == 0)
    p.m = p.n / p.calCount, p.n = p.calCount;
  const uint64_t line = (p.n + unit - 1) / unit * unit;
  if (!ophook::rt::whole("AscendDequant", {part(dst, p.m * line, "the destination")},
                         {part(src, uint64_t(p.m) * p.n, "the source")}, work, at))
    return;
  ophook::rt::apart("AscendDequant", part(dst, p.m * line, ""), {part(src, uint64_t(p.m) * p.n, "")}, at);
  for (uint64_t row = 0; row < p.m; ++row)
    for (uint32_t i = 0; i < p.n; ++i)  // beyond calCount nothing is promised; the page shows the source's numbers
      data(dst)[row * line + i] = narrow<dstT>(float(data(src)[row * p.n + i]) * (i < p.calCount ? scale(i) : 1.0f));
}
}  // namespace whole_details
#define OPHOOK_DEQUANT(TMP, work)                                                                                      \
  template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>                   \
  __aicore__ inline void AscendDequant(const LocalTensor<dstT>& dst, const LocalTensor<int32_t>& src,                  \
                                       const LocalTensor<scaleT>& scales, TMP DequantParams params, OPHOOK_AT) {       \
    static_assert(whole_details::dequant_types<dstT, scaleT, true>,                                                    \
                  "AscendDequant: half by uint64_t, float and bfloat16_t by float or bfloat16_t");                     \
    if (!ophook::rt::whole("AscendDequant", {}, {whole_details::part(scales, params.calCount, "the scales")}, nullptr, \
                           at))                                                                                        \
      return;                                                                                                          \
    whole_details::dequantize<mode>(                                                                                   \
        dst, src, [&](uint32_t i) { return whole_details::scale_of(whole_details::data(scales)[i]); }, work, params,   \
        at);                                                                                                           \
  }                                                                                                                    \
  template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW,                   \
            typename = std::enable_if_t<whole_details::dequant_types<dstT, scaleT, false>>>                            \
  __aicore__ inline void AscendDequant(const LocalTensor<dstT>& dst, const LocalTensor<int32_t>& src,                  \
                                       const scaleT deqScale, TMP DequantParams params, OPHOOK_AT) {                   \
    whole_details::dequantize<mode>(                                                                                   \
        dst, src, [&](uint32_t) { return whole_details::scale_of(deqScale); }, work, params, at);                      \
  }
OPHOOK_DEQUANT(OPHOOK_TMP, whole_details::Work(tmp))
OPHOOK_DEQUANT(, nullptr)
#undef OPHOOK_DEQUANT
// Older forms: {1, elements of the source, calCount}, or as many as there are scales.
#define OPHOOK_DEQUANT_ROW(TMP, given, COUNT, count)                                                       \
  template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>       \
  __aicore__ inline void AscendDequant(const LocalTensor<dstT>& dst, const LocalTensor<int32_t>& src,      \
                                       const LocalTensor<scaleT>& scales, TMP COUNT OPHOOK_AT) {           \
    AscendDequant<dstT, scaleT, mode>(dst, src, scales, given DequantParams{1, src.GetSize(), count}, at); \
  }
#define OPHOOK_GIVEN tmp,
#define OPHOOK_COUNT const uint32_t calCount,
OPHOOK_DEQUANT_ROW(OPHOOK_TMP, OPHOOK_GIVEN, OPHOOK_COUNT, calCount)
OPHOOK_DEQUANT_ROW(OPHOOK_TMP, OPHOOK_GIVEN, , scales.GetSize())
OPHOOK_DEQUANT_ROW(, , OPHOOK_COUNT, calCount)
OPHOOK_DEQUANT_ROW(, , , scales.GetSize())
#undef OPHOOK_COUNT
#undef OPHOOK_GIVEN
#undef OPHOOK_DEQUANT_ROW

struct AntiQuantShapeInfo {
  uint32_t offsetHeight{0}, offsetWidth{0}, scaleHeight{0}, scaleWidth{0};
};
namespace whole_details {
// Through half where the result is half, through float where it is bfloat16_t.
template <typename T>
T antiquantized(float x, float offset, float scale) {
  if constexpr (std::is_same_v<T, half>) return half(float(half(x + offset)) * scale);
  else return T((x + offset) * scale);
}
template <typename U>
float number_of(const LocalTensor<U>& tensor, uint64_t i) {
  if constexpr (!std::is_same_v<U, int4b_t>) return float(data(tensor)[i]);
  else return float(int8_t(reinterpret_cast<const uint8_t*>(data(tensor))[i / 2] >> i % 2 * 4 << 4) >> 4);
}
template <typename U, typename T, bool transposed, typename F, typename G>
void antiquantize(const LocalTensor<T>& dst, const LocalTensor<U>& src, F offset, G scale, const Local* work,
                  uint32_t k, uint32_t groups, At at) {
  static_assert(std::is_same_v<U, int8_t> || std::is_same_v<U, int4b_t>, "AscendAntiQuant: int8_t or int4b_t");
  static_assert(std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>, "AscendAntiQuant: half or bfloat16_t");
  const uint64_t all = src.GetSize(), rows = transposed ? all / (k ? k : 1) : k,
                 width = transposed ? k : all / (k ? k : 1);
  if (!k || all % k || !groups || k % groups)
    return ophook::rt::refuse("AscendAntiQuant", "k has to divide the source, and the height of scale k", at);
  if (tensor_bytes<U>(all) % 32 || (transposed && tensor_bytes<U>(k) % 32))
    return ophook::rt::refuse("AscendAntiQuant", "the source, and where it is transposed k, takes whole blocks", at);
  if (!ophook::rt::whole("AscendAntiQuant", {part(dst, all, "the destination")}, {part(src, all, "the source")}, work,
                         at))
    return;
  ophook::rt::apart("AscendAntiQuant", part(dst, all, ""), {part(src, all, "")}, at);
  for (uint64_t row = 0; row < rows; ++row)
    for (uint64_t i = 0; i < width; ++i) {
      const uint64_t of = transposed ? row * groups + i / (k / groups) : row / (k / groups) * width + i;
      data(dst)[row * width + i] = antiquantized<T>(number_of(src, row * width + i), offset(of), scale(of));
    }
}
template <typename T>
std::pair<uint32_t, uint32_t> shape_of(const LocalTensor<T>& tensor, uint32_t height, uint32_t width) {
  if (height && width) return {height, width};
  const ShapeInfo info = tensor.GetShapeInfo();
  return info.shapeDim == 2 ? std::pair(info.shape[0], info.shape[1]) : std::pair(uint32_t(0), uint32_t(0));
}
}  // namespace whole_details
// A scale (and an offset) for each channel: the shape comes with the call, or with the tensor that SetShapeInfo told.
#define OPHOOK_ANTIQUANT(TMP, work)                                                                                   \
  template <typename U, typename T, bool isTranspose>                                                                 \
  __aicore__ inline void AscendAntiQuant(const LocalTensor<T>& dst, const LocalTensor<U>& src,                        \
                                         const LocalTensor<T>& offset, const LocalTensor<T>& scale,                   \
                                         TMP const uint32_t k, const AntiQuantShapeInfo& shape = {}, OPHOOK_AT) {     \
    const auto [height, width] = whole_details::shape_of(offset, shape.offsetHeight, shape.offsetWidth);              \
    const uint64_t numbers = uint64_t(height) * width;                                                                \
    if (!ophook::rt::whole(                                                                                           \
            "AscendAntiQuant", {},                                                                                    \
            {whole_details::part(offset, numbers, "the offsets"), whole_details::part(scale, numbers, "the scales")}, \
            nullptr, at))                                                                                             \
      return;                                                                                                         \
    whole_details::antiquantize<U, T, isTranspose>(dst, src, whole_details::Each<T>{offset},                          \
                                                   whole_details::Each<T>{scale}, work, k,                            \
                                                   isTranspose ? width : height, at);                                 \
  }                                                                                                                   \
  template <typename U, typename T, bool isTranspose>                                                                 \
  __aicore__ inline void AscendAntiQuant(const LocalTensor<T>& dst, const LocalTensor<U>& src, const T offset,        \
                                         const T scale, TMP const uint32_t k, const AntiQuantShapeInfo& = {},         \
                                         OPHOOK_AT) {                                                                 \
    whole_details::antiquantize<U, T, isTranspose>(dst, src, whole_details::Same{offset}, whole_details::Same{scale}, \
                                                   work, k, 1, at);                                                   \
  }
OPHOOK_ANTIQUANT(OPHOOK_TMP, whole_details::Work(tmp))
OPHOOK_ANTIQUANT(, nullptr)
#undef OPHOOK_ANTIQUANT
// Without an offset.
template <typename U, typename T, bool isTranspose>
__aicore__ inline void AscendAntiQuant(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                                       const LocalTensor<T>& scale, OPHOOK_TMP const uint32_t k,
                                       const AntiQuantShapeInfo& shape = {}, OPHOOK_AT) {
  const auto [height, width] = whole_details::shape_of(scale, shape.scaleHeight, shape.scaleWidth);
  if (!ophook::rt::whole("AscendAntiQuant", {}, {whole_details::part(scale, uint64_t(height) * width, "the scales")},
                         nullptr, at))
    return;
  whole_details::antiquantize<U, T, isTranspose>(dst, src, whole_details::Same{0}, whole_details::Each<T>{scale},
                                                 whole_details::Work(tmp), k, isTranspose ? width : height, at);
}
template <typename U, typename T, bool isTranspose>
__aicore__ inline void AscendAntiQuant(const LocalTensor<T>& dst, const LocalTensor<U>& src, const T scale,
                                       OPHOOK_TMP const uint32_t k, const AntiQuantShapeInfo& = {}, OPHOOK_AT) {
  whole_details::antiquantize<U, T, isTranspose>(dst, src, whole_details::Same{0}, whole_details::Same{scale},
                                                 whole_details::Work(tmp), k, 1, at);
}
#undef OPHOOK_TMP
#undef OPHOOK_AT

}  // namespace AscendC
