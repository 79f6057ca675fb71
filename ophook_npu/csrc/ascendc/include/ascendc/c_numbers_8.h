// Numbers of 8 bits and pairs of 4 bits, which Ascend 950 has. Its C interface moves them; nothing is computed here.
#pragma once

#include <cstdint>

#define OPHOOK_NUMBER(name) \
  struct name {             \
    uint8_t bits;           \
  };
OPHOOK_NUMBER(fp8_e8m0_t)
OPHOOK_NUMBER(fp8_e5m2_t)
OPHOOK_NUMBER(fp8_e4m3fn_t)
OPHOOK_NUMBER(hifloat8_t)
OPHOOK_NUMBER(fp4x2_e2m1_t)
OPHOOK_NUMBER(fp4x2_e1m2_t)
#undef OPHOOK_NUMBER
