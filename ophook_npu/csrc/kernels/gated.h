// Gated units with bounds, and the scaling of features: forward and gradients, in float whatever the data's type.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

// gate * sigmoid(alpha * gate) * (value + bias), the gate at most `limit`, the value within it. Gate and value are the
// halves from dimension `dim` on, or take turns. Rows behind the sum of `group_index` are not computed: the result has
// only those before, their gradient is 0.
struct ClippedSwiglu {
  int64_t dim;
  double alpha, limit, bias;
  bool interleaved;
  bool late = false;  // the bound is of gate * sigmoid(gate), and neither alpha nor bias counts
};
at::Tensor clipped_swiglu(const at::Tensor& x, const at::Tensor& group_index, const ClippedSwiglu& how);
at::Tensor clipped_swiglu_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& group_index,
                                   const ClippedSwiglu& how);

// silu of the first half times the second, times the weight of the row, which may be undefined; limit -1: none.
void token_weights(const at::Tensor& x, const at::Tensor& weight, double limit);
at::Tensor swiglu_of_tokens(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& group_index, double limit);

// beta * tanh(gate / beta) * sigmoid(gate) * value; with linear_beta > 0 the value is bounded by tanh as well.
struct SituGlu {
  int64_t dim;
  double beta, linear_beta;
  bool left;
};
at::Tensor situ_glu(const at::Tensor& x, const SituGlu& how);
at::Tensor situ_glu_backward(const at::Tensor& grad, const at::Tensor& x, const SituGlu& how);

// The first half of the last dimension where it is not below the threshold, else 0, times the second.
at::Tensor fatrelu_mul(const at::Tensor& x, const at::Tensor& threshold);

// x (batch, rows, features); scale and shift (batch, features) or (batch, 1, features), or absent.
at::Tensor modulate(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift);
struct ModulateGradients {
  at::Tensor x, scale, shift;
};
ModulateGradients modulate_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& scale);
// (batch, features) as (batch, 1, features).
at::Tensor for_rows(const at::Tensor& values, const at::Tensor& x);

struct LossAndGradient {
  at::Tensor loss, gradient;
};
// For each row of features; the labels are probabilities.
LossAndGradient softmax_cross_entropy(const at::Tensor& features, const at::Tensor& labels);
LossAndGradient softmax_cross_entropy_of_classes(const at::Tensor& features, const at::Tensor& classes);

}  // namespace sim::kernels
