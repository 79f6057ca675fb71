// A number of half precision for programs that call aclnn functions: made from other numbers, and read as float.
#ifndef OPHOOK_ACLNN_OPDEV_FP16_T_H_
#define OPHOOK_ACLNN_OPDEV_FP16_T_H_

#include <cstdint>

#include "acl/acl_base.h"
#include "ophook_arithmetic.h"

namespace op {

struct fp16_t {
  uint16_t val = 0;

  fp16_t() = default;
  fp16_t(float value) : val(aclFloatToFloat16(value)) {}
  fp16_t(double value) : fp16_t(float(value)) {}
  fp16_t(int32_t value) : fp16_t(float(value)) {}
  fp16_t(uint32_t value) : fp16_t(float(value)) {}
  fp16_t(int64_t value) : fp16_t(float(value)) {}
  fp16_t(uint64_t value) : fp16_t(float(value)) {}

  operator float() const { return aclFloat16ToFloat(val); }
};
static_assert(sizeof(fp16_t) == 2, "as it lies on the device");

template <>
constexpr bool ophook_number<fp16_t> = true;

}  // namespace op

#endif
