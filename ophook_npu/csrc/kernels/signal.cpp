#include "kernels/signal.h"

namespace sim::kernels {

at::Tensor stft(const at::Tensor& x, const at::Tensor& window, int64_t size, int64_t hop, int64_t window_size,
                bool normalized, bool onesided, bool complex) {
  auto result = at::stft(x, size, hop, window_size, optional(window), normalized, onesided, /*return_complex=*/true);
  return complex ? result : at::view_as_real(result);
}

}  // namespace sim::kernels
