// What ends in small floating-point numbers: normalizations, gated units, products, by blocks or with one scale.
#include "kernels/mx_fused.h"
#include "kernels/needed.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;
namespace mx = sim::mx;

#define HOW {NAMED(mode, algorithm)}
ACLNN(RmsNormDynamicMxQuant,
      (In, self, In, gamma, In, beta, double, eps, int64_t, algorithm, Text, mode, int64_t, dtype, bool, with_rstd, Out,
       out, Out, scale, Out, rstd),
      mx::norm_like({.a = self, .b = {}, NAMED(gamma, beta)}, dtype, HOW, {NAMED(out, scale, rstd, with_rstd)}),
      mx::norm_quant({.a = self, .b = {}, NAMED(gamma, beta, eps)}, HOW, {NAMED(out, scale, rstd, with_rstd)}))
ACLNN(AddRmsNormDynamicMxQuant,
      (In, a, In, b, In, gamma, In, beta, double, eps, int64_t, algorithm, Text, mode, int64_t, dtype, bool, with_rstd,
       Out, out, Out, sum, Out, scale, Out, rstd),
      (same_dtype({a, b, sum}),
       mx::norm_like({NAMED(a, b, gamma, beta)}, dtype, HOW, {NAMED(out, sum, scale, rstd, with_rstd)})),
      mx::norm_quant({NAMED(a, b, gamma, beta, eps)}, HOW, {NAMED(out, sum, scale, rstd, with_rstd)}))
ACLNN(RmsNormQuantV3,
      (In, self, In, gamma, In, scale, In, offset, In, beta, double, eps, bool, divide, bool, with_rstd, Out, out, Out,
       rstd),
      mx::rms_norm_like(self, gamma, scale, out, with_rstd ? rstd : at::Tensor()),
      mx::rms_norm_quant(self, gamma, beta, eps, divide, {NAMED(scale), .zero = offset, NAMED(out)},
                         with_rstd ? rstd : at::Tensor()))
ACLNN(RmsNormGradQuant,
      (In, grad, In, self, In, rstd, In, gamma, In, scale, In, offset, Text, mode, bool, divide, Out, out, Out,
       out_gamma),
      mx::rms_norm_backward_like(grad, self, mode, out),
      mx::rms_norm_backward_quant(grad, self, rstd, gamma, divide, {NAMED(scale), .zero = offset, NAMED(out)},
                                  out_gamma))
#define ROWS {.x = self, NAMED(group_index, dim, kind, axis)}
ACLNN(SwigluMxQuant,
      (In, self, In, group_index, int64_t, dim, bool, left, int64_t, swiglu_mode, double, limit, double, alpha, double,
       bias, int64_t, kind, int64_t, axis, int64_t, dtype, Text, mode, int64_t, algorithm, double, top, Out, out, Out,
       scale),
      mx::swiglu_like(ROWS, swiglu_mode, limit, dtype, HOW, out, scale),
      mx::swiglu_quant(ROWS, {NAMED(left), .pairs = swiglu_mode == 1, NAMED(limit, alpha, bias)}, HOW, out, scale))
ACLNN(SwigluMxQuantWithDualAxis,
      (In, self, In, groups, bool, left, Text, mode, int64_t, algorithm, int64_t, dtype, double, top, Out, out1, Out,
       scale1, Out, out2, Out, scale2),
      mx::swiglu_dual_like(self, groups, dtype, {NAMED(mode, algorithm, top)}, {NAMED(out1, scale1, out2, scale2)}),
      mx::dual_quant(mx::swiglu(self, left), groups, HOW, {NAMED(out1, scale1, out2, scale2)}))
ACLNN(SwigluBackwardMxQuantWithDualAxis,
      (In, self, In, grad, In, groups, bool, left, Text, mode, int64_t, algorithm, int64_t, dtype, double, top, Out,
       out1, Out, scale1, Out, out2, Out, scale2),
      mx::swiglu_backward_like(self, grad, groups, dtype, {NAMED(mode, algorithm, top)},
                               {NAMED(out1, scale1, out2, scale2)}),
      mx::dual_quant(mx::swiglu_backward(self, grad, left), groups, HOW, {NAMED(out1, scale1, out2, scale2)}))
// Its other two modes end in HIFLOAT8, which is not simulated.
#define GROUP_TOKENS {NAMED(quant_mode, powers, limit, block, with_origin)}
ACLNN(SwigluGroupQuant,
      (In, self, In, weight, In, group_index, In, static_scale, int64_t, dtype, int64_t, quant_mode, int64_t, block,
       bool, powers, double, limit, double, top, bool, with_origin, Out, out, Out, scale, Out, origin),
      mx::swiglu_tokens_like(self, weight, static_scale, dtype, GROUP_TOKENS, out, scale),
      mx::swiglu_tokens(self, weight, group_index, GROUP_TOKENS, out, scale))
ACLNN(SwigluGroupQuantGrad,
      (In, grad, In, self, In, weight, In, origin, In, group_index, double, limit, Out, out, Out, out_weight),
      mx::swiglu_tokens_backward_like(grad, self, weight, origin, out, out_weight);
      SIM_CHECK(limit == -1 || limit > 0, "clampLimit ", limit, "; allowed: -1 (none), or more than 0"),
      mx::swiglu_tokens_backward(grad, self, weight, origin, group_index, limit, out, out_weight))
ACLNN(SwigluGroupGrad,
      (In, grad, In, self, In, weight, In, origin, In, group_index, float, limit, Out, out, Out, out_weight),
      mx::swiglu_tokens_backward_like(grad, self, weight, origin, out, out_weight);
      SIM_CHECK(limit >= 0, "clampLimit ", limit, "; allowed: 0 (none), or more");
      SIM_CHECK(self.size(-1) > 0, "x ", self.sizes(), " has no features");
      SIM_NEEDED(!weight.defined() || out_weight.defined(),
                 "gradWeightOutOptional is needed where weightOptional is given");
      SIM_CHECK(weight.defined() == origin.defined(), "weightOptional and yOriginOptional have to be given both");
      SIM_CHECK(!group_index.defined() || (group_index.dim() == 1 && group_index.numel()), "groupIndexOptional ",
                group_index.sizes(), "; one dimension that is not empty is expected"),
      mx::swiglu_tokens_backward(grad, self, weight, origin, group_index, limit, out, out_weight))
ACLNN(SituMxQuant,
      (In, self, float, beta, float, linear_beta, bool, left, int64_t, axis, int64_t, dtype, Text, mode, Out, out, Out,
       scale),
      SIM_CHECK(axis == -1 && beta != 0 && (mode.empty() || mode == "rint"), "axis ", axis, ", beta ", beta,
                ", roundMode ", mode, "; allowed: -1, not 0, rint");
      mx::quant_like(mx::first_half(self), -1, dtype, {"rint"}, out, scale),
      mx::quant(sim::kernels::situ_glu(self, {.dim = -1, NAMED(beta, linear_beta, left)}), -1, {"rint"}, out, scale))
ACLNN(GeluQuant,
      (In, self, In, scale, In, offset, Text, approximate, Text, mode, Text, round_mode, int64_t, dtype, Out, out, Out,
       out_scale),
      mx::gelu_like(self, scale, offset, mode, round_mode, out, out_scale),
      mx::gelu_quant(self, scale, offset, approximate, mode == "dynamic", out, out_scale))
ACLNN(QuantMax, (In, self, In, scale, Text, mode, int64_t, dtype, Out, out, Out, most),
      mx::scaled_like(self, scale, {}, mode, dtype, out, most), mx::scaled_quant(self, scale, {}, out, most))
ACLNN(GroupedQuantMax, (In, self, In, scale, In, groups, Text, mode, int64_t, dtype, Out, out, Out, most),
      mx::scaled_like(self, scale, groups, mode, dtype, out, most), mx::scaled_quant(self, scale, groups, out, most))
ACLNN(GroupedDynamicBlockQuant,
      (In, self, In, groups, double, least, Text, mode, int64_t, dtype, int64_t, rows, int64_t, columns, int64_t, kind,
       Out, out, Out, scale),
      mx::tiles_like(self, groups, mode, kind, 0, {least, rows, columns}, out, scale),
      mx::tiles_quant(self, groups, {least, rows, columns}, out, scale))
ACLNN(GroupedDynamicBlockQuantV2,
      (In, self, In, groups, double, least, Text, mode, int64_t, dtype, int64_t, rows, int64_t, columns, int64_t, kind,
       double, top, Out, out, Out, scale),
      mx::tiles_like(self, groups, mode, kind, top, {least, rows, columns}, out, scale),
      mx::tiles_quant(self, groups, {least, rows, columns}, out, scale))
