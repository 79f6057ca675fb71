// Functions that ATen lacks, number by number.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

// The regularized incomplete beta function; NaN where a or b is not above 0, or x outside 0 to 1. All three broadcast.
at::Tensor incomplete_beta(const at::Tensor& a, const at::Tensor& b, const at::Tensor& x);
at::Tensor bits_set(const at::Tensor& x);
// 0 where y is 0, whatever x is.
at::Tensor quotient_or_zero(const at::Tensor& x, const at::Tensor& y);
at::Tensor product_or_zero(const at::Tensor& x, const at::Tensor& y);
at::Tensor zero_or_quotient(const at::Tensor& x, const at::Tensor& y);  // 0 where x is
// (scale x + shift) ** power
at::Tensor power_of(const at::Tensor& x, double power, double scale, double shift);
// The members, each times its coefficient where there are any: 0 their product, 1 their sum, 2 the greatest.
at::Tensor members_joined(const Tensors& members, int64_t mode, const std::vector<float>& coefficients);

// Gradients by what the function gave: of 1 / x, 1 / sqrt(x), sqrt(x), acosh and asinh; and by what it was given.
at::Tensor reciprocal_backward(const at::Tensor& y, const at::Tensor& grad);
at::Tensor rsqrt_backward(const at::Tensor& y, const at::Tensor& grad);
at::Tensor sqrt_backward(const at::Tensor& y, const at::Tensor& grad);
at::Tensor acosh_backward(const at::Tensor& y, const at::Tensor& grad);
at::Tensor asinh_backward(const at::Tensor& y, const at::Tensor& grad);
at::Tensor abs_backward(const at::Tensor& x, const at::Tensor& grad);
at::Tensor asin_backward(const at::Tensor& x, const at::Tensor& grad);
at::Tensor acos_backward(const at::Tensor& x, const at::Tensor& grad);
at::Tensor atan_backward(const at::Tensor& x, const at::Tensor& grad);
// The gradient where it belongs to the first of two, and where to the second.
std::pair<at::Tensor, at::Tensor> gradient_of_two(const at::Tensor& grad, const at::Tensor& to_first);
at::Tensor product_and_sum(const at::Tensor& x, const at::Tensor& factor, const at::Tensor& added);
// x y + z + w, which may be undefined.
at::Tensor product_and_sums(const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, const at::Tensor& w);
at::Tensor square_sum(const at::Tensor& x, double factor = 1);
at::Tensor is_near(const at::Tensor& x, const at::Tensor& y, double tolerance);

}  // namespace sim::kernels
