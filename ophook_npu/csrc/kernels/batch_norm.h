// Normalization over a batch: statistics for each channel, dimension 1.
#pragma once

#include "kernels/normal.h"

namespace sim::kernels {

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
// Of one process: its sums over what x has of each channel.
struct UpdatedBatchNormal {
  at::Tensor y, running_mean, running_var, mean, variance;
};
UpdatedBatchNormal batch_norm_of_sums(const at::Tensor& x, const Sums& sums, const Affine& by, const Running& running,
                                      double momentum, double eps);
// The mean of means, each times its share of the counts.
at::Tensor mean_of_counts(const at::Tensor& means, const at::Tensor& counts, const at::Tensor& total, const Dims& dims,
                          bool keep_dims);
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
// The same from means in place of sums; all broadcast with x.
at::Tensor batch_gradient_from_means(const at::Tensor& grad, const at::Tensor& x, const Statistics& of,
                                     const at::Tensor& weight, const Sums& means);
// Sums of a gradient and of its products with x, as sums of products with x - mean: as they are, and times rstd.
Sums centred_products(const Sums& sums, const Statistics& of);
// The same from the gradients of weight and bias.
at::Tensor batch_gradient_from_parameters(const at::Tensor& grad, const at::Tensor& x, const Running& of,
                                          const at::Tensor& weight, const Affine& to, double eps);

}  // namespace sim::kernels
