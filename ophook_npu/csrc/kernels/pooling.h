// Pooling over planes and volumes, (batch, channels, …), in float whatever the data's type.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

struct Window {
  int64_t dims;  // 2 or 3
  Dims size, stride, padding, dilation;
  bool ceil_mode;
};
// Of the result. A list with one number has it for every dimension; without strides they are the window's size.
Dims pooled_sizes(at::IntArrayRef x, const Window& window);
// Where the result's last dimensions are given.
Dims last_replaced(at::IntArrayRef x, at::IntArrayRef size);

Dims resized_sizes(const at::Tensor& x, const Checked<float>& scales);  // of an image, one for each dimension
// Images (n, c, h, w) and lines (n, c, w) between their pixels; `size`: of the result.
struct Resizing {
  Dims size;
  bool corners;
  std::optional<double> first, second;  // factors, where they are not those of the sizes
};
at::Tensor cubic(const at::Tensor& x, const Resizing& how);
at::Tensor cubic_backward(const at::Tensor& grad, const Resizing& how);
at::Tensor linear(const at::Tensor& x, const Resizing& how);
at::Tensor linear_backward(const at::Tensor& grad, const Resizing& how);

// ---- averages: count_padding counts what lies outside; a divisor of 0 is none ---------------------------------------
at::Tensor average(const at::Tensor& x, const Window& window, bool count_padding, int64_t divisor);
at::Tensor average_backward(const at::Tensor& grad, at::IntArrayRef sizes, const Window& window, bool count_padding,
                            int64_t divisor);
at::Tensor adaptive_average(const at::Tensor& x, const Dims& size);
at::Tensor adaptive_average_backward(const at::Tensor& grad, at::IntArrayRef sizes);

// ---- maxima: `places` are those in the plane or volume, as ATen tells them ------------------------------------------
struct Maxima {
  at::Tensor y, places;
};
Maxima maxima(const at::Tensor& x, const Window& window);
at::Tensor adaptive_maxima_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& places, size_t dims);
at::Tensor maxima_backward(const at::Tensor& grad, const at::Tensor& x, const Window& window, const at::Tensor& places);
// Of a pooling that told no places: they are found again.
at::Tensor maxima_backward_again(const at::Tensor& grad, const at::Tensor& x, const Window& window);
// The device's mask of winners has a layout of its own, which only its backward reads. Here it has the places, where it
// has the room; what the backward gets otherwise, which may be anybody's mask, it does not use: it finds them again.
void write_places(const at::Tensor& mask, const at::Tensor& places);
at::Tensor maxima_backward_masked(const at::Tensor& grad, const at::Tensor& x, const Window& window,
                                  const at::Tensor& mask);
// Padded by itself at each side, {top, left, bottom, right}. The last window of a side is left out where it would begin
// in the padding.
Dims padded_maxima_sizes(at::IntArrayRef x, const Window& window);
at::Tensor maxima_padded(const at::Tensor& x, const Window& window);

// Padded by other amounts in front of each axis and behind it, and by `over` more that no average counts. The window
// has a padding of 0, and no ceil_mode.
struct Frame {
  Dims before, behind, over;
};
at::Tensor average_framed(const at::Tensor& x, const Window& window, const Frame& frame, bool count_padding,
                          int64_t divisor);
at::Tensor average_framed_backward(const at::Tensor& grad, at::IntArrayRef sizes, const Window& window,
                                   const Frame& frame, bool count_padding, int64_t divisor);
at::Tensor maxima_framed(const at::Tensor& x, const Window& window, const Frame& frame);
at::Tensor maxima_framed_backward(const at::Tensor& grad, const at::Tensor& x, const Window& window,
                                  const Frame& frame);

}  // namespace sim::kernels
