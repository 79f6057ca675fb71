// Transposing more than 16 by 16 elements.
#pragma once

#include "../kernel_tiling/kernel_tiling.h"
#include "layout.h"
#include "modes.h"
#include "reduce.h"
#include "vector.h"
#include "whole.h"

namespace ophook::rt {
struct Scatter {
  bool dst_high = false, src_high = false;
  uint32_t repeat = 1, dst_step = 0, src_step = 0;  // steps in blocks
};
OPHOOK_RT uint64_t* address_register(int number);                                 // eight addresses
OPHOOK_RT void trans_data(const Local* dst, const Local* src, Scatter p, At at);  // 16 of each
OPHOOK_RT Local local_of(const void* address, Dtype dtype);                       // what GetPhyAddr gave
OPHOOK_RT void transpose_matrix(const char* call, Local dst, Local src, const Local* work, uint32_t outer,
                                uint32_t rows, uint32_t columns, At at);
OPHOOK_RT void transpose_refuse(const char* call, int type, At at);
}  // namespace ophook::rt

namespace AscendC {

struct TransDataTo5HDParams {
  TransDataTo5HDParams() = default;
  TransDataTo5HDParams(bool dst_high, bool src_high, uint8_t repeat, uint16_t dst_step, uint16_t src_step)
      : dstHighHalf(dst_high),
        srcHighHalf(src_high),
        repeatTimes(repeat),
        dstRepStride(dst_step),
        srcRepStride(src_step) {}
  bool dstHighHalf = false, srcHighHalf = false;
  uint8_t repeatTimes = 1;
  uint16_t dstRepStride = 0, srcRepStride = 0;
};

constexpr int32_t NCHW_CONV_ADDR_LIST_SIZE = 16;
template <typename T>
__aicore__ inline void TransDataTo5HD(const LocalTensor<T> (&dst)[16], const LocalTensor<T> (&src)[16],
                                      const TransDataTo5HDParams& p, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::Local to[16], from[16];
  for (int i = 0; i < 16; ++i) to[i] = dst[i].view(), from[i] = src[i].view();
  ophook::rt::trans_data(to, from, {p.dstHighHalf, p.srcHighHalf, p.repeatTimes, p.dstRepStride, p.srcRepStride}, at);
}
template <typename T>  // the name below, which no page has, by which kernels hand over addresses as such
__aicore__ inline void TransDataTo5HDImpl(T* dst[16], T* src[16], const TransDataTo5HDParams& p,
                                          ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::Local to[16], from[16];
  for (int i = 0; i < 16; ++i) {
    to[i] = ophook::rt::local_of(dst[i], ophook::rt::dtype_of<T>());
    from[i] = ophook::rt::local_of(src[i], ophook::rt::dtype_of<T>());
  }
  ophook::rt::trans_data(to, from, {p.dstHighHalf, p.srcHighHalf, p.repeatTimes, p.dstRepStride, p.srcRepStride}, at);
}
template <typename T>
__aicore__ inline void TransDataTo5HD(uint64_t dst[16], uint64_t src[16], const TransDataTo5HDParams& p,
                                      ophook::rt::At at = ophook::rt::At::here()) {
  T *to[16], *from[16];
  for (int i = 0; i < 16; ++i) to[i] = reinterpret_cast<T*>(dst[i]), from[i] = reinterpret_cast<T*>(src[i]);
  TransDataTo5HDImpl(to, from, p, at);
}
template <typename T>  // addresses that lie in local memory, from where they are loaded
__aicore__ inline void TransDataTo5HD(const LocalTensor<uint64_t>& dst, const LocalTensor<uint64_t>& src,
                                      const TransDataTo5HDParams& p, ophook::rt::At at = ophook::rt::At::here()) {
  uint64_t to[16], from[16];
  for (int i = 0; i < 16; ++i) to[i] = dst.GetValue(i, at), from[i] = src.GetValue(i, at);
  TransDataTo5HD<T>(to, from, p, at);
}

enum class TransposeType : uint8_t {
  TRANSPOSE_TYPE_NONE,
  TRANSPOSE_NZ2ND_0213,
  TRANSPOSE_NZ2NZ_0213,
  TRANSPOSE_NZ2NZ_012_WITH_N,
  TRANSPOSE_NZ2ND_012_WITH_N,
  TRANSPOSE_NZ2ND_012_WITHOUT_N,
  TRANSPOSE_NZ2NZ_012_WITHOUT_N,
  TRANSPOSE_ND2ND_ONLY,
  TRANSPOSE_ND_UB_GM,
  TRANSPOSE_GRAD_ND_UB_GM,
  TRANSPOSE_ND2ND_B16,
  TRANSPOSE_NCHW2NHWC,
  TRANSPOSE_NHWC2NCHW,
  TRANSPOSE_ND2ND_021,  // these of Ascend 950
  TRANSPOSE_ND2ND_102,
  TRANSPOSE_ND2ND_210,
  TRANSPOSE_ND2NZ_WITH_INTLV,
};
struct TransposeParamsExt {
  TransposeParamsExt() = default;
  TransposeParamsExt(uint16_t n, uint16_t c, uint16_t h, uint16_t w, TransposeType type)
      : nSize(n), cSize(c), hSize(h), wSize(w), transposeType(type) {}
  uint16_t nSize = 0, cSize = 0, hSize = 0, wSize = 0;
  TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
};
template <typename T>
__aicore__ inline void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
                                 const TransposeParamsExt& p, ophook::rt::At at = ophook::rt::At::here()) {
  const auto w = tmp.view();
  const uint32_t area = uint32_t(p.hSize) * p.wSize;
  const bool channels_last = p.transposeType == TransposeType::TRANSPOSE_NCHW2NHWC;
  if (channels_last || p.transposeType == TransposeType::TRANSPOSE_NHWC2NCHW) {
    if (!p.nSize || !p.cSize || !area) return;  // by its page nothing is done then
    if (p.cSize > 4095 || area > 4095 || area * sizeof(T) % 32)
      return ophook::rt::refuse("Transpose",
                                "cSize and hSize * wSize are up to 4095, and hSize * wSize elements are a multiple of "
                                "32 bytes",
                                at);
    ophook::rt::transpose_matrix("Transpose", dst.view(), src.view(), &w, p.nSize, channels_last ? p.cSize : area,
                                 channels_last ? area : p.cSize, at);
  } else if (p.transposeType == TransposeType::TRANSPOSE_ND2ND_B16) {
    ophook::rt::transpose16(dst.view(), src.view(), at);  // which needs no temporary tensor, and may be in place
  } else if (p.transposeType != TransposeType::TRANSPOSE_TYPE_NONE) {
    ophook::rt::transpose_refuse("Transpose", int(p.transposeType), at);
  }
}
namespace transpose_details {
// What TransposeType says of fractals: (B, N, S, H / N) becomes (B, S, N, H / N), and a last dimension is split into N
// parts or made of them.
template <typename T>
void fractals(const char* call, const LocalTensor<T>& dst, const LocalTensor<T>& src, const ophook::rt::Local* work,
              TransposeType type, const ConfusionTransposeTiling& t, ophook::rt::At at) {
  ophook::rt::needs_tiling(call, t.param0 && t.param1 && t.param2 && t.param3, at);
  const uint64_t b = t.param0, n = t.param1, s = t.param2, h = t.param3, all = b * n * s * h;
  const bool turns = type <= TransposeType::TRANSPOSE_NZ2NZ_0213, turned = type == TransposeType::TRANSPOSE_NZ2NZ_0213;
  if (s % 16 || h % 16 || (turned && n % 16))
    return ophook::rt::refuse(call,
                              turns ? "the dimensions of fractals are multiples of 16"
                                    : "S and H / N of other sizes than multiples of 16 are not implemented",
                              at);
  if (!ophook::rt::whole(call, {whole_details::part(dst, all, "the destination")},
                         {whole_details::part(src, all, "the source")}, work, at))
    return;
  // Of matrices of `rows` by `columns`.
  auto in_nz = [](uint64_t matrix, uint64_t row, uint64_t column, uint64_t rows, uint64_t columns) {
    return matrix * rows * columns + (column / 16 * rows + row) * 16 + column % 16;
  };
  auto in_nd = [](uint64_t matrix, uint64_t row, uint64_t column, uint64_t rows, uint64_t columns) {
    return (matrix * rows + row) * columns + column;
  };
  for (uint64_t i = 0; i < b; ++i)
    for (uint64_t j = 0; j < n; ++j)
      for (uint64_t k = 0; k < s; ++k)
        for (uint64_t l = 0; l < h; ++l) {
          const uint64_t parts = in_nz(i * n + j, k, l, s, h), whole = in_nz(i, k, j * h + l, s, n * h);
          uint64_t from = parts, to = whole;
          switch (type) {
            case TransposeType::TRANSPOSE_NZ2ND_0213: to = in_nd(i * s + k, j, l, n, h); break;
            case TransposeType::TRANSPOSE_NZ2NZ_0213: to = in_nz(i * s + k, j, l, n, h); break;
            case TransposeType::TRANSPOSE_NZ2NZ_012_WITH_N: from = whole, to = parts; break;
            case TransposeType::TRANSPOSE_NZ2ND_012_WITH_N: from = whole, to = in_nd(i * n + j, k, l, s, h); break;
            case TransposeType::TRANSPOSE_NZ2ND_012_WITHOUT_N: to = in_nd(i, k, j * h + l, s, n * h); break;
            default: break;  // TRANSPOSE_NZ2NZ_012_WITHOUT_N
          }
          whole_details::data(dst)[to] = whole_details::data(src)[from];
        }
}
template <typename T>
void by_type(const char* call, const LocalTensor<T>& dst, const LocalTensor<T>& src, const ophook::rt::Local* work,
             TransposeType type, const ConfusionTransposeTiling& t, ophook::rt::At at) {
  static_assert(whole_details::one_of<T, int16_t, uint16_t, half, int32_t, uint32_t, float>,
                "Transpose: int16_t, uint16_t, half, int32_t, uint32_t, float");
  if (type == TransposeType::TRANSPOSE_ND2ND_ONLY) {
    if (t.param0 % 16 || t.param1 % 16)
      return ophook::rt::refuse(call, "H and W of TRANSPOSE_ND2ND_ONLY are multiples of 16", at);
    return ophook::rt::transpose_matrix(call, dst.view(), src.view(), work, 1, t.param0, t.param1, at);
  }
  if (type >= TransposeType::TRANSPOSE_NZ2ND_0213 && type <= TransposeType::TRANSPOSE_NZ2NZ_012_WITHOUT_N)
    return fractals(call, dst, src, work, type, t, at);
  ophook::rt::transpose_refuse(call, int(type), at);
}
}  // namespace transpose_details
// The tiling of TRANSPOSE_ND2ND_ONLY holds rows and columns, that of the others the four dimensions.
#define OPHOOK_TRANSPOSE(name)                                                                                       \
  template <typename T>                                                                                              \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp, \
                              TransposeType type, const ConfusionTransposeTiling& tiling,                            \
                              ophook::rt::At at = ophook::rt::At::here()) {                                          \
    const whole_details::Work work(tmp);                                                                             \
    transpose_details::by_type(#name, dst, src, work, type, tiling, at);                                             \
  }                                                                                                                  \
  template <typename T>                                                                                              \
  __aicore__ inline void name(const LocalTensor<T>& dst, const LocalTensor<T>& src, TransposeType type,              \
                              const ConfusionTransposeTiling& tiling, ophook::rt::At at = ophook::rt::At::here()) {  \
    transpose_details::by_type(#name, dst, src, nullptr, type, tiling, at);                                          \
  }
OPHOOK_TRANSPOSE(Transpose)
OPHOOK_TRANSPOSE(ConfusionTranspose)
#undef OPHOOK_TRANSPOSE
// From one order of dimensions to another. NCDHW has H * W padded to whole blocks; what C and N are padded with is 0.
template <typename T, typename U>
struct TransDataParams {
  T srcLayout;
  U dstLayout;
};
namespace transpose_details {
struct Cube5 {
  uint64_t n, c, d, h, w;
};
inline uint64_t up16(uint64_t x) { return (x + 15) / 16 * 16; }
inline uint64_t size_in(DataFormat format, const Cube5& s) {
  if (format == DataFormat::NCDHW) return s.n * s.c * s.d * up16(s.h * s.w);
  return (format == DataFormat::NDC1HWC0 ? s.n : up16(s.n)) * s.d * up16(s.c) * s.h * s.w;
}
// hw: h * W + w.
inline uint64_t place_in(DataFormat format, const Cube5& s, uint64_t n, uint64_t c, uint64_t d, uint64_t hw) {
  const uint64_t area = s.h * s.w, c1 = up16(s.c) / 16;
  if (format == DataFormat::NCDHW) return ((n * s.c + c) * s.d + d) * up16(area) + hw;
  if (format == DataFormat::NDC1HWC0) return (((n * s.d + d) * c1 + c / 16) * area + hw) * 16 + c % 16;
  return (((d * c1 + c / 16) * area + hw) * up16(s.n) + n) * 16 + c % 16;  // FRACTAL_Z_3D
}
template <TransDataConfig config, typename T, typename U, typename S>
void trans_data(const LocalTensor<T>& dst, const LocalTensor<T>& src, const ophook::rt::Local* work,
                const TransDataParams<U, S>& p, ophook::rt::At at) {
  constexpr DataFormat from = config.srcFormat, to = config.dstFormat;
  constexpr bool back = to == DataFormat::NCDHW;
  static_assert((from == DataFormat::NCDHW) != back && (back ? from : to) >= DataFormat::NDC1HWC0,
                "TransData: between NCDHW and NDC1HWC0 or FRACTAL_Z_3D");
  static_assert(sizeof(T) == 2, "TransData: half, bfloat16_t, int16_t, uint16_t");
  const auto shape = [&] {
    if constexpr (back) return p.dstLayout.GetShape();
    else return p.srcLayout.GetShape();
  }();
  const Cube5 s{uint64_t(std::get<0>(shape)), uint64_t(std::get<1>(shape)), uint64_t(std::get<2>(shape)),
                uint64_t(std::get<3>(shape)), uint64_t(std::get<4>(shape))};
  const uint64_t size = size_in(to, s);
  const ophook::rt::Local there = dst.view(), here = src.view();
  if (there.offset < here.offset + size_in(from, s) * 2 && here.offset < there.offset + size * 2)
    return ophook::rt::refuse("TransData", "source and destination overlap", at);
  if (!ophook::rt::whole("TransData", {whole_details::part(dst, size, "the destination")},
                         {whole_details::part(src, back ? size_in(from, s) : 0, "the source")}, work, at))
    return;
  for (uint64_t row = 0; !back && row < s.n * s.c * s.d; ++row)  // what pads H * W may be anything
    if (!ophook::rt::whole("TransData", {},
                           {whole_details::part(src[uint32_t(row * up16(s.h * s.w))], s.h * s.w, "the source")},
                           nullptr, at))
      return;
  for (uint64_t i = 0; i < size; ++i) whole_details::data(dst)[i] = T(0);
  for (uint64_t n = 0; n < s.n; ++n)
    for (uint64_t c = 0; c < s.c; ++c)
      for (uint64_t d = 0; d < s.d; ++d)
        for (uint64_t hw = 0; hw < s.h * s.w; ++hw)
          whole_details::data(dst)[place_in(to, s, n, c, d, hw)] =
              whole_details::data(src)[place_in(from, s, n, c, d, hw)];
}
}  // namespace transpose_details
template <TransDataConfig config, typename T, typename U, typename S>
__aicore__ inline void TransData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
                                 const TransDataParams<U, S>& params, ophook::rt::At at = ophook::rt::At::here()) {
  const whole_details::Work work(tmp);
  transpose_details::trans_data<config>(dst, src, work, params, at);
}
template <TransDataConfig config, typename T, typename U, typename S>
__aicore__ inline void TransData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                 const TransDataParams<U, S>& params, ophook::rt::At at = ophook::rt::At::here()) {
  transpose_details::trans_data<config>(dst, src, nullptr, params, at);
}

}  // namespace AscendC
