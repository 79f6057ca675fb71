// Floating point of 8 bits, for threads of a kernel that calls them by asc_vf_call. hifloat8 is not simulated.
#pragma once

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

namespace ophook::simt {

// digits behind the leading one, the exponent of the smallest normal number, the largest number, and whether there is
// an infinity: the others have no number of all ones.
struct Eight {
  int digits, least;
  float most;
  bool infinite;
};
constexpr Eight kE4M3{3, -6, 448.0f, false}, kE5M2{2, -14, 57344.0f, true};

inline float of_eight(uint8_t bits, const Eight& format) {
  const int exponent = bits >> format.digits & ((1 << (7 - format.digits)) - 1), sign = bits >> 7;
  const int mantissa = bits & ((1 << format.digits) - 1), top = (1 << (7 - format.digits)) - 1;
  float value;
  if (exponent == top && (format.infinite || mantissa == (1 << format.digits) - 1))
    value = format.infinite && !mantissa ? INFINITY : NAN;
  else
    value = std::ldexp(float(exponent ? mantissa + (1 << format.digits) : mantissa),
                       (exponent ? exponent - 1 : 0) + format.least - format.digits);
  return sign ? -value : value;
}
inline uint8_t to_eight(float value, const Eight& format) {
  const auto sign = uint8_t(std::signbit(value) ? 0x80 : 0);
  if (value != value) return 0;  // as the chip is set: see kept()
  const auto near = float(rounded<Round::rn>(std::fabs(value), format.digits, format.least));
  const float size = std::min(near, format.most);
  if (size == 0) return sign;
  const int exponent = std::max(std::ilogb(size), format.least);
  const auto mantissa = int(std::ldexp(size, format.digits - exponent));  // with its leading one, where it is normal
  return uint8_t(sign | ((exponent - format.least) << format.digits) + mantissa);
}

}  // namespace ophook::simt

#define OPHOOK_AT ::ophook::rt::At at = ::ophook::rt::At::here()
inline __asc_fp8x2_storage_t __asc_cvt_float2_to_fp8x2(const float2 x, const __asc_saturation_t,
                                                       const __asc_fp8_interpretation_t fp8_interpretation, OPHOOK_AT) {
  ophook::rt::simt_only("__asc_cvt_float2_to_fp8x2", false, at);
  const auto& format = fp8_interpretation == __ASC_E4M3 ? ophook::simt::kE4M3 : ophook::simt::kE5M2;
  return __asc_fp8x2_storage_t(ophook::simt::to_eight(x.x, format) | ophook::simt::to_eight(x.y, format) << 8);
}
inline float2 __e4m3x22float2(const float8_e4m3x2_t x, OPHOOK_AT) {
  ophook::rt::simt_only("__e4m3x22float2", false, at);
  return {ophook::simt::of_eight(x.x, ophook::simt::kE4M3), ophook::simt::of_eight(x.y, ophook::simt::kE4M3)};
}
inline float2 __e5m2x22float2(const float8_e5m2x2_t x, OPHOOK_AT) {
  ophook::rt::simt_only("__e5m2x22float2", false, at);
  return {ophook::simt::of_eight(x.x, ophook::simt::kE5M2), ophook::simt::of_eight(x.y, ophook::simt::kE5M2)};
}
#undef OPHOOK_AT
