// Time to frequency.
#include "kernels/signal.h"

#include "opapi/aclnn.h"

using namespace sim::aclnn;

ACL_FUNCTION(aclStft, Stft,
             (In, self, In, window, Out, out, int64_t, size, int64_t, hop, int32_t, window_size, bool, normalized, bool,
              onesided, bool, complex),
             when_run(), write(out, kernels::stft(self, window, size, hop, window_size, normalized, onesided, complex)))
