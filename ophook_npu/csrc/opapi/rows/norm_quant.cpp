// Normalizations that take scale and shift for each batch, and those that end in numbers of 8 bits.
#include "kernels/activation.h"
#include "kernels/gated.h"
#include "kernels/norm.h"
#include "kernels/quant.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;
using namespace sim::quant;

namespace {

// Layer norm of the last dimension, then * (1 + scale) + shift.
kernels::Normal ada_layer_norm(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift,
                               const at::Tensor& weight, const at::Tensor& bias, double eps) {
  auto result = kernels::layer_norm(wide(x), {x.size(-1)}, optional(weight) ? wide(weight) : weight,
                                    optional(bias) ? wide(bias) : bias, eps);
  result.y = kernels::modulate(result.y, scale, shift);
  return result;
}

void ada_like(const at::Tensor& out, const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift) {
  SIM_CHECK(x.dim() > 1, "x has two dimensions at least, its shape is ", x.sizes());
  like(out, x);
  for (const at::Tensor& each : {scale, shift})
    SIM_CHECK(each.size(-1) == x.size(-1) && each.numel() * x.size(-2) == x.numel(), "x ", x.sizes(),
              " with a scale or shift ", each.sizes());
}

void write_ada(const at::Tensor& out, const at::Tensor& mean, const at::Tensor& rstd, const kernels::Normal& result) {
  write(out, result.y);
  if (mean.defined()) write(mean, result.mean.reshape(mean.sizes()));
  if (rstd.defined()) write(rstd, result.rstd.reshape(rstd.sizes()));
}

void ada_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& rstd, const at::Tensor& mean,
                  const at::Tensor& scale, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& out,
                  const at::Tensor& out_scale, const at::Tensor& out_shift, const at::Tensor& out_weight,
                  const at::Tensor& out_bias) {
  Dims statistics = x.sizes().vec();
  statistics.back() = 1;
  auto slope = wide(grad), factor = wide(rstd).reshape(statistics);
  auto normal = wide(x).sub(wide(mean).reshape(statistics)).mul(factor);
  auto scaled = slope.mul(kernels::for_rows(scale, x).add(1));
  auto inner = weight.defined() ? scaled.mul(wide(weight)) : scaled;
  auto average = inner.mean(-1, true).add(normal.mul(inner.mul(normal).mean(-1, true)));
  write_asked(out, inner.sub(average).mul(factor));
  auto before = weight.defined() ? normal.mul(wide(weight)) : normal;
  if (bias.defined()) before = before.add(wide(bias));
  auto rows = [](const at::Tensor& values) { return values.sum(-2); };
  if (out_scale.defined()) write(out_scale, rows(slope.mul(before)).reshape(out_scale.sizes()));
  if (out_shift.defined()) write(out_shift, rows(slope).reshape(out_shift.sizes()));
  auto all = [&](const at::Tensor& values) { return values.flatten(0, -2).sum(0); };
  write_asked(out_weight, all(scaled.mul(normal)));
  write_asked(out_bias, all(scaled));
}

// ---- numbers of 8 bits -------------------------------------------------------------------------------------------
void write_rows_quantized(const at::Tensor& out, const at::Tensor& scale, const at::Tensor& value) {
  const auto result = symmetric(value, largest(out));
  write_quantized(out, result.value);
  write(scale, result.scale.reshape(scale.sizes()));
}

void dynamic_mode(const std::string& mode) { SIM_CHECK(mode == "dynamic", "quantMode ", mode, "; allowed: dynamic"); }

at::Tensor smooth(const at::Tensor& value, const at::Tensor& scales) {
  return scales.defined() ? value.mul(wide(scales)) : value;
}

at::Tensor rms_normal(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps) {
  auto result = kernels::rms_norm(wide(x), wide(gamma).reshape({-1}), eps).y;
  return beta.defined() ? result.add(wide(beta).reshape({-1})) : result;
}

at::Tensor layer_normal(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps) {
  auto flat = [](const at::Tensor& values) { return values.defined() ? wide(values).reshape({-1}) : values; };
  return kernels::layer_norm(wide(x), {x.size(-1)}, flat(gamma), flat(beta), eps).y;
}

void over_the_last(const at::Tensor& x, const at::Tensor& gamma) {
  SIM_CHECK(x.dim() && gamma.numel() == x.size(-1), "gamma ", gamma.sizes(), " for the last dimension of ", x.sizes());
}

void static_mode(int64_t mode) { SIM_CHECK(mode == 0, "quantMode ", mode, "; allowed: 0 (static)"); }

at::Tensor steps_of(const at::Tensor& value, const at::Tensor& scale, const at::Tensor& zero, bool divide) {
  auto steps = divide ? value.div(wide(scale)) : value.mul(wide(scale));
  return zero.defined() ? steps.add(wide(zero)) : steps;
}

void add_layer_norm_like(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, const std::string& mode,
                         bool sum_too, bool divide, const at::Tensor& scale1, const at::Tensor& scale2,
                         const at::Tensor& out) {
  like(b, a), like(out, a), over_the_last(a, gamma);
  SIM_CHECK(mode == "static" && !sum_too && !divide, "quantMode ", mode, ", additionalOutput ", sum_too, ", divMode ",
            divide, "; allowed: static, false, false");
  SIM_CHECK(scale1.defined() && scale1.numel() == 1, "scales1 has one element");
  SIM_CHECK(!scale2.defined(), "scales2 has to be null");
}

void add_layer_norm_quant(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, const at::Tensor& beta,
                          const at::Tensor& bias, const at::Tensor& scale, const at::Tensor& zero, double eps,
                          const at::Tensor& out, const at::Tensor& normal) {
  auto sum = wide(a).add(wide(b));
  if (bias.defined()) sum = sum.add(wide(bias));
  auto value = layer_normal(sum, gamma, beta, eps);
  write_asked(normal, value);
  write_quantized(out, steps_of(value, scale, zero, false));
}

void group_norm_silu(const at::Tensor& self, const at::Tensor& gamma, const at::Tensor& beta, int64_t groups,
                     double eps, bool silu, const at::Tensor& out, const at::Tensor& mean, const at::Tensor& rstd) {
  const auto result = kernels::group_norm(self, gamma, beta, groups, eps);
  write(out, silu ? kernels::swish(result.y, 1) : result.y);
  write_asked(mean, result.mean);
  write_asked(rstd, result.rstd);
}

void group_norm_silu_quant(const at::Tensor& self, const at::Tensor& gamma, const at::Tensor& beta,
                           const at::Tensor& scale, int64_t groups, double eps, const at::Tensor& out,
                           const at::Tensor& mean, const at::Tensor& rstd) {
  const auto result = kernels::group_norm(wide(self), gamma, beta, groups, eps);
  write_quantized(out, kernels::swish(result.y, 1).div(sim::along(scale, self, 1)));
  write_asked(mean, result.mean);
  write_asked(rstd, result.rstd);
}

// Whole numbers in, whole numbers of the same type out, rounded half to even and held within the type.
at::Tensor quantized_batch_norm(const at::Tensor& x, const at::Tensor& mean, const at::Tensor& var, double scale,
                                double zero, double out_scale, double out_zero, const at::Tensor& weight,
                                const at::Tensor& bias, double eps) {
  auto channel = [&](const at::Tensor& values) { return sim::along(values, x, 1); };
  auto value = x.to(at::kFloat).sub(zero).mul(scale).sub(channel(mean));
  value = value.mul(channel(var).add(eps).rsqrt());
  if (weight.defined()) value = value.mul(channel(weight));
  if (bias.defined()) value = value.add(channel(bias));
  value = value.to(at::kDouble).div(out_scale).add(out_zero).round();
  switch (x.scalar_type()) {
    case at::kChar: return value.clamp(-128, 127).to(at::kChar);
    case at::kByte: return value.clamp(0, 255).to(at::kByte);
    default: return value.clamp(double(INT32_MIN), double(INT32_MAX)).to(at::kInt);
  }
}

}  // namespace

ACLNN(AdaLayerNorm, (In, self, In, scale, In, shift, In, weight, In, bias, double, eps, Out, out),
      ada_like(out, self, scale, shift), write_ada(out, {}, {}, ada_layer_norm(self, scale, shift, weight, bias, eps)))
ACLNN(AdaLayerNormV2,
      (In, self, In, scale, In, shift, In, weight, In, bias, double, eps, Out, out, Out, mean, Out, rstd),
      ada_like(out, self, scale, shift),
      write_ada(out, mean, rstd, ada_layer_norm(self, scale, shift, weight, bias, eps)))
ACLNN(AdaLayerNormBackward,
      (In, grad, In, self, Ints, normalized, In, rstd, In, mean, In, scale, In, shift, In, weight, In, bias, Out, out,
       Out, out_scale, Out, out_shift, Out, out_weight, Out, out_bias),
      ada_like(grad, self, scale, shift);
      SIM_CHECK(normalized == Dims{self.size(-1)}, "normalizedShape ", normalized, " for x ", self.sizes()),
      ada_backward(grad, self, rstd, mean, scale, weight, bias, out, out_scale, out_shift, out_weight, out_bias))
ACLNN(AdaLayerNormQuant,
      (In, self, In, scale, In, shift, In, weight, In, bias, In, smoothing, double, eps, Text, mode, Out, out, Out,
       out_scale, Out, out_offset),
      (ada_like(out, self, scale, shift), dynamic_mode(mode), of_dtype("out", out, {at::kChar})),
      write_rows_quantized(out, out_scale, smooth(ada_layer_norm(self, scale, shift, weight, bias, eps).y, smoothing)))
ACLNN(LayerNormWithImplMode,
      (In, self, Ints, normalized, In, weight, In, bias, double, eps, Out, out, Out, mean, Out, rstd, int32_t, mode),
      like(out, self), write_ada(out, mean, rstd, kernels::layer_norm(self, normalized, weight, bias, eps)))
ACLNN(LayerNormQuant,
      (In, self, In, gamma, In, beta, In, scale, In, zero, int32_t, mode, double, eps, Out, out, Out, out_scale),
      (like(out, self), over_the_last(self, gamma), static_mode(mode), of_dtype("res", out, {at::kChar})),
      write_quantized(out, steps_of(layer_normal(self, gamma, beta, eps), scale, zero, true)))
ACLNN(AddLayerNormQuantV2,
      (In, a, In, b, In, gamma, In, beta, In, bias, In, scale1, In, scale2, In, zero1, In, zero2, Text, mode, double,
       eps, bool, sum_too, bool, divide, Out, out1, Out, out2, Out, sum, Out, normal, Out, out_scale1, Out, out_scale2),
      add_layer_norm_like(a, b, gamma, mode, sum_too, divide, scale1, scale2, out1),
      add_layer_norm_quant(a, b, gamma, beta, bias, scale1, zero1, eps, out1, normal))
ACLNN(RmsNormDynamicQuant,
      (In, self, In, gamma, In, smoothing, In, beta, double, eps, int64_t, dtype, Out, out, Out, out_scale),
      (like(out, self), over_the_last(self, gamma), of_dtype("yOut", out, {at::kChar})),
      write_rows_quantized(out, out_scale, smooth(rms_normal(self, gamma, beta, eps), smoothing)))
ACLNN(RmsNormQuant, (In, self, In, gamma, In, beta, In, scale, In, offset, double, eps, Out, out),
      (quantized_like(out, self), over_the_last(self, gamma)),
      write_quantized(out, steps_of(rms_normal(self, gamma, beta, eps), scale, offset, true)))
ACLNN(QuantizedBatchNorm,
      (In, self, In, mean, In, var, Num, scale, Num, zero, Num, out_scale, Num, out_zero, In, weight, In, bias, float,
       eps, Out, out),
      (like(out, self), same_dtype({self, out}), of_dtype("input", self, {at::kChar, at::kByte, at::kInt})),
      write(out, quantized_batch_norm(self, mean, var, scale.toDouble(), zero.toDouble(), out_scale.toDouble(),
                                      out_zero.toDouble(), weight, bias, eps)))
ACLNN(GroupNormSiluV2,
      (In, self, In, gamma, In, beta, int64_t, groups, double, eps, bool, silu, Out, out, Out, mean, Out, rstd),
      like(out, self), group_norm_silu(self, gamma, beta, groups, eps, silu, out, mean, rstd))
ACLNN(GroupNormSiluQuant,
      (In, self, In, gamma, In, beta, In, scale, int64_t, groups, double, eps, bool, silu, Out, out, Out, mean, Out,
       rstd),
      like(out, self);
      of_dtype("out", out, {at::kChar}); SIM_CHECK(silu, "activateSilu has to be true"),
                                         group_norm_silu_quant(self, gamma, beta, scale, groups, eps, out, mean, rstd))
