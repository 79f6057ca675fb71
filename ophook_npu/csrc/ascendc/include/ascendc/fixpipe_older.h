// Fixpipe with the parameters that FixpipeParamsV220 replaced, which an Atlas A2 takes as well.
#pragma once

#include "cube.h"

namespace AscendC {

struct Nz2NdParams {
  bool nz2ndEn = false;
  uint16_t ndNum = 1, srcNdStride = 0, dstNdStride = 0, originalNSize = 0;
};
struct QuantParams {
  QuantMode_t quantPre = NoQuant;
  uint64_t deqScalar = 0;
};
template <typename T>
struct FixpipeParams {
  FixpipeParams() = default;
  FixpipeParams(uint16_t columns, uint16_t length, uint16_t src, uint32_t dst)
      : cburstNum(columns), burstLen(length), srcStride(src), dstStride(dst) {}
  uint16_t cburstNum = 0, burstLen = 0, srcStride = 0;
  uint32_t dstStride = 0;
  QuantParams quantParams;
  bool reluEn = false;
  Nz2NdParams nz2ndParams;
  uint8_t unitFlag = 0;
};

// The older parameters say in pieces what the others say in rows and columns: a column of fractals is a piece, of
// burstLen blocks; where a matrix in rows comes out (nz2ndEn), its width is originalNSize and its stride in elements.
template <typename T, typename U, typename P>
__aicore__ inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParams<P>& params,
                               ophook::rt::At at = ophook::rt::At::here()) {
  const Nz2NdParams& rows = params.nz2ndParams;
  if (rows.nz2ndEn && rows.ndNum != 1)
    ophook::rt::refuse("Fixpipe", "FixpipeParams with ndNum other than 1 is not simulated: use FixpipeParamsV220", at);
  FixpipeParamsV220 same;
  same.mSize = static_cast<uint16_t>(params.burstLen * 32u / (16 * sizeof(PrimT<U>)));
  same.nSize = static_cast<uint16_t>(rows.nz2ndEn ? rows.originalNSize : params.cburstNum * 16);
  same.srcStride = static_cast<uint16_t>((same.mSize + 15) / 16 * 16 + params.srcStride * 16);
  const uint32_t piece = same.mSize * 16 * sizeof(PrimT<T>) / 32;
  same.dstStride = rows.nz2ndEn ? params.dstStride : piece + params.dstStride;
  same.quantPre = params.quantParams.quantPre;
  same.deqScalar = params.quantParams.deqScalar;
  same.reluEn = params.reluEn;
  same.unitFlag = params.unitFlag;
  ophook::rt::fixpipe(dst.view(), src.view(), cube_details::factors_of(same.quantPre), same, rows.nz2ndEn, at);
}
template <typename T, typename U, typename P>
__aicore__ inline void Fixpipe(const LocalTensor<T>&, const LocalTensor<U>&, const FixpipeParams<P>&,
                               ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::refuse("Fixpipe", "FixpipeParams into local memory is not simulated: use FixpipeParamsV220", at);
}
template <class Tensor, typename U, typename P>
__aicore__ inline void Fixpipe(const Tensor&, const LocalTensor<U>&, const LocalTensor<uint64_t>&,
                               const FixpipeParams<P>&, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::refuse("Fixpipe", "FixpipeParams with a factor for each column is not simulated: use FixpipeParamsV220",
                     at);
}

}  // namespace AscendC
