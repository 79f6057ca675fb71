// Causal convolutions of sequences. None has a page of CANN's: torch_npu's pages and op-plugin's calls are followed.
#include "kernels/causal_conv.h"

#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

void write_causal(const at::Tensor& x, const at::Tensor& weight, const kernels::CausalGradients& result) {
  write(x, result.x);
  write(weight, result.weight);
}

}  // namespace

ACLNN(MaskedCausalConv1d, (In, self, In, weight, In, mask, Out, out), ,
      write(out, kernels::masked_causal_conv(self, weight, mask)))
ACLNN(MaskedCausalConv1dBackward, (In, grad, In, self, In, weight, In, mask, Out, out, Out, out_weight), ,
      write_causal(out, out_weight, kernels::masked_causal_conv_backward(grad, self, weight, mask)))

// initialStateMode, bias, activation, runMode and maxQueryLen have no effect, as torch_npu's page says.
ACLNN(FusedCausalConv1d,
      (In, self, In, weight, Ref, states, In, starts, In, lines, In, initial_mode, In, bias, In, accepted, In, computed,
       In, first_block, In, last_block, In, initial_block, int64_t, activation, int64_t, skipped, int64_t, run_mode,
       int64_t, longest, int64_t, residual, int64_t, block, int64_t, mode, Out, out),
      SIM_CHECK(residual == 0 || residual == 1, "residualConnection ", residual, "; allowed: 0, 1");
      kernels::cached_causal_like(self,
                                  {weight, states, starts, lines, accepted, computed, first_block, last_block,
                                   initial_block, skipped, residual != 0, block, mode},
                                  out),
      kernels::cached_causal_conv(self,
                                  {weight, states, starts, lines, accepted, computed, first_block, last_block,
                                   initial_block, skipped, residual != 0, block, mode},
                                  out))
ACLNN(InplaceFusedCausalConv1d,
      (Ref, self, In, weight, Ref, states, In, starts, In, lines, In, initial_mode, In, bias, In, accepted, In,
       computed, In, first_block, In, last_block, In, initial_block, int64_t, activation, int64_t, skipped, int64_t,
       run_mode, int64_t, longest, int64_t, residual, int64_t, block, int64_t, mode),
      SIM_CHECK(residual == 0 || residual == 1, "residualConnection ", residual, "; allowed: 0, 1");
      kernels::cached_causal_like(self,
                                  {weight, states, starts, lines, accepted, computed, first_block, last_block,
                                   initial_block, skipped, residual != 0, block, mode},
                                  self),
      kernels::cached_causal_conv(self,
                                  {weight, states, starts, lines, accepted, computed, first_block, last_block,
                                   initial_block, skipped, residual != 0, block, mode},
                                  self))
