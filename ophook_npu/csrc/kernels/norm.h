// Normalization. Statistics are computed in float, whatever the data's type, as the device does.
#pragma once

#include <array>

#include "kernels/tensors.h"

namespace sim::kernels {

struct Normal {
  at::Tensor y, mean, rstd;
};
struct NormalGradients {
  at::Tensor x, weight, bias;
};
using Wanted = std::array<bool, 3>;  // which of the gradients
constexpr Wanted kAllGradients{true, true, true};

// ---- over a batch: statistics for each channel, dimension 1 ---------------------------------------------------------
struct BatchNormal {
  at::Tensor y, running_mean, running_var, mean, rstd;  // the last two of the batch, in training
};
BatchNormal batch_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                       const at::Tensor& running_mean, const at::Tensor& running_var, bool training, double momentum,
                       double eps);
NormalGradients batch_norm_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                    const at::Tensor& running_mean, const at::Tensor& running_var,
                                    const at::Tensor& mean, const at::Tensor& rstd, bool training, double eps,
                                    Wanted wanted = kAllGradients);
at::Tensor batch_variance(const at::Tensor& x);

// The same in parts, as several processes share it: local sums, then the whole from what all of them have.
Normal batch_statistics(const at::Tensor& x, double eps);  // without y
struct Sums {
  at::Tensor first, second;
};
Sums batch_sums(const at::Tensor& x);  // of x and of its squares
at::Tensor batch_normalized(const at::Tensor& x, const at::Tensor& mean, const at::Tensor& rstd,
                            const at::Tensor& weight = {}, const at::Tensor& bias = {});
// What processes sent, a row for each: means and rstds, or sums and sums of squares, over `counts` elements.
BatchNormal gathered_sums(const at::Tensor& sum, const at::Tensor& square_sum, const at::Tensor& counts,
                          const at::Tensor& running_mean, const at::Tensor& running_var, double momentum, double eps);
BatchNormal gathered_statistics(const at::Tensor& means, const at::Tensor& rstds, const at::Tensor& counts,
                                const at::Tensor& running_mean, const at::Tensor& running_var, double momentum,
                                double eps);
// Of the gradient, and of its products with x - mean.
Sums batch_gradient_sums(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& mean);
at::Tensor batch_gradient_from_sums(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& mean,
                                    const at::Tensor& rstd, const at::Tensor& weight, const at::Tensor& sum,
                                    const at::Tensor& product_sum, double count);

// ---- over the last dimensions, those of the weight -----------------------------------------------------------------
Normal layer_norm(const at::Tensor& x, at::IntArrayRef normalized, const at::Tensor& weight, const at::Tensor& bias,
                  double eps);
NormalGradients layer_norm_backward(const at::Tensor& grad, const at::Tensor& x, at::IntArrayRef normalized,
                                    const at::Tensor& mean, const at::Tensor& rstd, const at::Tensor& weight,
                                    const at::Tensor& bias, Wanted wanted = kAllGradients);
Normal rms_norm(const at::Tensor& x, const at::Tensor& gamma, double eps, double gamma_offset = 0);  // without mean
// rstd is computed anew where it is absent.
NormalGradients rms_norm_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& rstd,
                                  const at::Tensor& gamma);

// ---- over groups of channels ---------------------------------------------------------------------------------------
// x: (batch, channels, …), or of any shape with batch * channels * area elements.
Normal group_norm(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, int64_t batch, int64_t channels,
                  int64_t area, int64_t groups, double eps);
Normal group_norm(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, int64_t groups, double eps);
at::Tensor group_variance(const at::Tensor& x, int64_t groups);
NormalGradients group_norm_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& mean,
                                    const at::Tensor& rstd, const at::Tensor& gamma, int64_t batch, int64_t channels,
                                    int64_t area, int64_t groups, Wanted wanted = kAllGradients);
// With y = swish(group norm).
NormalGradients group_norm_swish_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& mean,
                                          const at::Tensor& rstd, const at::Tensor& gamma, const at::Tensor& beta,
                                          int64_t groups, double scale, Wanted wanted);

}  // namespace sim::kernels
