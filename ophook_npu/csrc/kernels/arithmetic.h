// Arithmetic of two and more operands where ATen's own operator is not the device's.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

// self - floor(self / other) * other, CANN's formula: a product with 0 is 0, and a whole number by zero leaves self.
at::Tensor remainder(const at::Tensor& self, const at::Tensor& other);
// self + value * a * b and self + value * a / b, rounded once. `value` holds one number, or one for each element.
at::Tensor addcmul(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b, const at::Tensor& value);
at::Tensor addcdiv(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b, const at::Tensor& value);

// ---- members of lists. CANN's kernels over lists take float16 as it is and round after each step; wider types, and
// bfloat16 as float, run in one go. op-plugin's own tests tell the two apart.
at::Tensor list_sum(const at::Tensor& x, const at::Tensor& y, const at::Scalar& alpha);
at::Tensor list_difference(const at::Tensor& x, const at::Tensor& y, const at::Scalar& alpha);
at::Tensor list_addcmul(const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, const at::Scalar& scale);
at::Tensor list_addcdiv(const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, const at::Scalar& scale);

}  // namespace sim::kernels
