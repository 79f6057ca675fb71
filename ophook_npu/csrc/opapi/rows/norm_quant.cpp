// Normalizations that take scale and shift for each batch, and those that end in numbers of 8 bits.
#include "kernels/group_norm.h"
#include "kernels/mx_quant.h"
#include "kernels/norm.h"
#include "kernels/norm_quant.h"
#include "kernels/quant.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;
using namespace sim::quant;

ACLNN(AdaLayerNorm, (In, self, In, scale, In, shift, In, weight, In, bias, double, eps, Out, out), ,
      write_ada(out, {}, {}, ada_layer_norm(self, scale, shift, weight, bias, eps)))
ACLNN(AdaLayerNormV2,
      (In, self, In, scale, In, shift, In, weight, In, bias, double, eps, Out, out, Out, mean, Out, rstd), ,
      write_ada(out, mean, rstd, ada_layer_norm(self, scale, shift, weight, bias, eps)))
ACLNN(AdaLayerNormBackward,
      (In, grad, In, self, Ints, normalized, In, rstd, In, mean, In, scale, In, shift, In, weight, In, bias, Out, out,
       Out, out_scale, Out, out_shift, Out, out_weight, Out, out_bias),
      ada_like(grad, self, scale, shift, {mean, rstd});
      asked({out}, self.sizes()); asked({out_scale}, scale.sizes()); asked({out_shift}, shift.sizes());
      asked({weight, bias, out_weight, out_bias}, normalized);
      SIM_CHECK(normalized == Dims{self.size(-1)}, "normalizedShape ", normalized, " for x ", self.sizes()),
      ada_backward(grad, {.x = self, NAMED(rstd, mean, scale, weight, bias)},
                   {.x = out, .scale = out_scale, .shift = out_shift, .weight = out_weight, .bias = out_bias}))
ACLNN(AdaLayerNormQuant,
      (In, self, In, scale, In, shift, In, weight, In, bias, In, smoothing, double, eps, Text, mode, Out, out, Out,
       out_scale, Out, out_offset),
      (dynamic_mode(mode), sim::mx::stepped_like(out, self), by_row(out_scale, self)),
      write_rows_quantized(out, out_scale, smooth(ada_layer_norm(self, scale, shift, weight, bias, eps).y, smoothing)))
ACLNN(LayerNormWithImplMode,
      (In, self, Ints, normalized, In, weight, In, bias, double, eps, Out, out, Out, mean, Out, rstd, int32_t, mode),
      SIM_CHECK(mode != 2 || self.scalar_type() == at::kHalf, "implMode 2 for ", self.scalar_type(),
                "; allowed: FLOAT16"),
      write_ada(out, mean, rstd, kernels::layer_norm(self, normalized, weight, bias, eps)))
ACLNN(LayerNormQuant,
      (In, self, In, gamma, In, beta, In, scale, In, zero, int32_t, mode, double, eps, Out, out, Out, out_scale),
      when_run(), write_quantized(out, steps_of(layer_normal(self, gamma, beta, eps), scale, zero, true)))
// Its page allows additionalOutput false, CANN's own program for it asks for the sum.
ACLNN(AddLayerNormQuantV2,
      (In, a, In, b, In, gamma, In, beta, In, bias, In, scale1, In, scale2, In, zero1, In, zero2, Text, mode, double,
       eps, bool, sum_too, bool, divide, Out, out1, Out, out2, Out, sum, Out, normal, Out, out_scale1, Out, out_scale2),
      (add_layer_norm_like({NAMED(a, b, gamma), .bias = bias}, mode, divide, {.scale = scale1, .out = out1},
                           {.scale = scale2, .out = {}}),
       asked({normal, sum_too ? sum : at::Tensor()}, a.sizes())),
      add_layer_norm_quant({NAMED(a, b, gamma, beta, bias, eps)}, {.scale = scale1, .zero = zero1, .out = out1}, normal,
                           sum_too ? sum : at::Tensor()))
#define RESULT(n) {.scale = scale##n, .zero = zero##n, .out = out##n, .out_scale = out_scale##n}
ACLNN(AddLayerNormQuant,
      (In, a, In, b, In, gamma, In, beta, In, bias, In, scale1, In, scale2, In, zero1, In, zero2, Text, mode, double,
       eps, bool, sum_too, bool, divide, Out, out1, Out, out2, Out, sum, Out, out_scale1, Out, out_scale2),
      add_layer_norm_like({NAMED(a, b, gamma), .bias = bias}, mode, RESULT(1), RESULT(2), sum_too ? sum : at::Tensor()),
      add_layer_norm_quant({NAMED(a, b, gamma, beta, bias, eps)}, {.dynamic = mode == "dynamic", NAMED(divide)},
                           RESULT(1), RESULT(2), sum_too ? sum : at::Tensor()))
ACLNN(RmsNormDynamicQuant,
      (In, self, In, gamma, In, smoothing, In, beta, double, eps, int64_t, dtype, Out, out, Out, out_scale),
      (of_dtype("yOut", out, {at::kChar}), by_row(out_scale, self)),
      write_rows_quantized(out, out_scale, smooth(rms_normal(self, gamma, beta, eps), smoothing)))
ACLNN(RmsNormQuant, (In, self, In, gamma, In, beta, In, scale, In, offset, double, eps, Out, out),
      sim::mx::stepped_like(out, self),
      write(out, sim::mx::stepped(steps_of(rms_normal(self, gamma, beta, eps), scale, offset, true), out)))
ACLNN(QuantizedBatchNorm,
      (In, self, In, mean, In, var, Num, scale, Num, zero, Num, out_scale, Num, out_zero, In, weight, In, bias, float,
       eps, Out, out),
      (like(out, self), same_dtype({self, out}), of_dtype("input", self, {at::kChar, at::kByte, at::kInt}));
      SIM_CHECK(!self.numel() || self.dim() == 4, "images of four dimensions expected, got ", self.sizes());
      if (self.numel()) kernels::of_channels({mean, var, weight, bias}, self),
      write(out, quantized_batch_norm(self, {NAMED(mean, var, weight, bias)}, {NAMED(scale, zero)},
                                      {.scale = out_scale, .zero = out_zero}, eps)))
ACLNN(GroupNormSiluQuant,
      (In, self, In, gamma, In, beta, In, scale, int64_t, groups, double, eps, bool, silu, Out, out, Out, mean, Out,
       rstd),
      SIM_CHECK(silu, "activateSilu has to be true"),
      group_norm_silu_quant(self, gamma, beta, scale, groups, eps, {.y = out, NAMED(mean, rstd)}))
