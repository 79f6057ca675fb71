// Time to frequency.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

// As complex numbers, or as pairs of their parts.
at::Tensor stft(const at::Tensor& x, const at::Tensor& window, int64_t size, int64_t hop, int64_t window_size,
                bool normalized, bool onesided, bool complex);

// The spectrum of real numbers along a dimension, brought to `size` numbers, as pairs of real and imaginary part. norm:
// 1 as it is, 2 divided by the size, 3 by its root.
Dims spectrum_sizes(const at::Tensor& x, int64_t size, int64_t dim, int64_t norm);
at::Tensor spectrum(const at::Tensor& x, int64_t size, int64_t dim, int64_t norm);

}  // namespace sim::kernels
