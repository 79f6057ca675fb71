// What the host side of an operator and its kernel name alike.
#pragma once

#include <cstdint>

namespace AscendC {
enum class TopKMode { TOPK_NORMAL, TOPK_NSMALL };
enum class DataFormat : uint8_t { ND = 0, NZ, NCHW, NC1HWC0, NHWC, NCDHW, NDC1HWC0, FRACTAL_Z_3D };
struct TransDataConfig {
  DataFormat srcFormat, dstFormat;
};
// Which dimensions a reduction leaves (A) and which it reduces (R), from the first on.
enum class ReducePattern : uint32_t {
  AR = 0,
  RA = 1,
  R,
  ARA,
  ARAR,
  ARARA,
  ARARAR,
  ARARARA,
  ARARARAR,
  ARARARARA,
  RAR,
  RARA,
  RARAR,
  RARARA,
  RARARAR,
  RARARARA,
};
}  // namespace AscendC
