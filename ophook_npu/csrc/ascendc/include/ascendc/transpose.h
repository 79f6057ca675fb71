// Transposing more than 16 by 16 elements.
#pragma once

#include "../kernel_tiling/kernel_tiling.h"
#include "vector.h"

namespace ophook::rt {
struct Scatter {
  bool dst_high = false, src_high = false;
  uint32_t repeat = 1, dst_step = 0, src_step = 0;  // steps in blocks
};
OPHOOK_RT void trans_data(const Local* dst, const Local* src, Scatter p, At at);  // 16 of each
OPHOOK_RT Local local_of(const void* address, Dtype dtype);  // what GetPhyAddr gave
OPHOOK_RT void transpose_matrix(const char* call, Local dst, Local src, const Local* work, uint32_t outer, uint32_t rows, uint32_t columns, At at);
OPHOOK_RT void transpose_refuse(const char* call, int type, At at);
}  // namespace ophook::rt

namespace AscendC {

struct TransDataTo5HDParams {
  TransDataTo5HDParams() = default;
  TransDataTo5HDParams(bool dst_high, bool src_high, uint8_t repeat, uint16_t dst_step, uint16_t src_step)
      : dstHighHalf(dst_high), srcHighHalf(src_high), repeatTimes(repeat), dstRepStride(dst_step), srcRepStride(src_step) {}
  bool dstHighHalf = false, srcHighHalf = false;
  uint8_t repeatTimes = 1;
  uint16_t dstRepStride = 0, srcRepStride = 0;
};

template <typename T>
__aicore__ inline void TransDataTo5HD(const LocalTensor<T> (&dst)[16], const LocalTensor<T> (&src)[16], const TransDataTo5HDParams& p,
                                      ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::Local to[16], from[16];
  for (int i = 0; i < 16; ++i) to[i] = dst[i].view(), from[i] = src[i].view();
  ophook::rt::trans_data(to, from, {p.dstHighHalf, p.srcHighHalf, p.repeatTimes, p.dstRepStride, p.srcRepStride}, at);
}
template <typename T>
__aicore__ inline void TransDataTo5HD(uint64_t dst[16], uint64_t src[16], const TransDataTo5HDParams& p,
                                      ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::Local to[16], from[16];
  for (int i = 0; i < 16; ++i) {
    to[i] = ophook::rt::local_of(reinterpret_cast<const void*>(dst[i]), ophook::rt::dtype_of<T>());
    from[i] = ophook::rt::local_of(reinterpret_cast<const void*>(src[i]), ophook::rt::dtype_of<T>());
  }
  ophook::rt::trans_data(to, from, {p.dstHighHalf, p.srcHighHalf, p.repeatTimes, p.dstRepStride, p.srcRepStride}, at);
}

enum class TransposeType : uint8_t {
  TRANSPOSE_TYPE_NONE, TRANSPOSE_NZ2ND_0213, TRANSPOSE_NZ2NZ_0213, TRANSPOSE_NZ2NZ_012_WITH_N, TRANSPOSE_NZ2ND_012_WITH_N,
  TRANSPOSE_NZ2ND_012_WITHOUT_N, TRANSPOSE_NZ2NZ_012_WITHOUT_N, TRANSPOSE_ND2ND_ONLY, TRANSPOSE_ND_UB_GM, TRANSPOSE_GRAD_ND_UB_GM,
  TRANSPOSE_ND2ND_B16, TRANSPOSE_NCHW2NHWC, TRANSPOSE_NHWC2NCHW,
};
struct TransposeParamsExt {
  uint16_t nSize = 0, cSize = 0, hSize = 0, wSize = 0;
  TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
};
template <typename T>
__aicore__ inline void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
                                 const TransposeParamsExt& p, ophook::rt::At at = ophook::rt::At::here()) {
  const auto w = tmp.view();
  const uint32_t area = uint32_t(p.hSize) * p.wSize;
  if (p.transposeType == TransposeType::TRANSPOSE_NCHW2NHWC)
    ophook::rt::transpose_matrix("Transpose", dst.view(), src.view(), &w, p.nSize, p.cSize, area, at);
  else if (p.transposeType == TransposeType::TRANSPOSE_NHWC2NCHW)
    ophook::rt::transpose_matrix("Transpose", dst.view(), src.view(), &w, p.nSize, area, p.cSize, at);
  else if (p.transposeType == TransposeType::TRANSPOSE_ND2ND_B16)
    ophook::rt::transpose_matrix("Transpose", dst.view(), src.view(), &w, 1, 16, 16, at);
  else
    ophook::rt::transpose_refuse("Transpose", int(p.transposeType), at);
}
// The tiling of TRANSPOSE_ND2ND_ONLY holds rows and columns.
template <typename T>
__aicore__ inline void ConfusionTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
                                          TransposeType type, const ConfusionTransposeTiling& tiling,
                                          ophook::rt::At at = ophook::rt::At::here()) {
  const auto w = tmp.view();
  if (type != TransposeType::TRANSPOSE_ND2ND_ONLY) return ophook::rt::transpose_refuse("ConfusionTranspose", int(type), at);
  ophook::rt::transpose_matrix("ConfusionTranspose", dst.view(), src.view(), &w, 1, tiling.param0, tiling.param1, at);
}
template <typename T>
__aicore__ inline void ConfusionTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src, TransposeType type,
                                          const ConfusionTransposeTiling& tiling, ophook::rt::At at = ophook::rt::At::here()) {
  if (type != TransposeType::TRANSPOSE_ND2ND_ONLY) return ophook::rt::transpose_refuse("ConfusionTranspose", int(type), at);
  ophook::rt::transpose_matrix("ConfusionTranspose", dst.view(), src.view(), nullptr, 1, tiling.param0, tiling.param1, at);
}

}  // namespace AscendC
