// Floating point of 8 bits, for threads of a kernel that calls them by asc_vf_call. hifloat8 is not simulated.
#pragma once

#include "eight_bits.h"
#include "simt_numbers.h"

using __asc_fp8x2_storage_t = unsigned short int;
enum __asc_saturation_t { __ASC_NOSAT, __ASC_SATFINITE };
enum __asc_fp8_interpretation_t { __ASC_E4M3, __ASC_E5M2 };
struct alignas(2) float8_e4m3x2_t {
  uint8_t x, y;
};
struct alignas(2) float8_e5m2x2_t {
  uint8_t x, y;
};

#define OPHOOK_AT ::ophook::rt::At at = ::ophook::rt::At::here()
inline __asc_fp8x2_storage_t __asc_cvt_float2_to_fp8x2(const float2 x, const __asc_saturation_t,
                                                       const __asc_fp8_interpretation_t fp8_interpretation, OPHOOK_AT) {
  ophook::rt::simt_only("__asc_cvt_float2_to_fp8x2", false, at);
  const auto& format = fp8_interpretation == __ASC_E4M3 ? ophook::kE4M3 : ophook::kE5M2;
  return __asc_fp8x2_storage_t(ophook::to_eight(x.x, format) | ophook::to_eight(x.y, format) << 8);
}
inline float2 __e4m3x22float2(const float8_e4m3x2_t x, OPHOOK_AT) {
  ophook::rt::simt_only("__e4m3x22float2", false, at);
  return {ophook::of_eight(x.x, ophook::kE4M3), ophook::of_eight(x.y, ophook::kE4M3)};
}
inline float2 __e5m2x22float2(const float8_e5m2x2_t x, OPHOOK_AT) {
  ophook::rt::simt_only("__e5m2x22float2", false, at);
  return {ophook::of_eight(x.x, ophook::kE5M2), ophook::of_eight(x.y, ophook::kE5M2)};
}
#undef OPHOOK_AT
