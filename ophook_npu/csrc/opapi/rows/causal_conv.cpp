// Causal convolutions of sequences. None has a page of CANN's: torch_npu's pages and op-plugin's calls are followed.
#include "kernels/causal_conv.h"
#include "kernels/members.h"

#include "opapi/aclnn.h"

using namespace sim::aclnn;

ACLNN(MaskedCausalConv1d, (In, self, In, weight, In, mask, Out, out), ,
      write(out, kernels::masked_causal_conv(self, weight, mask)))
ACLNN(MaskedCausalConv1dBackward, (In, grad, In, self, In, weight, In, mask, Out, out, Out, out_weight), ,
      kernels::write_members({out, out_weight}, kernels::masked_causal_conv_backward(grad, self, weight, mask)))

// initialStateMode, bias, activation, runMode and maxQueryLen have no effect, as torch_npu's page says.
#define OF_CACHE                                                                                              \
  {NAMED(weight, states, starts, lines, accepted, computed, first_block, last_block, initial_block, skipped), \
   .residual = residual != 0, NAMED(block, mode)}
#define CACHED_CAUSAL(Op, kind, result, ...)                                                                           \
  ACLNN(Op,                                                                                                            \
        (kind, self, In, weight, Ref, states, In, starts, In, lines, In, initial_mode, In, bias, In, accepted, In,     \
         computed, In, first_block, In, last_block, In, initial_block, int64_t, activation, int64_t, skipped, int64_t, \
         run_mode, int64_t, longest, int64_t, residual, int64_t, block, int64_t, mode, ##__VA_ARGS__),                 \
        SIM_CHECK(residual == 0 || residual == 1, "residualConnection ", residual, "; allowed: 0, 1");                 \
        kernels::cached_causal_like(self, OF_CACHE, result), kernels::cached_causal_conv(self, OF_CACHE, result))
CACHED_CAUSAL(FusedCausalConv1d, In, out, Out, out)
CACHED_CAUSAL(InplaceFusedCausalConv1d, Ref, self)
