// An element of any data type, as a number of that type.
#pragma once

#include <cstring>

#include "core.h"

namespace ophook::rt {

template <typename T>
T element_at(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
// f(T()) of the whole numbers' type; false where it is none.
template <typename F>
bool with_whole(Dtype dtype, F f) {
  switch (dtype) {
    case Dtype::i8: return f(int8_t()), true;
    case Dtype::b8:
    case Dtype::u8: return f(uint8_t()), true;
    case Dtype::i16: return f(int16_t()), true;
    case Dtype::u16: return f(uint16_t()), true;
    case Dtype::i32: return f(int32_t()), true;
    case Dtype::u32: return f(uint32_t()), true;
    case Dtype::i64: return f(int64_t()), true;
    case Dtype::u64: return f(uint64_t()), true;
    default: return false;
  }
}
inline float real_at(Dtype dtype, const uint8_t* at) {
  return dtype == Dtype::f32   ? element_at<float>(at)
         : dtype == Dtype::f16 ? half_value(element_at<uint16_t>(at))
                               : bfloat16_value(element_at<uint16_t>(at));
}
inline Scalar scalar_at(Dtype dtype, const uint8_t* at) {
  Scalar value{};
  const bool whole = with_whole(dtype, [&](auto type) {
    const auto number = element_at<decltype(type)>(at);
    value = {double(number), int64_t(number)};
  });
  if (!whole) value.real = real_at(dtype, at);
  return value;
}

inline void put_scalar(Dtype dtype, Scalar value, uint8_t* to) {
  const auto real = float(value.real);
  const uint16_t bits = dtype == Dtype::f16 ? half_bits(real) : bfloat16_bits(real);
  if (dtype == Dtype::f32) std::memcpy(to, &real, sizeof real);
  else if (dtype == Dtype::f16 || dtype == Dtype::bf16) std::memcpy(to, &bits, sizeof bits);
  else std::memcpy(to, &value.whole, size_of(dtype));  // the lowest bytes
}

}  // namespace ophook::rt
