#include "kernels/norm_quant.h"

#include "kernels/activation.h"
#include "kernels/gated.h"
#include "kernels/quant.h"

namespace sim::quant {

// Layer norm of the last dimension, then * (1 + scale) + shift.
kernels::Normal ada_layer_norm(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift,
                               const at::Tensor& weight, const at::Tensor& bias, double eps) {
  auto result = kernels::layer_norm(wide(x), {x.size(-1)}, optional(weight) ? wide(weight) : weight,
                                    optional(bias) ? wide(bias) : bias, eps);
  result.y = kernels::modulate(result.y, scale, shift);
  return result;
}

void ada_like(const at::Tensor& out, const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift,
              std::initializer_list<at::Tensor> statistics) {
  SIM_CHECK(x.dim() > 1, "x has two dimensions at least, its shape is ", x.sizes());
  like(out, x), asked(statistics, outer_sizes(x, 1));
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
                         bool divide, const at::Tensor& scale1, const at::Tensor& scale2, const at::Tensor& out) {
  like(b, a), like(out, a), over_the_last(a, gamma);
  SIM_CHECK(mode == "static" && !divide, "quantMode ", mode, ", divMode ", divide, "; allowed: static, false");
  SIM_CHECK(scale1.defined() && scale1.numel() == 1, "scales1 has one element");
  SIM_CHECK(!scale2.defined(), "scales2 has to be null");
}

void add_layer_norm_quant(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, const at::Tensor& beta,
                          const at::Tensor& bias, const at::Tensor& scale, const at::Tensor& zero, double eps,
                          const at::Tensor& out, const at::Tensor& normal, const at::Tensor& total) {
  auto sum = wide(a).add(wide(b));
  if (bias.defined()) sum = sum.add(wide(bias));
  write_asked(total, sum);
  auto value = layer_normal(sum, gamma, beta, eps);
  write_asked(normal, value);
  write_quantized(out, steps_of(value, scale, zero, false));
}

void add_layer_norm_like(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, const std::string& mode,
                         const QuantizedResult& first, const QuantizedResult& second, const at::Tensor& sum) {
  like(b, a), over_the_last(a, gamma), asked({sum}, a.sizes());
  const bool dynamic = mode == "dynamic";
  SIM_CHECK(dynamic || mode == "static", "quantMode ", mode, "; allowed: static, dynamic");
  SIM_CHECK(first.scale.defined() || (dynamic && !second.scale.defined()), "scales1Optional is null",
            dynamic ? " and scales2Optional not" : "");
  for (const QuantizedResult* each : {&first, &second}) {
    if (each == &second && !each->scale.defined()) continue;
    like(each->out, a);
    if (dynamic) by_row(each->out_scale, a);
  }
}

void add_layer_norm_quant(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, const at::Tensor& beta,
                          const at::Tensor& bias, double eps, const Quantization& how, const QuantizedResult& first,
                          const QuantizedResult& second, const at::Tensor& total) {
  auto sum = wide(a).add(wide(b));
  if (bias.defined()) sum = sum.add(wide(bias));
  write_asked(total, sum);
  const auto value = layer_normal(sum, gamma, beta, eps);
  for (const QuantizedResult* each : {&first, &second}) {
    if (each == &second && !each->scale.defined()) continue;
    if (how.dynamic) write_rows_quantized(each->out, each->out_scale, smooth(value, each->scale));
    else write_quantized(each->out, steps_of(value, each->scale, each->zero, how.divide));
  }
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

}  // namespace sim::quant
