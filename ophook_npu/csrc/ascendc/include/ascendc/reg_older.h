// Older names of register functions, which the vendor's own operators call and the pages have no more: each is another
// function by the same arguments. (Copies between registers and UB have theirs in reg_memory.h.)
#pragma once

#include "reg_lanes.h"

namespace AscendC::Reg {

#define OPHOOK_OLDER(older, name)                       \
  template <typename... Args>                           \
    requires requires(Args&... args) { name(args...); } \
  __simd_callee__ inline void older(Args&&... args) {   \
    name(args...);                                      \
  }                                                     \
  template <typename T, auto... how, typename... Args>  \
  __simd_callee__ inline void older(Args&&... args) {   \
    name<T, how...>(args...);                           \
  }
// What is chosen by its first template parameter, or is for all types alike.
#define OPHOOK_OLDER_BY(older, name)                   \
  OPHOOK_OLDER(older, name)                            \
  template <auto first, auto... how, typename... Args> \
  __simd_callee__ inline void older(Args&&... args) {  \
    name<first, how...>(args...);                      \
  }
#define OPHOOK_OLDER_REDUCE(older, name, type)          \
  template <typename T = DefaultType, typename... Args> \
  __simd_callee__ inline void older(Args&&... args) {   \
    name<ReduceType::type, T>(args...);                 \
  }
OPHOOK_OLDER(CompareScalar, Compares)
OPHOOK_OLDER(Copy, Move)
OPHOOK_OLDER(GatherMask, Squeeze)
OPHOOK_OLDER(FusedMulDstAdd, MulDstAdd)
OPHOOK_OLDER(Mula, MulAddDst)
OPHOOK_OLDER(MaskAnd, And)
OPHOOK_OLDER(MaskOr, Or)
OPHOOK_OLDER(MaskXor, Xor)
OPHOOK_OLDER(MaskNot, Not)
OPHOOK_OLDER(MaskMov, Move)
OPHOOK_OLDER(MaskSel, Select)
OPHOOK_OLDER(MaskInterleave, Interleave)
OPHOOK_OLDER(MaskDeInterleave, DeInterleave)
OPHOOK_OLDER_BY(MaskPack, Pack)
OPHOOK_OLDER_BY(MaskUnPack, UnPack)
OPHOOK_OLDER_REDUCE(ReduceSum, Reduce, SUM)
OPHOOK_OLDER_REDUCE(ReduceMax, Reduce, MAX)
OPHOOK_OLDER_REDUCE(ReduceMin, Reduce, MIN)
OPHOOK_OLDER_REDUCE(ReduceSumWithDataBlock, ReduceDataBlock, SUM)
OPHOOK_OLDER_REDUCE(ReduceMaxWithDataBlock, ReduceDataBlock, MAX)
OPHOOK_OLDER_REDUCE(ReduceMinWithDataBlock, ReduceDataBlock, MIN)
#undef OPHOOK_OLDER_REDUCE
#undef OPHOOK_OLDER_BY
#undef OPHOOK_OLDER
struct UnalignReg : UnalignRegForLoad, UnalignRegForStore {};  // of either
template <SpecialPurposeReg spr>
__simd_callee__ inline int64_t GetSpr() {
  return AscendC::GetSpr<spr>();
}

}  // namespace AscendC::Reg

namespace AscendC {
namespace MicroAPI = Reg;
}
