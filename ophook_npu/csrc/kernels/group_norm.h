// Normalization over groups of channels.
#pragma once

#include "kernels/normal.h"

namespace sim::kernels {

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
