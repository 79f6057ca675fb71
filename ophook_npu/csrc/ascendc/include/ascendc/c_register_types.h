// Registers of Ascend 950 as the C interface calls them, the patterns of masks, and what waits for what.
#pragma once

#include "c_numbers_8.h"
#include "reg_lanes.h"

struct ophook::rt::CastsOfRegisters {};

using vector_int8_t = AscendC::Reg::RegTensor<int8_t>;
using vector_uint8_t = AscendC::Reg::RegTensor<uint8_t>;
using vector_fp8_e8m0_t = AscendC::Reg::RegTensor<fp8_e8m0_t>;
using vector_fp8_e5m2_t = AscendC::Reg::RegTensor<fp8_e5m2_t>;
using vector_fp8_e4m3fn_t = AscendC::Reg::RegTensor<fp8_e4m3fn_t>;
using vector_hifloat8_t = AscendC::Reg::RegTensor<hifloat8_t>;
using vector_fp4x2_e2m1_t = AscendC::Reg::RegTensor<fp4x2_e2m1_t>;
using vector_fp4x2_e1m2_t = AscendC::Reg::RegTensor<fp4x2_e1m2_t>;
using vector_int16_t = AscendC::Reg::RegTensor<int16_t>;
using vector_uint16_t = AscendC::Reg::RegTensor<uint16_t>;
using vector_half = AscendC::Reg::RegTensor<half>;
using vector_bfloat16_t = AscendC::Reg::RegTensor<bfloat16_t>;
using vector_int32_t = AscendC::Reg::RegTensor<int32_t>;
using vector_uint32_t = AscendC::Reg::RegTensor<uint32_t>;
using vector_float = AscendC::Reg::RegTensor<float>;
using vector_int64_t = AscendC::Reg::RegTensor<int64_t>;
using vector_uint64_t = AscendC::Reg::RegTensor<uint64_t>;
using vector_bool = AscendC::Reg::MaskReg;
using vector_load_unalign = AscendC::Reg::UnalignRegForLoad;
using vector_store_unalign = AscendC::Reg::UnalignRegForStore;
using addr_reg = AscendC::Reg::AddrReg;
using iter_reg = addr_reg;  // its older name

// Which elements a mask chooses.
#define OPHOOK_PATTERN(name) inline constexpr auto PAT_##name = AscendC::Reg::MaskPattern::name;
OPHOOK_PATTERN(ALL)
OPHOOK_PATTERN(VL1)
OPHOOK_PATTERN(VL2)
OPHOOK_PATTERN(VL3)
OPHOOK_PATTERN(VL4)
OPHOOK_PATTERN(VL8)
OPHOOK_PATTERN(VL16)
OPHOOK_PATTERN(VL32)
OPHOOK_PATTERN(VL64)
OPHOOK_PATTERN(VL128)
OPHOOK_PATTERN(M3)
OPHOOK_PATTERN(M4)
OPHOOK_PATTERN(H)
OPHOOK_PATTERN(Q)
OPHOOK_PATTERN(ALLF)
#undef OPHOOK_PATTERN

// Which of a vector function's accesses to the unified buffer wait for which.
enum MEM_TYPE {
  VV_ALL,
  VST_VLD,
  VLD_VST,
  VST_VST,
  VS_ALL,
  VST_LD,
  VLD_ST,
  VST_ST,
  SV_ALL,
  ST_VLD,
  LD_VST,
  ST_VST,
  SS_ALL,
  ST_LD,
  LD_ST,
  ST_ST,
};
