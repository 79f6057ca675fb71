// Time to frequency.
#include "kernels/signal.h"

#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

void frames_of(const at::Tensor& out, const at::Tensor& self, const at::Tensor& window, int64_t size, int64_t hop,
               int64_t window_size, bool onesided, bool complex) {
  SIM_CHECK(0 < size && size <= self.size(-1), "nFft ", size, " for ", self.sizes());
  SIM_CHECK(hop > 0, "hopLength is ", hop, "; allowed: at least 1");
  SIM_CHECK(0 < window_size && window_size <= size, "winLength is ", window_size, "; allowed: 1 to nFft, ", size);
  SIM_CHECK(window_size == size || !window.defined() || window.numel() == window_size, "a window of shape ",
            window.sizes(), " where winLength is ", window_size);
  SIM_CHECK(!onesided || !(self.is_complex() || (window.defined() && window.is_complex())),
            "onesided needs numbers that are real");
  Dims sizes;
  if (self.dim() == 2 && self.size(0)) sizes.push_back(self.size(0));
  sizes.push_back(onesided ? size / 2 + 1 : size);
  sizes.push_back((self.size(-1) - size) / hop + 1);
  if (!complex) sizes.push_back(2);
  shape(out, sizes);
}

}  // namespace
ACL_FUNCTION(aclRfft1D, Rfft1D, (In, self, int64_t, size, int64_t, dim, int64_t, norm, Out, out),
             shape(out, kernels::spectrum_sizes(self, size, dim, norm)),
             write(out, kernels::spectrum(self, size, dim, norm)))

ACL_FUNCTION(aclStft, Stft,
             (In, self, In, window, Out, out, int64_t, size, int64_t, hop, int32_t, window_size, bool, normalized, bool,
              onesided, bool, complex),
             frames_of(out, self, window, size, hop, window_size, onesided, complex),
             write(out, kernels::stft(self, window, size, hop, window_size, normalized, onesided, complex)))
