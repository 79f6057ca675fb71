// Time to frequency.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

// As complex numbers, or as pairs of their parts.
at::Tensor stft(const at::Tensor& x, const at::Tensor& window, int64_t size, int64_t hop, int64_t window_size,
                bool normalized, bool onesided, bool complex);

}  // namespace sim::kernels
