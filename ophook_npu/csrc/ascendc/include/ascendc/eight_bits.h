// Floating point of 8 bits: what an Ascend950's conversions make of it, of threads and of registers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ophook {

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
// To the nearest, halves to even. Saturated, no number is 0 and what is too large is the largest; else what is too
// large is infinite, or no number where the format has no infinity.
inline uint8_t to_eight(float value, const Eight& format, bool saturated = true) {
  const auto sign = uint8_t(std::signbit(value) ? 0x80 : 0);
  if (value != value) return saturated ? 0 : 0x7f;
  float near = std::fabs(value);
  if (near != 0 && !std::isinf(near)) {
    const int last = std::max(std::ilogb(near), format.least) - format.digits;
    near = std::ldexp(std::nearbyint(std::ldexp(near, -last)), last);
  }
  if (near > format.most && !saturated)
    return uint8_t(sign | (format.infinite ? ((1 << (7 - format.digits)) - 1) << format.digits : 0x7f));
  const float size = std::min(near, format.most);
  if (size == 0) return sign;
  const int exponent = std::max(std::ilogb(size), format.least);
  const auto mantissa = int(std::ldexp(size, format.digits - exponent));  // with its leading one, where it is normal
  return uint8_t(sign | ((exponent - format.least) << format.digits) + mantissa);
}

// The bits of a bfloat16_t as an exponent alone, and back: 2^-127 to 2^127, and no number of all ones.
inline uint8_t to_exponent(uint16_t bits) {
  const uint16_t size = bits & 0x7fff;
  return uint8_t(size > 0x7f80 ? 0xff : size == 0x7f80 ? 0xfe : size >> 7);
}
inline uint16_t of_exponent(uint8_t bits) { return uint16_t(bits == 0xff ? 0x7fc0 : bits ? bits << 7 : 0x40); }

}  // namespace ophook
