// Numbers of 16 bits that a host writes: to the nearest one, of two as near the even one.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace ophook::host {

inline uint16_t to_bfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (value != value) return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline uint16_t to_half(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (value != value) return sign | 0x7e00;
  const float size = std::fabs(value);
  if (size >= 65520.0F) return sign | 0x7c00;
  const float least = std::ldexp(1.0F, -24);
  if (size < 1024 * least) return uint16_t(sign | uint16_t(std::nearbyint(size / least)));
  int exponent = 0;
  const float fraction = std::frexp(size, &exponent);  // in [0.5, 1)
  // Rounded up to 2048 the mantissa carries into the exponent.
  return uint16_t(sign | uint16_t((exponent + 13) * 1024 + int(std::nearbyint(fraction * 2048))));
}

}  // namespace ophook::host
