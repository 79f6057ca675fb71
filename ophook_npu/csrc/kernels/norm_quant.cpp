#include "kernels/norm_quant.h"

#include "kernels/activation.h"
#include "kernels/gated.h"
#include "kernels/group_norm.h"
#include "kernels/mx_quant.h"
#include "kernels/norm.h"
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

void ada_backward(const at::Tensor& grad, const AdaNormal& of, const AdaGradients& to) {
  Dims statistics = of.x.sizes().vec();
  statistics.back() = 1;
  auto slope = wide(grad), factor = wide(of.rstd).reshape(statistics);
  auto normal = wide(of.x).sub(wide(of.mean).reshape(statistics)).mul(factor);
  auto scaled = slope.mul(kernels::for_rows(of.scale, of.x).add(1));
  auto inner = of.weight.defined() ? scaled.mul(wide(of.weight)) : scaled;
  auto average = inner.mean(-1, true).add(normal.mul(inner.mul(normal).mean(-1, true)));
  write_asked(to.x, inner.sub(average).mul(factor));
  auto before = of.weight.defined() ? normal.mul(wide(of.weight)) : normal;
  if (of.bias.defined()) before = before.add(wide(of.bias));
  auto rows = [](const at::Tensor& values) { return values.sum(-2); };
  if (to.scale.defined()) write(to.scale, rows(slope.mul(before)).reshape(to.scale.sizes()));
  if (to.shift.defined()) write(to.shift, rows(slope).reshape(to.shift.sizes()));
  auto all = [&](const at::Tensor& values) { return values.flatten(0, -2).sum(0); };
  write_asked(to.weight, all(scaled.mul(normal)));
  write_asked(to.bias, all(scaled));
}

// ---- numbers of 8 bits -------------------------------------------------------------------------------------------
void write_rows_quantized(const at::Tensor& out, const at::Tensor& scale, const at::Tensor& value) {
  const auto result = symmetric(value, mx::largest_of(out));
  mx::write_stepped(out, result.value);
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

at::Tensor steps_of(const at::Tensor& value, const at::Tensor& scale, const at::Tensor& zero, bool divide) {
  auto steps = divide ? value.div(wide(scale)) : value.mul(wide(scale));
  return zero.defined() ? steps.add(wide(zero)) : steps;
}

static void bias_like(const Summands& of) {
  SIM_CHECK(!of.bias.defined() || of.bias.sizes() == of.a.sizes() || of.bias.sizes() == of.gamma.sizes(),
            "bias has shape ", of.bias.sizes(), "; allowed: that of x1 or of gamma, ", of.a.sizes(), " or ",
            of.gamma.sizes());
}

void add_layer_norm_like(const Summands& of, const std::string& mode, bool divide, const QuantizedResult& first,
                         const QuantizedResult& second) {
  like(of.b, of.a), like(first.out, of.a), over_the_last(of.a, of.gamma), bias_like(of);
  SIM_CHECK(mode == "static" && !divide, "quantMode ", mode, ", divMode ", divide, "; allowed: static, false");
  SIM_CHECK(first.scale.defined() && first.scale.numel() == 1, "scales1 has one element");
  SIM_CHECK(!second.scale.defined(), "scales2 has to be null");
}

static at::Tensor sum_into(const at::Tensor& total, const Summands& of) {
  auto sum = wide(of.a).add(wide(of.b));
  if (of.bias.defined()) sum = sum.add(wide(of.bias));
  write_asked(total, sum);
  return sum;
}

void add_layer_norm_quant(const Summands& of, const QuantizedResult& to, const at::Tensor& normal,
                          const at::Tensor& total) {
  const auto sum = sum_into(total, of);
  auto value = layer_normal(sum, of.gamma, of.beta, of.eps);
  write_asked(normal, value);
  write_quantized(to.out, steps_of(value, to.scale, to.zero, false));
}

void add_layer_norm_like(const Summands& of, const std::string& mode, const QuantizedResult& first,
                         const QuantizedResult& second, const at::Tensor& sum) {
  like(of.b, of.a), over_the_last(of.a, of.gamma), bias_like(of), asked({sum}, of.a.sizes());
  const bool dynamic = mode == "dynamic";
  SIM_CHECK(first.scale.defined() || (dynamic && !second.scale.defined()), "scales1Optional is null",
            dynamic ? " and scales2Optional not" : "");
  for (const QuantizedResult* each : {&first, &second}) {
    if (each == &second && !each->scale.defined()) continue;
    like(each->out, of.a);
    if (dynamic) by_row(each->out_scale, of.a);
  }
}

void add_layer_norm_quant(const Summands& of, const Quantization& how, const QuantizedResult& first,
                          const QuantizedResult& second, const at::Tensor& total) {
  const auto sum = sum_into(total, of);
  const auto value = layer_normal(sum, of.gamma, of.beta, of.eps);
  for (const QuantizedResult* each : {&first, &second}) {
    if (each == &second && !each->scale.defined()) continue;
    if (how.dynamic) write_rows_quantized(each->out, each->out_scale, smooth(value, each->scale));
    else write_quantized(each->out, steps_of(value, each->scale, each->zero, how.divide));
  }
}

void group_norm_silu(const at::Tensor& self, const at::Tensor& gamma, const at::Tensor& beta, int64_t groups,
                     double eps, bool silu, const kernels::Normal& to) {
  const auto result = kernels::group_norm(self, gamma, beta, groups, eps);
  write(to.y, silu ? kernels::swish(result.y, 1) : result.y);
  write_asked(to.mean, result.mean);
  write_asked(to.rstd, result.rstd);
}

void group_norm_silu_quant(const at::Tensor& self, const at::Tensor& gamma, const at::Tensor& beta,
                           const at::Tensor& scale, int64_t groups, double eps, const kernels::Normal& to) {
  const auto result = kernels::group_norm(wide(self), gamma, beta, groups, eps);
  write_quantized(to.y, kernels::swish(result.y, 1).div(sim::along(scale, self, 1)));
  write_asked(to.mean, result.mean);
  write_asked(to.rstd, result.rstd);
}

// Whole numbers in, whole numbers of the same type out, rounded half to even and held within the type.
at::Tensor quantized_batch_norm(const at::Tensor& x, const Channels& of, const WholeNumbers& from,
                                const WholeNumbers& to, double eps) {
  auto channel = [&](const at::Tensor& values) { return sim::along(values, x, 1); };
  auto value = x.to(at::kFloat).sub(from.zero.toDouble()).mul(from.scale.toDouble()).sub(channel(of.mean));
  value = value.mul(channel(of.var).add(eps).rsqrt());
  if (of.weight.defined()) value = value.mul(channel(of.weight));
  if (of.bias.defined()) value = value.add(channel(of.bias));
  value = value.to(at::kDouble).div(to.scale.toDouble()).add(to.zero.toDouble()).round();
  switch (x.scalar_type()) {
    case at::kChar: return value.clamp(-128, 127).to(at::kChar);
    case at::kByte: return value.clamp(0, 255).to(at::kByte);
    default: return value.clamp(double(INT32_MIN), double(INT32_MAX)).to(at::kInt);
  }
}

}  // namespace sim::quant
