// Pooling of regions of which each cell has channels of its own.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

// Features (images, outputs · groups · groups, rows, columns); regions (batches, 5, n) of an image's number and
// corners.
struct PositionSensitive {
  double scale;             // from the regions' coordinates to the features'
  int64_t outputs, groups;  // channels of the result, and its rows and columns
};
// The mean of each cell's pixels, as (batches · n, outputs, groups, groups); 0 of a cell without any.
at::Tensor position_sensitive_means(const at::Tensor& features, const at::Tensor& regions,
                                    const PositionSensitive& how);
at::Tensor position_sensitive_means_backward(const at::Tensor& grad, const at::Tensor& regions,
                                             const PositionSensitive& how, at::IntArrayRef sizes);

}  // namespace sim::kernels
