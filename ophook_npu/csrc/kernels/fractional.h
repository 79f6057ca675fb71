// Pooling of images (n, h, w, c) by windows whose borders are drawn, some one longer than others.
#pragma once

#include <ATen/core/Generator.h>

#include "kernels/tensors.h"

namespace sim::kernels {

// Where each of `parts` windows begins along `size` pixels, and the end. `steady`: borders at equal steps, rounded up,
// from a shift that is drawn; otherwise the longer ones stand in an order that is drawn.
at::Tensor drawn_borders(int64_t size, int64_t parts, bool steady, const at::Generator& by);
struct Borders {
  at::Tensor rows, columns;
  bool overlapping;  // a window has the pixel at its end as well
};
at::Tensor fractional_maxima(const at::Tensor& x, const Borders& at);
at::Tensor fractional_average(const at::Tensor& x, const Borders& at);
at::Tensor fractional_maxima_backward(const at::Tensor& grad, const at::Tensor& x, const Borders& at);
at::Tensor fractional_average_backward(const at::Tensor& grad, at::IntArrayRef sizes, const Borders& at);

}  // namespace sim::kernels
