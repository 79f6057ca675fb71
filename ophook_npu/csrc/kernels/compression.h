// Floating point numbers, compressed without a loss: of each number the byte that holds its exponent, by how often each
// value of that byte occurs; the other bytes as they are. No page tells the bits of the compressed bytes: these are not
// the device's. What is documented holds: where each part lies, how large it is, and that decoding gives the numbers.
#pragma once

#include "kernels/tensors.h"

namespace sim::compression {

struct Parts {
  const at::Tensor &mantissa, &fixed, &rest, &counts;  // rest: what does not fit into fixed; counts (256)
};
void parts_like(const at::Tensor& numbers, const Parts& parts);
void encoded_like(const at::Tensor& numbers, const Parts& parts);
void encode(const at::Tensor& numbers, bool count, const Parts& parts);
void decode(const Parts& parts, const at::Tensor& numbers);

}  // namespace sim::compression
