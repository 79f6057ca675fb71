// Images resampled by weights, a matrix (new, old) for each axis, and their colours.
#pragma once

#include <string>

#include "kernels/tensors.h"

namespace sim::kernels {

at::Tensor resampled(const at::Tensor& x, const at::Tensor& rows, const at::Tensor& columns);  // of (…, h, w)
at::Tensor resampled_backward(const at::Tensor& grad, const at::Tensor& rows, const at::Tensor& columns);
at::Tensor corner_weights(int64_t from, int64_t to);  // between a pixel and the next, both from the corner on
// The old pixel of each new one: by steps from the corner on, with the corners in place, or by the middles of pixels.
enum class Pixels { from_the_corner, by_corners, by_middles };
at::Tensor nearest(const at::Tensor& x, at::IntArrayRef to, Pixels how);
at::Tensor nearest_backward(const at::Tensor& grad, at::IntArrayRef sizes, Pixels how);
at::Tensor area_weights(int64_t from, int64_t to, bool corners);  // the mean of what a new pixel covers
// Of what a filter reaches around the middle of a new pixel, which stands scale · middle + shift in the old image.
struct Moved {
  double scale, shift;
  std::string filter;
  bool antialias;
};
at::Tensor moved_weights(int64_t from, int64_t to, const Moved& how);
void of_filter(const std::string& name);  // refuses one that there is not

// ---- colours, (…, 3) between 0 and 1 --------------------------------------------------------------------------------
at::Tensor rgb_to_hsv(const at::Tensor& x);
at::Tensor hue_turned(const at::Tensor& x, double by);
at::Tensor saturation_scaled(const at::Tensor& x, double by);

}  // namespace sim::kernels
