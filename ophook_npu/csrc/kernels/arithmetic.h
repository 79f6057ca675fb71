// Arithmetic of two and more operands where ATen's own operator is not the device's.
#pragma once

#include <string>

#include "kernels/tensors.h"

namespace sim::kernels {

// self - floor(self / other) * other, CANN's formula: a product with 0 is 0, and a whole number by zero leaves self.
at::Tensor remainder(const at::Tensor& self, const at::Tensor& other);
at::Tensor remainder(const at::Tensor& self, const at::Scalar& other);
at::Tensor remainder(const at::Scalar& self, const at::Tensor& other);
// The quotient, rounded as rounding() says, without which it is cut off where the result is whole. That of a whole
// number by 0 is 0 here, and the rest the number itself; the documents say it of remainder() alone.
at::Tensor quotient(const at::Tensor& self, const at::Tensor& other, at::ScalarType result, int mode = 0);
at::Tensor quotient(const at::Tensor& self, const at::Scalar& other, at::ScalarType result, int mode = 0);
at::Tensor fmod(const at::Tensor& self, const at::Tensor& other);
at::Tensor fmod(const at::Tensor& self, const at::Scalar& other);
at::Tensor squared_difference(const at::Tensor& self, const at::Tensor& other);
// self + alpha * other and self - alpha * other for an alpha that is a tensor, or absent and 1.
at::Tensor scaled_sum(const at::Tensor& self, const at::Tensor& other, const at::Tensor& alpha);
at::Tensor scaled_difference(const at::Tensor& self, const at::Tensor& other, const at::Tensor& alpha);
at::Tensor scaled_sum(const at::Scalar& self, const at::Tensor& other, const at::Scalar& alpha);
// Channels (dimension 1) of both in blocks of 16, from a block of each on; what the last block lacks is 0.
struct ChannelBlocks {
  int64_t first, other_first, count;
};
at::Tensor blocks_added(const at::Tensor& self, const at::Tensor& other, const ChannelBlocks& of);
at::Tensor sum_of_all(const Tensors& tensors);  // broadcast, as the next two
at::Tensor most_of_all(const Tensors& tensors);
at::Tensor least_of_all(const Tensors& tensors);
at::Tensor xlog1py(const at::Tensor& x, const at::Tensor& y);  // x log(1 + y); 0 where x is, and NaN where y is
// x * scale + bias (which may be undefined), whose dimensions are those of x from `axis` on: `axes` of them, or all the
// rest for -1, where `from_blob` says so.
void scaled_like(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& bias, int64_t axis, int64_t axes,
                 bool from_blob);
at::Tensor scaled_along(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& bias, int64_t axis);
// 0 where both have the same numbers, 503 where not.
at::Tensor comparison_code(const at::Tensor& golden, const at::Tensor& x);
// Sums over the rows of groups: each group's end (or, `sizes`, its length) is in `groups`, whose tensor may be
// undefined where x (groups, rows, columns) has them apart.
void group_sums_like(const at::Tensor& x, const at::Tensor& groups, const at::Tensor& out);
at::Tensor group_sums(const at::Tensor& x, const at::Tensor& groups, bool sizes);
// exp of the sums of x over j < k <= i, as (…, i, j); 0 above the diagonal. `y` is its result.
void segment_sums_like(const at::Tensor& x, const at::Tensor& y);
at::Tensor exp_segment_sums(const at::Tensor& x);
at::Tensor exp_segment_sums_backward(const at::Tensor& grad, const at::Tensor& y);
at::Tensor relu_of_sum(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha);
// base ** (scale x + shift) and its inverse; a base that is not above 0 stands for e.
at::Tensor exponential(const at::Tensor& x, double base, double scale, double shift);
at::Tensor logarithm(const at::Tensor& x, double base, double scale, double shift);
// Eight signs a byte, the first in the lowest bit: a set bit is a number that is not negative.
at::Tensor sign_bits(const at::Tensor& x, at::IntArrayRef sizes);
at::Tensor from_sign_bits(const at::Tensor& bits, at::IntArrayRef sizes, at::ScalarType result);  // 1 and -1
// self + value * a * b and self + value * a / b, rounded once. `value` holds one number, or one for each element.
at::Tensor addcmul(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b, const at::Tensor& value);
at::Tensor addcdiv(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b, const at::Tensor& value);

// ---- members of lists. CANN's kernels over lists take float16 as it is and round after each step; wider types, and
// bfloat16 as float, run in one go. op-plugin's own tests tell the two apart.
at::Tensor list_sum(const at::Tensor& x, const at::Tensor& y, const at::Scalar& alpha);
at::Tensor list_difference(const at::Tensor& x, const at::Tensor& y, const at::Scalar& alpha);
at::Tensor list_addcmul(const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, const at::Scalar& scale);
at::Tensor list_addcdiv(const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, const at::Scalar& scale);

// How CANN numbers a division's rounding, and that of members of lists.
std::optional<std::string_view> rounding(int mode);
at::Tensor rounded(const at::Tensor& x, int64_t mode);

// out is of the complex type that has parts of this type.
void complex_of(const at::Tensor& out, const at::Tensor& real, const at::Tensor& imaginary);
at::Tensor is_among(const at::Scalar& number, const at::Tensor& all, bool invert);

at::Tensor all_finite(const at::Tensor& x, const std::string& message);  // x; refuses others, which it counts

}  // namespace sim::kernels
