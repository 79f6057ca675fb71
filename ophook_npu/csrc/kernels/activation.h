// Activations, gated units and softmax with their gradients. Half types are computed in float and rounded once.
#pragma once

#include <string>
#include <utility>

#include "kernels/tensors.h"

namespace sim::kernels {

at::Tensor fast_gelu(const at::Tensor& x);  // x * sigmoid(1.702 x)
at::Tensor fast_gelu_backward(const at::Tensor& grad, const at::Tensor& x);
at::Tensor swish(const at::Tensor& x, double scale);  // x * sigmoid(scale x)
at::Tensor swish_backward(const at::Tensor& grad, const at::Tensor& x, double scale);
// By tanh, or by the error function where `approximate` is "none".
void gelu_into(const at::Tensor& out, const at::Tensor& x, const std::string& approximate);
at::Tensor gelu(const at::Tensor& x, const std::string& approximate);
// Of tensors of one shape.
void of_gelu(const std::string& approximate);  // refuses a form that there is not
void gelu_backward_into(const at::Tensor& out, const at::Tensor& grad, const at::Tensor& x,
                        const std::string& approximate);
at::Tensor gelu_backward(const at::Tensor& grad, const at::Tensor& x, const std::string& approximate);
at::Tensor log_sigmoid_backward(const at::Tensor& grad, const at::Tensor& x);
// Of x + bias, times a scale; the gradient is that of the result's sign.
at::Tensor biased_leaky_relu(const at::Tensor& x, const at::Tensor& bias, double slope, double scale);
at::Tensor biased_leaky_relu_backward(const at::Tensor& grad, const at::Tensor& y, double slope, double scale);
// clamp(slope x + shift, 0, 1); of whole numbers as well
constexpr double kHardSigmoidSlope = 1 / 6.0, kHardSigmoidShift = 0.5;
at::Tensor hard_sigmoid(const at::Tensor& x, double slope = kHardSigmoidSlope, double shift = kHardSigmoidShift);
at::Tensor hard_sigmoid_backward(const at::Tensor& grad, const at::Tensor& x, double slope = kHardSigmoidSlope,
                                 double shift = kHardSigmoidShift);

// A weight for each channel, dimension 1, or one for all.
at::Tensor prelu(const at::Tensor& x, const at::Tensor& weight);
struct PreluGradients {
  at::Tensor x, weight;
};
PreluGradients prelu_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight);

at::Tensor softsign(const at::Tensor& x);               // x / (1 + |x|)
at::Tensor hard_max(const at::Tensor& x, int64_t dim);  // 1 for the first of the largest, 0 for the others

// relu, gelu, gelu_tanh, fastgelu or silu; refuses others by name.
at::Tensor activated(const at::Tensor& x, const std::string& name);
void known_activation(const std::string& name);

// ---- units whose input holds a gate and a value, halves of dimension `dim` -----------------------------------------
at::Tensor glu(const at::Tensor& x, int64_t dim);
at::Tensor glu_backward(const at::Tensor& grad, const at::Tensor& x, int64_t dim);
at::Tensor swiglu(const at::Tensor& x, int64_t dim);
at::Tensor swiglu_backward(const at::Tensor& grad, const at::Tensor& x, int64_t dim);
at::Tensor gelu_mul(const at::Tensor& x, const std::string& approximate);
// The gate is the second half, or the first where `left`. mode 1: gelu by tanh.
struct GeGlu {
  at::Tensor y, gelu;
};
GeGlu geglu(const at::Tensor& x, int64_t dim, int64_t mode, bool left);
at::Tensor geglu_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& gelu, int64_t dim,
                          int64_t mode, bool left);

// ---- softmax -------------------------------------------------------------------------------------------------------
void softmax_into(const at::Tensor& out, const at::Tensor& x, int64_t dim);
at::Tensor softmax(const at::Tensor& x, int64_t dim, at::ScalarType type);
void log_softmax_into(const at::Tensor& out, const at::Tensor& x, int64_t dim);
at::Tensor log_softmax(const at::Tensor& x, int64_t dim, at::ScalarType type);
void softmax_backward_into(const at::Tensor& out, const at::Tensor& grad, const at::Tensor& y, int64_t dim);
at::Tensor softmax_backward(const at::Tensor& grad, const at::Tensor& y, int64_t dim);
at::Tensor log_softmax_backward(const at::Tensor& grad, const at::Tensor& y, int64_t dim);
// The mask is true where a score is left out; a triangle leaves out what comes after the row.
at::Tensor masked_softmax(const at::Tensor& x, const at::Tensor& mask, double scale, bool triangle);
at::Tensor masked_softmax_backward(const at::Tensor& grad, const at::Tensor& y, const at::Tensor& mask, double scale,
                                   bool triangle);

// at::threshold of numbers that are tensors; an absent value is 0.
at::Tensor thresholded(const at::Tensor& x, const at::Tensor& threshold, const at::Tensor& value);
// Towards 0 by the bias, and 0 between -lambda and lambda.
at::Tensor shrunk(const at::Tensor& x, const at::Scalar& lambda, const at::Scalar& bias);
at::Tensor squared_relu(const at::Tensor& x);
at::Tensor selu_backward(const at::Tensor& grad, const at::Tensor& y);

}  // namespace sim::kernels
