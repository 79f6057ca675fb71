// Sizes of tensors.
#ifndef OPHOOK_ATB_UTILS_H_
#define OPHOOK_ATB_UTILS_H_

#include <string>

#include "types.h"

#pragma GCC visibility push(default)

namespace atb {

class Utils {
 public:
  static std::string GetAtbVersion();
  static uint64_t GetTensorSize(const Tensor& tensor);  // bytes
  static uint64_t GetTensorSize(const TensorDesc& tensorDesc);
  static uint64_t GetTensorNumel(const Tensor& tensor);
  static uint64_t GetTensorNumel(const TensorDesc& tensorDesc);
  // Scales as the device's dequantization reads them: the float's bits in the lower half of 64.
  static void QuantParamConvert(const float* src, uint64_t* dest, uint64_t itemCount);
};

}  // namespace atb

#pragma GCC visibility pop

#endif
