// Loops that are one pass over memory here and several in ATen: numbers are read as they are, computed in float and
// rounded once. Compiled for three generations of processors.
#pragma once

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cstdint>

namespace sim::loops {

// The largest of a row.
float largest(const float* row, int64_t count);
// Each number becomes exp(number - top); returns their sum.
float raised(float* row, int64_t count, float top);

// Number: float, at::Half or at::BFloat16.

// The gelu by tanh, which is x * sigmoid(2 c (x + a x^3)).
template <typename Number>
void gelu(const Number* x, Number* y, int64_t count);
// Its gradient, times grad.
template <typename Number>
void gelu_backward(const Number* grad, const Number* x, Number* to_x, int64_t count);
// Rows of `count`, with a mean and an rstd for each. A weight or a bias can be null.
template <typename Number>
struct NormRows {
  const Number* x;
  const float *weight, *bias;
  double eps;
  int64_t rows, count;
};
template <typename Number>
void layer_norm(const NormRows<Number>& of, Number* y, float* mean, float* rstd);
template <typename Number>
struct NormRowsBackward {
  const Number *grad, *x;
  const float *mean, *rstd, *weight;
  int64_t rows, count;
};
// Adds to to_weight and to_bias. What is null is not wanted.
template <typename Number>
void layer_norm_backward(const NormRowsBackward<Number>& of, Number* to_x, float* to_weight, float* to_bias);

}  // namespace sim::loops
