// A number of bfloat16 for programs that call aclnn functions: made from other numbers, and read as float.
#ifndef OPHOOK_ACLNN_OPDEV_BFLOAT16_H_
#define OPHOOK_ACLNN_OPDEV_BFLOAT16_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#include "ophook_arithmetic.h"

namespace op {

struct bfloat16 {
  uint16_t value = 0;

  bfloat16() = default;
  bfloat16(float number) {  // rounds to nearest, ties to even
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    value = uint16_t(std::isnan(number) ? 0x7fc0u | bits >> 16 : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
  }
  bfloat16(double number) : bfloat16(float(number)) {}
  bfloat16(int32_t number) : bfloat16(float(number)) {}
  bfloat16(uint32_t number) : bfloat16(float(number)) {}
  bfloat16(int64_t number) : bfloat16(float(number)) {}
  bfloat16(uint64_t number) : bfloat16(float(number)) {}

  operator float() const {
    const uint32_t bits = uint32_t(value) << 16;
    float number;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }
};
static_assert(sizeof(bfloat16) == 2, "as it lies on the device");

template <>
constexpr bool ophook_number<bfloat16> = true;

}  // namespace op

#endif
