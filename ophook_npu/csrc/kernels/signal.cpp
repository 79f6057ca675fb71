#include "kernels/signal.h"

namespace sim::kernels {

at::Tensor stft(const at::Tensor& x, const at::Tensor& window, int64_t size, int64_t hop, int64_t window_size,
                bool normalized, bool onesided, bool complex) {
  auto result = at::stft(x, size, hop, window_size, optional(window), normalized, onesided, /*return_complex=*/true);
  return complex ? result : at::view_as_real(result);
}

Dims spectrum_sizes(const at::Tensor& x, int64_t size, int64_t dim, int64_t norm) {
  of_dtype("self", x, {at::kFloat});
  SIM_CHECK(x.dim() >= 1 && x.dim() <= 7, "a tensor of shape ", x.sizes(), "; 1 to 7 dimensions expected");
  SIM_CHECK(norm >= 1 && norm <= 3, "norm ", norm, "; allowed: 1 to 3");
  SIM_CHECK(size >= 1 && (size <= 4096 || (size <= 262144 && !(size & (size - 1)))), "n ", size,
            "; allowed: 1 to 4096, and powers of 2 to 262144");
  Dims sizes = x.sizes().vec();
  sizes[size_t(wrap(dim, x))] = size / 2 + 1;
  sizes.push_back(2);
  return sizes;
}

at::Tensor spectrum(const at::Tensor& x, int64_t size, int64_t dim, int64_t norm) {
  constexpr const char* names[] = {"backward", "forward", "ortho"};
  return at::view_as_real(at::fft_rfft(x, size, dim, names[norm - 1]));
}

}  // namespace sim::kernels
