// Normalization.
#include "kernels/absent.h"
#include "kernels/batch_norm.h"
#include "kernels/group_norm.h"
#include "kernels/members.h"
#include "kernels/norm.h"
#include "kernels/norm_quant.h"
#include "opapi/aclnn.h"
#include "opapi/rules.h"

using namespace sim::aclnn;

namespace {

void write_normal(const at::Tensor& out, const at::Tensor& mean, const at::Tensor& rstd,
                  const kernels::Normal& result) {
  write(out, result.y);
  write_asked(mean, result.mean);
  write_asked(rstd, result.rstd);
}

void keep(const at::Tensor& running, const at::Tensor& value) {
  if (running.defined()) running.copy_(value);
}

void write_batch(const kernels::Normal& to, const kernels::Running& running, const kernels::BatchNormal& result) {
  write_normal(to.y, to.mean, to.rstd, {.y = result.y, .mean = result.mean, .rstd = result.rstd});
  keep(running.mean, result.running_mean);
  keep(running.var, result.running_var);
}

void write_batch(const kernels::Normal& to, const kernels::Running& running, bool training,
                 const kernels::BatchNormal& result) {
  if (training) write_batch(to, running, result);
  else write(to.y, result.y);
}

// ---- what must hold ---------------------------------------------------------------------------------------------
// The gradients that the flags ask for.
void gradients_there(const Checked<bool>& mask, const at::Tensor& out, const at::Tensor& out_weight,
                     const at::Tensor& out_bias) {
  SIM_CHECK(mask.size() == 3, "three flags expected, got ", mask.size());
  const at::Tensor* outs[] = {&out, &out_weight, &out_bias};
  for (size_t i = 0; i < 3; ++i)
    if (mask[i] && !outs[i]->defined()) sim::absent();
}
void gradients_like(const Checked<bool>& mask, const at::Tensor& out, const at::Tensor& out_weight,
                    const at::Tensor& out_bias, Shape of_x, Shape of_weight) {
  gradients_there(mask, out, out_weight, out_bias);
  if (mask[0]) asked({out}, of_x);
  if (mask[1]) asked({out_weight}, of_weight);
  if (mask[2]) asked({out_bias}, of_weight);
}

void layer_norm_gradient(const at::Tensor& x, const Dims& normalized, const at::Tensor& mean, const at::Tensor& rstd,
                         const Checked<bool>& mask, const at::Tensor& out, const at::Tensor& out_weight,
                         const at::Tensor& out_bias) {
  for (const at::Tensor& each : {mean, rstd})
    SIM_CHECK(each.numel() == c10::multiply_integers(outer_sizes(x, normalized.size())), "a statistic of shape ",
              each.sizes(), " for the rows of ", x.sizes());
  gradients_like(mask, out, out_weight, out_bias, x.sizes(), normalized);
}

// One number for each channel, dimension 1.
void for_channels(std::initializer_list<at::Tensor> outs, const at::Tensor& x) {
  SIM_CHECK(x.dim() > 1, "channels are dimension 1, the shape is ", x.sizes());
  asked(outs, {x.size(1)});
}

// The statistics are outputs in training, and must be there.
void batch_norm_like(const at::Tensor& self, bool training, const at::Tensor& out, const at::Tensor& mean,
                     const at::Tensor& rstd, std::initializer_list<at::Tensor> given) {
  like(out, self);
  if (training) {
    if (!mean.defined() || !rstd.defined()) sim::absent();
    for_channels({mean, rstd}, self);
  }
  if (self.numel()) kernels::of_channels(given, self);
}

void batch_gradient_sums_like(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& mean,
                              const at::Tensor& rstd, const at::Tensor& sum, const at::Tensor& product_sum,
                              const at::Tensor& weight, const at::Tensor& bias) {
  like(grad, self), same_dtype({grad, self});
  for (const at::Tensor& each : {mean, rstd}) sim::counted("a statistic", each, {self.size(1)});
  for_channels({sum, product_sum, weight, bias}, self);
}

// What ATen's kernel reads for each channel must be there.
void batch_norm_gradient(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& weight,
                         const at::Tensor& mean, const at::Tensor& var, const at::Tensor& saved_mean,
                         const at::Tensor& saved_invstd, bool training, const Checked<bool>& mask,
                         const at::Tensor& out, const at::Tensor& out_weight, const at::Tensor& out_bias) {
  gradients_there(mask, out, out_weight, out_bias);  // CANN looks at pointers first
  SIM_CHECK(self.dim() > 1 && self.size(1) > 0, "self has channels in dimension 1, its shape is ", self.sizes());
  like(grad, self);
  auto channels = [&](const at::Tensor& value) {
    SIM_CHECK(value.defined() && value.dim() == 1 && value.numel() == self.size(1), self.size(1),
              " channels, and a statistic of them of shape ", value.defined() ? value.sizes() : at::IntArrayRef());
  };
  if (weight.defined()) channels(weight);
  kernels::of_channels({mean, var}, self);
  channels(training ? saved_mean : mean);
  channels(training ? saved_invstd : var);
  gradients_like(mask, out, out_weight, out_bias, self.sizes(), {self.size(1)});
}

kernels::Wanted wanted(const Checked<bool>& mask) { return {mask[0], mask[1], mask[2]}; }

// y in float is that of the data's type, widened: CANN's page says y1 = float(y2).
void write_normal_of_sum(const at::Tensor& out, const at::Tensor& out_float, const at::Tensor& mean,
                         const at::Tensor& rstd, const at::Tensor& sum, const kernels::NormalOfSum& result) {
  write_asked(rstd, result.rstd);
  write_asked(mean, result.mean);
  write_asked(out_float, result.y);
  write_asked(out, result.y);
  write_asked(sum, result.sum);
}

void write_deep(const at::Tensor& x, const at::Tensor& gx, const at::Tensor& gamma, const at::Tensor& beta,
                const kernels::DeepNormalGradients& result) {
  write_asked(x, result.x);
  kernels::write_asked_members({gx, gamma, beta}, result.gx);
}

void in_groups(const at::Tensor& self, int64_t groups) {
  SIM_CHECK(self.dim() > 1 && groups > 0 && self.size(1) % groups == 0, "channels of ", self.sizes(), " in ", groups,
            " groups of one size");
}
void of_groups(const at::Tensor& self, const kernels::Grouping& in) {
  const auto& [n, c, area, groups] = in;
  SIM_CHECK(self.numel() == n * c * area && groups > 0 && c % groups == 0, "a tensor of shape ", self.sizes(),
            " for N ", n, ", C ", c, ", HxW ", area, " and ", groups, " groups");
}

void not_empty(const at::Tensor& x) { SIM_CHECK(x.numel(), "x has shape ", x.sizes(), "; it may not be empty"); }

}  // namespace

#define RUNNING {.mean = running_mean, .var = running_var}
ACLNN(BatchNorm,
      (In, self, In, weight, In, bias, In, running_mean, In, running_var, bool, training, double, momentum, double, eps,
       Out, out, Out, mean, Out, invstd),
      batch_norm_like(self, training, out, mean, invstd, {weight, bias, running_mean, running_var}),
      write_batch({.y = out, .mean = mean, .rstd = invstd}, RUNNING, training,
                  kernels::batch_norm(self, {NAMED(weight, bias)}, RUNNING, training, momentum, eps)))
// The second adds in another order.
#define BATCH_NORM_BACKWARD(Op, ...)                                                                                 \
  ACLNN(Op,                                                                                                          \
        (In, grad, In, self, In, weight, In, running_mean, In, running_var, In, mean, In, invstd, bool, training,    \
         double, eps, Bools, mask, ##__VA_ARGS__, Out, out, Out, out_weight, Out, out_bias),                         \
        batch_norm_gradient(grad, self, weight, running_mean, running_var, mean, invstd, training, mask, out,        \
                            out_weight, out_bias),                                                                   \
        kernels::write_asked_members(                                                                                \
            {out, out_weight, out_bias},                                                                             \
            kernels::batch_norm_backward(grad, self, weight, RUNNING, {.mean = mean, .rstd = invstd}, training, eps, \
                                         wanted(mask))))
BATCH_NORM_BACKWARD(BatchNormBackward)
BATCH_NORM_BACKWARD(FastBatchNormBackward, int32_t, version)
ACLNN(BatchNormStats, (In, self, double, eps, Out, mean, Out, invstd), ,
      write_normal({}, mean, invstd, kernels::batch_statistics(self, eps)))
ACLNN(BatchNormReduce, (In, self, Out, sum, Out, square_sum), ,
      kernels::write_asked_members({sum, square_sum}, kernels::batch_sums(self)))
ACLNN(BatchNormElemt, (In, self, In, weight, In, bias, In, mean, In, invstd, double, eps, Out, out), ,
      write(out, kernels::batch_normalized(self, mean, invstd, weight, bias)))
ACLNN(SyncBatchNormGatherStats,
      (In, sum, In, square_sum, In, counts, Ref, running_mean, Ref, running_var, float, momentum, float, eps, Out, mean,
       Out, invstd),
      (for_channels({mean, invstd, running_mean, running_var}, sum), shape(counts, {sum.size(0)})),
      write_batch({.y = {}, .mean = mean, .rstd = invstd}, RUNNING,
                  kernels::gathered_sums({.first = sum, .second = square_sum}, counts, RUNNING, momentum, eps)))
ACLNN(BatchNormGatherStatsWithCounts,
      (In, self, In, means, In, invstds, Ref, running_mean, Ref, running_var, double, momentum, double, eps, In, counts,
       Out, mean, Out, invstd),
      (for_channels({mean, invstd, running_mean, running_var}, self), like(means, invstds),
       shape(means, {counts.numel(), self.size(1)})),
      write_batch({.y = {}, .mean = mean, .rstd = invstd}, RUNNING,
                  kernels::gathered_statistics({.mean = means, .rstd = invstds}, counts, RUNNING, momentum, eps)))
ACLNN(BatchNormReduceBackward,
      (In, grad, In, self, In, mean, In, invstd, In, weight, bool, self_too, bool, weight_too, bool, bias_too, Out,
       sum_dy, Out, sum_dy_xmu, Out, out_weight, Out, out_bias),
      batch_gradient_sums_like(grad, self, mean, invstd, self_too ? sum_dy : at::Tensor(),
                               self_too ? sum_dy_xmu : at::Tensor(), weight_too ? out_weight : at::Tensor(),
                               bias_too ? out_bias : at::Tensor()),
      kernels::write_asked_members({self_too ? sum_dy : at::Tensor(), self_too ? sum_dy_xmu : at::Tensor(),
                                    weight_too ? out_weight : at::Tensor(), bias_too ? out_bias : at::Tensor()},
                                   kernels::batch_gradient_sums(grad, self, mean, invstd)))
ACLNN(BatchNormElemtBackward,
      (In, grad, In, self, In, mean, In, invstd, In, weight, In, sum_dy, In, sum_dy_xmu, In, counts, Out, out),
      (like(grad, self), for_channels({mean, invstd, weight, sum_dy, sum_dy_xmu}, self)),
      write(out, kernels::batch_gradient_from_sums(grad, self, {.mean = mean, .rstd = invstd}, weight,
                                                   {.first = sum_dy, .second = sum_dy_xmu}, kernels::total(counts))))

ACLNN(LayerNorm, (In, self, Ints, normalized, In, weight, In, bias, double, eps, Out, out, Out, mean, Out, rstd), ,
      kernels::layer_norm_into({.y = out, NAMED(mean, rstd)}, self, normalized, weight, bias, eps))
ACLNN(FastLayerNorm, (In, self, Ints, normalized, In, weight, In, bias, double, eps, Out, out, Out, mean, Out, rstd), ,
      kernels::layer_norm_into({.y = out, NAMED(mean, rstd)}, self, normalized, weight, bias, eps))
ACLNN(LayerNormBackward,
      (In, grad, In, self, Ints, normalized, In, mean, In, rstd, In, weight, In, bias, Bools, mask, Out, out, Out,
       out_weight, Out, out_bias),
      layer_norm_gradient(self, normalized, mean, rstd, mask, out, out_weight, out_bias),
      kernels::write_asked_members({out, out_weight, out_bias},
                                   kernels::layer_norm_backward(grad, self, normalized, {NAMED(mean, rstd)}, weight,
                                                                bias, wanted(mask), out)))
ACLNN(RmsNorm, (In, self, In, gamma, double, eps, Out, out, Out, rstd), ,
      write_normal(out, {}, rstd, kernels::rms_norm(self, gamma, eps)))
ACLNN(GemmaRmsNorm, (In, self, In, gamma, double, eps, Out, out, Out, rstd), ,
      write_normal(out, {}, rstd, kernels::rms_norm(self, gamma, eps, 1)))
ACLNN(RmsNormGrad, (In, grad, In, self, In, rstd, In, gamma, Out, out, Out, out_gamma),
      sim::counted("rstd", rstd, outer_sizes(self, size_t(gamma.dim()))),
      kernels::write_asked_members({out, out_gamma, {}}, kernels::rms_norm_backward(grad, self, rstd, gamma)))
ACLNN(AddRmsNorm, (In, a, In, b, In, gamma, double, eps, Out, out, Out, rstd, Out, sum), ,
      write_normal_of_sum(out, {}, {}, rstd, sum, kernels::add_rms_norm(a, b, kernels::weight_of_rows(gamma), eps)))
ACLNN(AddRmsNormCast, (In, a, In, b, In, gamma, double, eps, Out, out_float, Out, out, Out, rstd, Out, sum), ,
      write_normal_of_sum(out, out_float, {}, rstd, sum, kernels::add_rms_norm(a, b, gamma, eps)))
ACLNN(InplaceAddRmsNorm, (Ref, a, Ref, b, In, gamma, double, eps, Out, rstd), ,
      write_normal_of_sum(a, {}, {}, rstd, b, kernels::add_rms_norm(a, b, gamma, eps)))
ACLNN(AddLayerNorm,
      (In, a, In, b, In, gamma, In, beta, In, bias, double, eps, bool, sum_too, Out, out, Out, mean, Out, rstd, Out,
       sum),
      asked({sum_too ? sum : at::Tensor()}, a.sizes()),
      write_normal_of_sum(out, {}, mean, rstd, sum_too ? sum : at::Tensor(),
                          kernels::add_layer_norm(a, b, bias, gamma, beta, eps)))
ACLNN(AddLayerNormGrad,
      (In, grad, In, a, In, b, In, rstd, In, mean, In, gamma, In, grad_sum, Out, out, Out, out_gamma, Out, out_beta), ,
      kernels::write_asked_members({out, out_gamma, out_beta},
                                   kernels::add_layer_norm_backward(grad, a, b, {NAMED(mean, rstd)}, gamma, grad_sum)))
ACLNN(DeepNorm, (In, x, In, gx, In, beta, In, gamma, double, alpha, double, eps, Out, mean, Out, rstd, Out, out), ,
      write_normal(out, mean, rstd, kernels::deep_norm(x, gx, beta, gamma, alpha, eps)))
ACLNN(DeepNormGrad,
      (In, grad, In, x, In, gx, In, gamma, In, mean, In, rstd, double, alpha, Out, out_x, Out, out_gx, Out, out_beta,
       Out, out_gamma),
      ,
      write_deep(out_x, out_gx, out_gamma, out_beta,
                 kernels::deep_norm_backward(grad, x, gx, gamma, {NAMED(mean, rstd)}, alpha)))

#define GROUPS {.batch = n, .channels = c, NAMED(area, groups)}
ACLNN(GroupNorm,
      (In, self, In, gamma, In, beta, int64_t, n, int64_t, c, int64_t, area, int64_t, groups, double, eps, Out, out,
       Out, mean, Out, rstd),
      of_groups(self, GROUPS), write_normal(out, mean, rstd, kernels::group_norm(self, gamma, beta, GROUPS, eps)))
ACLNN(GroupNormBackward,
      (In, grad, In, self, In, mean, In, rstd, In, gamma, int64_t, n, int64_t, c, int64_t, area, int64_t, groups, Bools,
       mask, Out, out, Out, out_gamma, Out, out_beta),
      gradients_like(mask, out, out_gamma, out_beta, self.sizes(), gamma.defined() ? gamma.sizes() : Shape(c));
      of_groups(self, GROUPS); sim::counted("gradOut", grad, self.sizes()); sim::counted("gamma", gamma, {c});
      sim::counted("mean", mean, {n, groups});
      sim::counted("rstd", rstd, {n, groups}),
      kernels::write_asked_members({out, out_gamma, out_beta},
                                   kernels::group_norm_backward(grad, self, {NAMED(mean, rstd)}, gamma, GROUPS,
                                                                wanted(mask))))
ACLNN(GroupNormSilu, (In, self, In, gamma, In, beta, int64_t, groups, double, eps, Out, out, Out, mean, Out, rstd),
      in_groups(self, groups),
      write_normal(out, mean, rstd, kernels::group_norm_swish(self, gamma, beta, groups, eps, 1)))
ACLNN(GroupNormSwish,
      (In, self, In, gamma, In, beta, int64_t, groups, Text, format, double, eps, bool, activate, double, scale, Out,
       out, Out, mean, Out, rstd),
      in_groups(self, groups),
      write_normal(out, mean, rstd,
                   activate ? kernels::group_norm_swish(self, gamma, beta, groups, eps, scale)
                            : kernels::group_norm(self, gamma, beta, groups, eps)))
ACLNN(GroupNormSwishGrad,
      (In, grad, In, mean, In, rstd, In, self, In, gamma, In, beta, int64_t, groups, Text, format, double, scale, bool,
       gamma_too, bool, beta_too, Out, out, Out, out_gamma, Out, out_beta),
      (asked({gamma_too ? out_gamma : at::Tensor(), beta_too ? out_beta : at::Tensor()}, gamma.sizes()),
       not_empty(self));
      in_groups(self, groups),
      kernels::write_asked_members({out, out_gamma, out_beta},
                                   kernels::group_norm_swish_backward(grad, self, {NAMED(mean, rstd)}, gamma, beta,
                                                                      groups, scale, {true, gamma_too, beta_too})))
ACLNN(GroupNormSiluV2,
      (In, self, In, gamma, In, beta, int64_t, groups, double, eps, bool, silu, Out, out, Out, mean, Out, rstd),
      in_groups(self, groups),
      sim::quant::group_norm_silu(self, gamma, beta, groups, eps, silu, {.y = out, NAMED(mean, rstd)}))
