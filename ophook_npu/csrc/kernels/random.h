// Randomness of the device: a pure function of (seed, offset), so that a replayed capture repeats itself exactly when
// the caller leaves seed and offset alone, and continues when it moves them.
#pragma once

#include <ATen/core/Generator.h>
#include "kernels/tensors.h"

namespace sim::kernels {

// ATen's CPU generator, seeded by the Philox block at (seed, offset).
at::Generator generator(uint64_t seed, uint64_t offset);

at::Generator own_generator();  // of an operator whose caller leaves the seed to the device: another each time

// The places (count, dimensions) of elements that are true, in an order that is drawn, and zeros where there are no
// more of them; which are places.
struct DrawnPlaces {
  at::Tensor places, valid;
};
DrawnPlaces draw_places(const at::Tensor& mask, int64_t count, const at::Generator& by);

// The device's dropout masks hold a bit an element, lowest bit first; a set bit keeps the element.
at::Tensor draw_kept(int64_t elements, double keep_probability, uint64_t seed,
                     uint64_t offset);  // bool, one byte an element
void pack_bits(const at::Tensor& mask, const at::Tensor& kept);
at::Tensor unpack_bits(const at::Tensor& mask, int64_t first, int64_t elements);
// x / keep_probability where an element is kept, 0 where not; all are 0 at a probability of 0.
at::Tensor dropped(const at::Tensor& x, const at::Tensor& kept, double keep_probability);

// Of x + alpha y, of which the mask keeps some.
struct Dropout {
  at::Tensor kept;
  double keep_probability;
};
struct SoftmaxDropout {
  at::Tensor softmax, dropped;
};
SoftmaxDropout softmax_dropout(const at::Tensor& x, const at::Tensor& y, const Dropout& by, double alpha, int64_t dim);
at::Tensor softmax_dropout_backward(const at::Tensor& grad, const at::Tensor& softmax, const Dropout& by, double alpha,
                                    int64_t dim);

// A byte for each element of a tensor of this shape: 1 keeps it.
at::Tensor draw_bytes(at::IntArrayRef sizes, double keep_probability, uint64_t seed, uint64_t offset);

// ---- drawn into a tensor: in float for half types, rounded once; normal numbers for integers as well
// -----------------
void draw_normal(const at::Tensor& out, double mean, double std, const at::Generator& random);
// From a range that its data type need not hold: CANN multiplies by the width and adds the start.
void draw_uniform(const at::Tensor& out, double from, double to, const at::Generator& random);
void draw_normal(const at::Tensor& out, const at::Tensor& mean, const at::Tensor& std, const at::Generator& random);
void draw_exponential(const at::Tensor& out, double lambda, const at::Generator& random);
// 1 with the probability that the element of p has, which broadcasts to `sizes`.
at::Tensor draw_bernoulli(const at::Tensor& p, at::IntArrayRef sizes, const at::Generator& random);

// x * mask * scale, the gradient of dropout.
at::Tensor masked_scaled(const at::Tensor& x, const at::Tensor& mask, double scale);

// RReLU, with the slopes that it draws as `noise`.
void leaked(const at::Tensor& out, const at::Tensor& self, const at::Tensor& noise, const at::Scalar& lower,
            const at::Scalar& upper, bool training, const at::Generator& by);
// Whole numbers from `from` on and below `to`; of complex numbers the real part.
void drawn(const at::Tensor& self, int64_t from, int64_t to, const at::Generator& by);

}  // namespace sim::kernels
