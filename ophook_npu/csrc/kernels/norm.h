// Normalization. Statistics are computed in float, whatever the data's type, as the device does.
#pragma once

#include <array>

#include "kernels/tensors.h"

namespace sim::kernels {

struct Normal {
  at::Tensor y, mean, rstd;
};
struct Statistics {
  at::Tensor mean, rstd;
};
struct Affine {
  at::Tensor weight, bias;
};
struct NormalGradients {
  at::Tensor x, weight, bias;
};
using Wanted = std::array<bool, 3>;  // which of the gradients
constexpr Wanted kAllGradients{true, true, true};

// ---- over a batch: statistics for each channel, dimension 1 ---------------------------------------------------------
struct Running {
  at::Tensor mean, var;
};
struct BatchNormal {
  at::Tensor y, running_mean, running_var, mean, rstd;  // the last two of the batch, in training
};
BatchNormal batch_norm(const at::Tensor& x, const Affine& by, const Running& running, bool training, double momentum,
                       double eps);
NormalGradients batch_norm_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                    const Running& running, const Statistics& of, bool training, double eps,
                                    Wanted wanted = kAllGradients);
at::Tensor batch_variance(const at::Tensor& x);
at::Tensor inverse_root(const at::Tensor& variance, double eps);
at::Tensor inference_backward(const at::Tensor& grad, const at::Tensor& weight, const at::Tensor& variance, double eps);

// The same in parts, as several processes share it: local sums, then the whole from what all of them have.
Normal batch_statistics(const at::Tensor& x, double eps);  // without y
struct Sums {
  at::Tensor first, second;
};
Sums batch_sums(const at::Tensor& x);  // of x and of its squares
at::Tensor batch_normalized(const at::Tensor& x, const at::Tensor& mean, const at::Tensor& rstd,
                            const at::Tensor& weight = {}, const at::Tensor& bias = {});
// What processes sent, a row for each: means and rstds, or sums and sums of squares, over `counts` elements.
BatchNormal gathered_sums(const Sums& sums, const at::Tensor& counts, const Running& running, double momentum,
                          double eps);
BatchNormal gathered_statistics(const Statistics& of, const at::Tensor& counts, const Running& running, double momentum,
                                double eps);
// Of the gradient, and of its products with x - mean.
Sums batch_gradient_sums(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& mean);
// And what they are for weight and bias.
struct BatchGradientSums {
  at::Tensor sum, product_sum, weight, bias;
};
BatchGradientSums batch_gradient_sums(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& mean,
                                      const at::Tensor& rstd);
double total(const at::Tensor& counts);
at::Tensor batch_gradient_from_sums(const at::Tensor& grad, const at::Tensor& x, const Statistics& of,
                                    const at::Tensor& weight, const Sums& sums, double count);
// The same from the gradients of weight and bias.
at::Tensor batch_gradient_from_parameters(const at::Tensor& grad, const at::Tensor& x, const Running& of,
                                          const at::Tensor& weight, const Affine& to, double eps);

// ---- over the last dimensions, those of the weight -----------------------------------------------------------------
// The last dimensions of x are those of `inner`.
void ends_with(const at::Tensor& x, at::IntArrayRef inner);
// A normal, its statistics over the last dimensions of x, `inner`, which may be ones there or be gone, and the sum that
// it is of.
void normal_like(const at::Tensor& x, at::IntArrayRef inner, const at::Tensor& out,
                 std::initializer_list<at::Tensor> statistics, std::initializer_list<at::Tensor> sums = {});
// A value for each channel of x, dimension 1: each that is given has one dimension.
void of_channels(std::initializer_list<at::Tensor> values, const at::Tensor& x);
// A weight of [1, n] is that of the last dimension alone: AddRmsNorm's page allows it for any x.
at::Tensor weight_of_rows(const at::Tensor& gamma);
void layer_norm_like(const at::Tensor& x, const Dims& normalized, const at::Tensor& weight, const at::Tensor& bias,
                     const Normal& to);
Normal layer_norm(const at::Tensor& x, at::IntArrayRef normalized, const at::Tensor& weight, const at::Tensor& bias,
                  double eps);
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

// ---- over groups of channels ---------------------------------------------------------------------------------------
void group_norm_like(const at::Tensor& x, int64_t batch, int64_t groups, const at::Tensor& out, const at::Tensor& mean,
                     const at::Tensor& rstd);
void group_norm_like(const at::Tensor& x, int64_t groups, const at::Tensor& out, const at::Tensor& mean,
                     const at::Tensor& rstd);  // of (batch, channels, …)
// Of (batch, channels, …), or of any shape with batch * channels * area elements.
struct Grouping {
  int64_t batch, channels, area, groups;
};
Normal group_norm(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, const Grouping& in, double eps);
Normal group_norm(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, int64_t groups, double eps);
// With y = swish(group norm).
Normal group_norm_swish(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, int64_t groups,
                        double eps, double scale);
at::Tensor group_variance(const at::Tensor& x, int64_t groups);
NormalGradients group_norm_backward(const at::Tensor& grad, const at::Tensor& x, const Statistics& of,
                                    const at::Tensor& gamma, const Grouping& in, Wanted wanted = kAllGradients);
NormalGradients group_norm_backward(const at::Tensor& grad, const at::Tensor& x, const Statistics& of,
                                    const at::Tensor& gamma, int64_t groups);
NormalGradients group_norm_swish_backward(const at::Tensor& grad, const at::Tensor& x, const Statistics& of,
                                          const at::Tensor& gamma, const at::Tensor& beta, int64_t groups, double scale,
                                          Wanted wanted);

}  // namespace sim::kernels
