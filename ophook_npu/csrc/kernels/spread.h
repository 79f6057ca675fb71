// Numbers that move to places of their own, as mmcv's operators define them: masks of pointwise spatial attention, and
// filters for turned features. A gradient takes them back.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

struct SpatialMask {
  bool distribute;  // a place's mask tells where it goes; else where it comes from
  int64_t images, height, width;
  int64_t mask_height, mask_width, middle_row, middle_column;
};
// (images, mask_height * mask_width, height, width) to (images, height * width, height, width); 0 where no mask
// reaches.
at::Tensor spatial_mask(const at::Tensor& x, const SpatialMask& mask);
at::Tensor spatial_mask_backward(const at::Tensor& grad, const SpatialMask& mask);
// (o, i, a, h, w) by the places (a, h, w, r), from 1 on, to (o * r, i * a, h, w).
at::Tensor turned_filters(const at::Tensor& x, const at::Tensor& places);
at::Tensor turned_filters_backward(const at::Tensor& grad, const at::Tensor& places);

}  // namespace sim::kernels
