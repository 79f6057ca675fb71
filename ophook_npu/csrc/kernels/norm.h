// Normalization over the last dimensions, those of the weight.
#pragma once

#include "kernels/normal.h"

namespace sim::kernels {

// A value for each channel of x, dimension 1: each that is given has one dimension.
void of_channels(std::initializer_list<at::Tensor> values, const at::Tensor& x);
// A weight of [1, n] is that of the last dimension alone: AddRmsNorm's page allows it for any x.
at::Tensor weight_of_rows(const at::Tensor& gamma);
Normal layer_norm(const at::Tensor& x, at::IntArrayRef normalized, const at::Tensor& weight, const at::Tensor& bias,
                  double eps);
// The same with the variance in place of its inverse root.
struct NormalOfVariance {
  at::Tensor y, mean, variance;
};
NormalOfVariance layer_norm_variance(const at::Tensor& x, at::IntArrayRef normalized, const at::Tensor& weight,
                                     const at::Tensor& bias, double eps);
// The same, each row written where it belongs. A statistic can be absent.
void layer_norm_into(const Normal& to, const at::Tensor& x, at::IntArrayRef normalized, const at::Tensor& weight,
                     const at::Tensor& bias, double eps);
// `into`: where the gradient of x goes where it can be written there as it is computed: then the result has none.
NormalGradients layer_norm_backward(const at::Tensor& grad, const at::Tensor& x, at::IntArrayRef normalized,
                                    const Statistics& of, const at::Tensor& weight, const at::Tensor& bias,
                                    Wanted wanted = kAllGradients, const at::Tensor& into = {});
Normal rms_norm(const at::Tensor& x, const at::Tensor& gamma, double eps, double gamma_offset = 0);  // without mean
// rstd is computed anew where it is absent.
NormalGradients rms_norm_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& rstd,
                                  const at::Tensor& gamma);

// Of a sum, which is a result as well.
struct NormalOfSum {
  at::Tensor y, mean, rstd, sum;
};
NormalOfSum add_rms_norm(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, double eps);
NormalOfSum add_layer_norm(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c, const at::Tensor& gamma,
                           const at::Tensor& beta, double eps);  // c may be absent
// `grad_sum`: what reaches the sum by another way, or nothing.
NormalGradients add_layer_norm_backward(const at::Tensor& grad, const at::Tensor& a, const at::Tensor& b,
                                        const Statistics& of, const at::Tensor& gamma, const at::Tensor& grad_sum);
// Of gx + alpha x.
Normal deep_norm(const at::Tensor& x, const at::Tensor& gx, const at::Tensor& beta, const at::Tensor& gamma,
                 double alpha, double eps);
struct DeepNormalGradients {
  at::Tensor x;
  NormalGradients gx;
};
DeepNormalGradients deep_norm_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& gx,
                                       const at::Tensor& gamma, const Statistics& of, double alpha);

// Of images, over the channels up to `radius` before and behind each: x / (bias + alpha * their sum of squares) ** beta
struct ChannelNorm {
  int64_t radius;
  double bias, alpha, beta;
};
at::Tensor norm_of_channels(const at::Tensor& x, const ChannelNorm& how);

}  // namespace sim::kernels
