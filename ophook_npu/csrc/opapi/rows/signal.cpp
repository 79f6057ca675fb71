// Time to frequency.
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

at::Tensor frequencies(const at::Tensor& self, const at::Tensor& window, int64_t size, int64_t hop, int64_t window_size,
                       bool normalized, bool onesided, bool complex) {
  auto result = at::stft(self, size, hop, window_size, optional(window), normalized, onesided, /*return_complex=*/true);
  return complex ? result : at::view_as_real(result);
}

}  // namespace

ACL_FUNCTION(aclStft, Stft,
             (In, self, In, window, Out, out, int64_t, size, int64_t, hop, int32_t, window_size, bool, normalized, bool,
              onesided, bool, complex),
             when_run(), write(out, frequencies(self, window, size, hop, window_size, normalized, onesided, complex)))
