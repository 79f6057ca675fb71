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

}  // namespace sim::kernels
