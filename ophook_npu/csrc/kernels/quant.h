// What the quantized operators share: numbers of 4 and 8 bits, scales as the device encodes them, products of integers.
#pragma once

#include "kernels/tensors.h"

namespace sim::quant {

// ---- numbers of 4 bits: eight in an int32, the first in the lowest bits -------------------------------------------
at::Tensor packed(const at::Tensor& values);
at::Tensor unpacked(const at::Tensor& words);
// A matrix of int8 as it is; one of int32 unpacked, along the rows where it is the transpose of a packed one.
at::Tensor whole_numbers(const at::Tensor& matrix);
Dims whole_sizes(const at::Tensor& matrix);  // the shape of these

// ---- quantized outputs: int8, or int32 that holds numbers of 4 bits -----------------------------------------------
// The shape of a quantized value of these sizes, packed or not.
void quantized_like(const at::Tensor& out, at::IntArrayRef value);
inline void quantized_like(const at::Tensor& out, const at::Tensor& value) { quantized_like(out, value.sizes()); }
// A number for each row of x, in the shape of x without its last dimension, or in one dimension.
void by_row(const at::Tensor& out, const at::Tensor& x);
double largest(const at::Tensor& out);  // 127 or 7
// Rounds half to even and saturates. No number becomes 0, as in the device's cast: rows of zeros have the scale 0.
SIM_API at::Tensor saturated(const at::Tensor& value, const at::Tensor& out);
inline void write_quantized(const at::Tensor& out, const at::Tensor& value) { write(out, saturated(value, out)); }

// The scale of each row, and the row over it. With an offset the range from the least to the largest is used in full.
struct Dynamic {
  at::Tensor value, scale, offset;
};
Dynamic symmetric(const at::Tensor& rows, double top);
Dynamic asymmetric(const at::Tensor& rows, double top, double least);

// ---- scales of a matrix unit: the upper 19 bits of a float, and an offset of 9 bits, in 64 --------------------------
// Bits that do not fit are cut, or rounded.
at::Tensor encoded(const at::Tensor& scale, const at::Tensor& offset, bool round = false);
bool is_encoded(const at::Tensor& scale);
at::Tensor scale_of(const at::Tensor& scale);   // as float, from either form
at::Tensor offset_of(const at::Tensor& scale);  // of an encoded one

at::Tensor integer_product(const at::Tensor& a, const at::Tensor& b);  // of int8, exact, as int32
// A weight of 4 or 8 bits as numbers of the scale's type: (weight + offset) * scale, the scale (n), or (groups, n)
// along k.
at::Tensor dequantized(const at::Tensor& weight, const at::Tensor& scale, const at::Tensor& offset);

// ---- by a scale for all, or one for each index of the dimension ----------------------------------------------------
SIM_API at::Tensor quantized(const at::Tensor& x, const at::Tensor& scales, const at::Tensor& zero_points, int64_t dim,
                             at::ScalarType result);
// The same by scales and zero points that are broadcast to x.
SIM_API at::Tensor quantized_by(const at::Tensor& x, const at::Tensor& scales, const at::Tensor& zero_points,
                                at::ScalarType result);

}  // namespace sim::quant
