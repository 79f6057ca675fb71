// Numbers that template arguments are declared with: ge::DataType and ge::Format as plain ones, and widths in bits.
#pragma once

#include <cstdint>

#if __has_include("graph/c_types.h")  // CANN's own: a program may include both
#include "graph/c_types.h"
#else
enum : uint64_t {
  C_DT_FLOAT = 0,
  C_DT_FLOAT16 = 1,
  C_DT_INT8 = 2,
  C_DT_INT32 = 3,
  C_DT_UINT8 = 4,
  C_DT_INT16 = 6,
  C_DT_UINT16 = 7,
  C_DT_UINT32 = 8,
  C_DT_INT64 = 9,
  C_DT_UINT64 = 10,
  C_DT_DOUBLE = 11,
  C_DT_BOOL = 12,
  C_DT_COMPLEX64 = 16,
  C_DT_BF16 = 27,
  C_DT_INT4 = 29,
  C_DT_HIFLOAT8 = 34,
  C_DT_FLOAT8_E5M2 = 35,
  C_DT_FLOAT8_E4M3FN = 36,
};
enum : uint64_t {
  C_FORMAT_NCHW = 0,
  C_FORMAT_NHWC = 1,
  C_FORMAT_ND = 2,
  C_FORMAT_NC1HWC0 = 3,
  C_FORMAT_FRACTAL_Z = 4,
  C_FORMAT_HWCN = 16,
  C_FORMAT_NDHWC = 27,
  C_FORMAT_FRACTAL_NZ = 29,
  C_FORMAT_NCDHW = 30,
  C_FORMAT_NDC1HWC0 = 32,
  C_FORMAT_NCL = 47,
};
#endif
enum : uint8_t { ASCENDC_TPL_1_BW = 1, ASCENDC_TPL_2_BW = 2, ASCENDC_TPL_4_BW = 4, ASCENDC_TPL_8_BW = 8 };
// What a list of unsigned numbers begins with: ranges (how many, and both ends of each), both, or the numbers
// themselves.
enum : uint64_t { ASCENDC_TPL_UI_RANGE = 0, ASCENDC_TPL_UI_MIX = 1, ASCENDC_TPL_UI_LIST = 2 };
