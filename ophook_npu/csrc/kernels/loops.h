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
void layer_norm(const Number* x, const float* weight, const float* bias, double eps, Number* y, float* mean,
                float* rstd, int64_t rows, int64_t count);
// Adds to to_weight and to_bias. What is null is not wanted.
template <typename Number>
void layer_norm_backward(const Number* grad, const Number* x, const float* mean, const float* rstd, const float* weight,
                         Number* to_x, float* to_weight, float* to_bias, int64_t rows, int64_t count);

}  // namespace sim::loops
