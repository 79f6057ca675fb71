// Rounding as threads' conversions name it, and from type to type.
#pragma once

#include <cmath>
#include <limits>

#include "simt_vectors.h"

namespace ophook::simt {

// rn: to the nearest, halves to even; rz: to zero; rd: down; ru: up; rna: to the nearest, halves away from zero; ro: to
// an odd last digit, where something is lost.
enum class Round : uint8_t { rn, rz, rd, ru, rna, ro };

template <Round how, typename T>
T whole(T value) {
  if constexpr (how == Round::rn) return std::nearbyint(value);
  else if constexpr (how == Round::rz) return std::trunc(value);
  else if constexpr (how == Round::rd) return std::floor(value);
  else if constexpr (how == Round::ru) return std::ceil(value);
  else if constexpr (how == Round::rna) return std::round(value);
  const T cut = std::trunc(value);
  return cut == value || std::fmod(cut, T(2)) != 0 ? cut : cut + std::copysign(T(1), value);
}

// The nearest numbers with so many digits behind the leading one; `least` is the exponent of the smallest normal one.
template <Round how>
long double rounded(long double value, int digits, int least) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int last = std::max(std::ilogb(value), least) - digits;
  return std::ldexp(whole<how>(std::ldexp(value, -last)), last);
}

template <typename T>
struct Format;
template <>
struct Format<half> {
  static constexpr int digits = 10, least = -14;
  static constexpr float most = 65504.0f;
};
template <>
struct Format<bfloat16_t> {
  static constexpr int digits = 7, least = -126;
  static constexpr float most = 0x1.fep+127f;
};

// What the chip is set to as it comes (CTRL[60] = 1, CTRL[48] = 0), and threads cannot change: what exceeds a type
// becomes its largest number, nan becomes 0. `false`: for what that register says nothing about.
template <typename T, bool saturates = true>
T kept(float value) {
  constexpr float most = Format<T>::most;
  if constexpr (saturates) {
    if (value != value) return T(0.0f);
    return T(value > most ? most : value < -most ? -most : value);
  } else {
    return T(value > most ? INFINITY : value < -most ? -INFINITY : value);
  }
}

template <typename To, Round how, bool saturates = true, typename From>
To converted(From value) {
  if constexpr (std::is_integral_v<To>) {
    const float at = whole<how>(float(value));  // numbers that are not whole are float's or narrower
    if (at != at) return 0;
    using Limits = std::numeric_limits<To>;
    if (at >= std::ldexp(1.0f, Limits::digits)) return Limits::max();
    if (at < float(Limits::min())) return Limits::min();
    return To(at);
  } else if constexpr (std::is_same_v<To, float>) {
    return float(rounded<how>((long double)(value), 23, -126));
  } else {
    const auto wide = [&] {
      if constexpr (std::is_integral_v<From>) return (long double)(value);
      else return (long double)(float(value));
    }();
    return kept<To, saturates>(float(rounded<how>(wide, Format<To>::digits, Format<To>::least)));
  }
}

}  // namespace ophook::simt

// A function for each way of rounding.
#define OPHOOK_ROUNDS(make, ...) \
  make(rn, __VA_ARGS__) make(rz, __VA_ARGS__) make(rd, __VA_ARGS__) make(ru, __VA_ARGS__) make(rna, __VA_ARGS__)
