// Randomness of the device: a pure function of (seed, offset), so that a replayed capture repeats itself exactly when
// the caller leaves seed and offset alone, and continues when it moves them.
#pragma once

#include <ATen/core/Generator.h>
#include "kernels/tensors.h"

namespace sim::kernels {

// ATen's CPU generator, seeded by the Philox block at (seed, offset).
at::Generator generator(uint64_t seed, uint64_t offset);

// The device's dropout masks hold a bit an element, lowest bit first; a set bit keeps the element.
at::Tensor draw_kept(int64_t elements, double keep_probability, uint64_t seed,
                     uint64_t offset);  // bool, one byte an element
void pack_bits(const at::Tensor& mask, const at::Tensor& kept);
at::Tensor unpack_bits(const at::Tensor& mask, int64_t first, int64_t elements);
// x / keep_probability where an element is kept, 0 where not; all are 0 at a probability of 0.
at::Tensor dropped(const at::Tensor& x, const at::Tensor& kept, double keep_probability);

}  // namespace sim::kernels
