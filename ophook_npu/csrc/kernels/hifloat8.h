// HIFLOAT8, which ATen does not have. A sign, then a prefix of 2 to 4 bits that says how many bits of the rest are the
// exponent: near 1 it has 3 bits of fraction, far away 1 and a range from 2^-22 to 2^15.
// "Ascend HiFloat8 Format for Deep Learning", arXiv:2409.16626.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

at::Tensor from_hifloat8(const at::Tensor& bytes);  // as float, exact
// The nearest number, half away from 0; one that is too large is infinite, and a zero has no sign.
at::Tensor to_hifloat8(const at::Tensor& value);

}  // namespace sim::kernels
