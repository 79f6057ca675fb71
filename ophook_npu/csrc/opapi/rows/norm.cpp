// Normalization. Statistics are computed in float, whatever the data's dtype, as the device does.
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

// ATen changes running statistics in place and wants them in the data's dtype.
struct Running {
  explicit Running(const at::Tensor& given) : caller(given), used(wide(given)) {}
  void give_back() const {
    if (caller.defined() && !used.is_same(caller)) caller.copy_(used);
  }
  const at::Tensor& caller;
  at::Tensor used;
};

void batch_norm(const at::Tensor& self, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& mean, const at::Tensor& var,
                bool training, double momentum, double eps, const at::Tensor& out, const at::Tensor& saved_mean, const at::Tensor& saved_invstd) {
  Running running_mean(mean), running_var(var);
  auto [result, batch_mean, batch_invstd] =
      at::native_batch_norm(wide(self), optional(wide(weight)), optional(wide(bias)), optional(running_mean.used),
                            optional(running_var.used), training, momentum, eps);
  write(out, result);
  if (training) {
    running_mean.give_back();
    running_var.give_back();
    write_asked(saved_mean, batch_mean);
    write_asked(saved_invstd, batch_invstd);
  }
}

// What ATen's kernel reads for each channel must be there.
void batch_norm_gradient(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& weight, const at::Tensor& mean, const at::Tensor& var,
                         const at::Tensor& saved_mean, const at::Tensor& saved_invstd, bool training, const Checked<bool>& mask) {
  SIM_CHECK(mask.size() == 3, "three flags expected");
  SIM_CHECK(self.dim() > 1 && self.size(1) > 0, "self has channels in dimension 1, its shape is ", self.sizes());
  like(grad, self);
  auto channels = [&](const at::Tensor& value) {
    SIM_CHECK(value.defined() && value.numel() == self.size(1), self.size(1), " channels, and a statistic of them of shape ",
                value.defined() ? value.sizes() : at::IntArrayRef());
  };
  if (weight.defined()) channels(weight);
  channels(training ? saved_mean : mean);
  channels(training ? saved_invstd : var);
}

void batch_norm_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& weight, const at::Tensor& mean, const at::Tensor& var,
                         const at::Tensor& saved_mean, const at::Tensor& saved_invstd, bool training, double eps, const Checked<bool>& mask,
                         const at::Tensor& grad_self, const at::Tensor& grad_weight, const at::Tensor& grad_bias) {
  auto [to_self, to_weight, to_bias] = at::native_batch_norm_backward(
      wide(grad), wide(self), optional(wide(weight)), optional(wide(mean)), optional(wide(var)), optional(wide(saved_mean)),
      optional(wide(saved_invstd)), training, eps, {mask[0], mask[1], mask[2]});
  write_asked(grad_self, to_self);
  write_asked(grad_weight, to_weight);
  write_asked(grad_bias, to_bias);
}

// ---- batch normalization over several processes: local sums here, all-gather between the calls --------------------
Dims all_but_channels(const at::Tensor& self) {
  Dims dims;
  for (int64_t i = 0; i < self.dim(); ++i)
    if (i != 1) dims.push_back(i);
  return dims;
}

at::Tensor by_channel(const at::Tensor& value, const at::Tensor& self) {
  Dims sizes(self.dim(), 1);
  sizes[1] = self.size(1);
  return wide(value).reshape(sizes);
}

at::Tensor inverse_std(const at::Tensor& var, double eps) { return at::rsqrt(at::add(var, eps)); }

void batch_norm_stats(const at::Tensor& self, double eps, const at::Tensor& mean, const at::Tensor& invstd) {
  auto [var, average] = at::var_mean(wide(self), all_but_channels(self), false, false);
  write(mean, average);
  write(invstd, inverse_std(var, eps));
}

void batch_norm_reduce(const at::Tensor& self, const at::Tensor& sum, const at::Tensor& square_sum) {
  write(sum, wide(self).sum(all_but_channels(self)));
  write(square_sum, at::square(wide(self)).sum(all_but_channels(self)));
}

at::Tensor batch_norm_elemt(const at::Tensor& self, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& mean,
                            const at::Tensor& invstd) {
  auto result = at::mul(at::sub(wide(self), by_channel(mean, self)), by_channel(invstd, self));
  if (weight.defined()) result = at::mul(result, by_channel(weight, self));
  if (bias.defined()) result = at::add(result, by_channel(bias, self));
  return result;
}

void update_running(const at::Tensor& running, const at::Tensor& now, double momentum) {
  if (running.defined()) running.copy_(at::add(at::mul(wide(running), 1 - momentum), now, momentum));
}

// sums and counts: a row for each process
void gather_sums(const at::Tensor& sum, const at::Tensor& square_sum, const at::Tensor& counts, const at::Tensor& running_mean,
                 const at::Tensor& running_var, double momentum, double eps, const at::Tensor& mean, const at::Tensor& invstd) {
  const double count = wide(counts).to(at::kFloat).sum().item<double>();
  auto average = at::div(wide(sum).sum(0), count);
  auto var = at::sub(at::div(wide(square_sum).sum(0), count), at::square(average));
  update_running(running_mean, average, momentum);
  update_running(running_var, at::mul(var, count / std::max(count - 1, 1.0)), momentum);
  write(mean, average);
  write(invstd, inverse_std(var, eps));
}

void gather_stats(const at::Tensor& self, const at::Tensor& means, const at::Tensor& invstds, const at::Tensor& running_mean,
                  const at::Tensor& running_var, double momentum, double eps, const at::Tensor& counts, const at::Tensor& mean,
                  const at::Tensor& invstd) {
  auto rows = wide(counts).to(at::kFloat).reshape({-1, 1});
  const double count = rows.sum().item<double>();
  auto average = at::div(at::mul(wide(means), rows).sum(0), count);
  auto vars = at::sub(at::reciprocal(at::square(wide(invstds))), eps);
  auto var = at::div(at::mul(at::add(vars, at::square(at::sub(wide(means), average))), rows).sum(0), count);
  update_running(running_mean, average, momentum);
  update_running(running_var, at::mul(var, count / std::max(count - 1, 1.0)), momentum);
  write(mean, average);
  write(invstd, inverse_std(var, eps));
}

void batch_norm_reduce_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& mean, const at::Tensor& invstd,
                                const at::Tensor& sum_dy, const at::Tensor& sum_dy_xmu, const at::Tensor& grad_weight, const at::Tensor& grad_bias) {
  auto dims = all_but_channels(self);
  auto total = wide(grad).sum(dims);
  auto centered = at::mul(wide(grad), at::sub(wide(self), by_channel(mean, self))).sum(dims);
  write_asked(sum_dy, total);
  write_asked(sum_dy_xmu, centered);
  write_asked(grad_weight, at::mul(centered, wide(invstd)));
  write_asked(grad_bias, total);
}

at::Tensor batch_norm_elemt_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& mean, const at::Tensor& invstd,
                                     const at::Tensor& weight, const at::Tensor& sum_dy, const at::Tensor& sum_dy_xmu, const at::Tensor& counts) {
  const double count = wide(counts).to(at::kFloat).sum().item<double>();
  auto mean_dy = at::div(by_channel(sum_dy, self), count), mean_dy_xmu = at::div(by_channel(sum_dy_xmu, self), count);
  auto scale = by_channel(invstd, self);
  auto projected = at::mul(at::mul(at::sub(wide(self), by_channel(mean, self)), at::square(scale)), mean_dy_xmu);
  auto result = at::mul(at::sub(at::sub(wide(grad), mean_dy), projected), scale);
  return weight.defined() ? at::mul(result, by_channel(weight, self)) : result;
}

// ---- normalization over the last dimensions ----------------------------------------------------------------------
void layer_norm(const at::Tensor& self, at::IntArrayRef normalized, const at::Tensor& weight, const at::Tensor& bias, double eps,
                const at::Tensor& out, const at::Tensor& mean, const at::Tensor& rstd) {
  auto [result, average, inverse] = at::native_layer_norm(wide(self), normalized, optional(wide(weight)), optional(wide(bias)), eps);
  write(out, result);
  write_asked(mean, average);
  write_asked(rstd, inverse);
}

void layer_norm_backward(const at::Tensor& grad, const at::Tensor& self, at::IntArrayRef normalized, const at::Tensor& mean, const at::Tensor& rstd,
                         const at::Tensor& weight, const at::Tensor& bias, const Checked<bool>& mask, const at::Tensor& grad_self,
                         const at::Tensor& grad_weight, const at::Tensor& grad_bias) {
  auto input = wide(self);
  auto [to_self, to_weight, to_bias] = at::native_layer_norm_backward(
      wide(grad), input, normalized, mean.to(input.scalar_type()), rstd.to(input.scalar_type()), optional(wide(weight)), optional(wide(bias)),
      {mask[0], mask[1], mask[2]});
  write_asked(grad_self, to_self);
  write_asked(grad_weight, to_weight);
  write_asked(grad_bias, to_bias);
}

Dims last_dims(int64_t count) {
  Dims dims(count);
  for (int64_t i = 0; i < count; ++i) dims[i] = i - count;
  return dims;
}

at::Tensor inverse_rms(const at::Tensor& self, int64_t dims, double eps) {
  return at::rsqrt(at::add(at::square(self).mean(last_dims(dims), true), eps));
}

at::Tensor rms_norm(const at::Tensor& self, const at::Tensor& gamma, double eps, const at::Tensor& rstd, double gamma_offset = 0) {
  auto inverse = inverse_rms(wide(self), gamma.dim(), eps);
  write_asked(rstd, inverse);
  return at::mul(at::mul(wide(self), inverse), at::add(wide(gamma), gamma_offset));
}

void rms_norm_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& rstd, const at::Tensor& gamma,
                       const at::Tensor& grad_self, const at::Tensor& grad_gamma) {
  auto input = wide(self), to = wide(grad);
  auto inverse = inverse_rms(input, gamma.dim(), 0);
  if (rstd.defined()) {
    Dims sizes = input.sizes().vec();
    std::fill(sizes.end() - gamma.dim(), sizes.end(), 1);
    inverse = wide(rstd).reshape(sizes);
  }
  auto normal = at::mul(input, inverse), scaled = at::mul(to, wide(gamma));
  auto mean = at::mul(scaled, normal).mean(last_dims(gamma.dim()), true);
  write_asked(grad_self, at::mul(at::sub(scaled, at::mul(normal, mean)), inverse));
  write_asked(grad_gamma, at::mul(to, normal).reshape({-1, gamma.numel()}).sum(0).reshape(gamma.sizes()));
}

void add_rms_norm(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, double eps, const at::Tensor& out, const at::Tensor& wide_out,
                  const at::Tensor& rstd, const at::Tensor& sum) {
  auto total = at::add(wide(a), wide(b));
  auto result = rms_norm(total, gamma, eps, rstd);
  write_asked(out, result);
  write_asked(wide_out, result);
  write_asked(sum, total);
}

void add_layer_norm(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, const at::Tensor& beta, const at::Tensor& bias, double eps,
                    const at::Tensor& out, const at::Tensor& mean, const at::Tensor& rstd, const at::Tensor& sum) {
  auto total = at::add(wide(a), wide(b));
  if (bias.defined()) total = at::add(total, wide(bias));
  layer_norm(total, gamma.sizes(), gamma, beta, eps, out, mean, rstd);
  write_asked(sum, total);
}

void add_layer_norm_backward(const at::Tensor& grad, const at::Tensor& a, const at::Tensor& b, const at::Tensor& rstd, const at::Tensor& mean,
                             const at::Tensor& gamma, const at::Tensor& grad_sum, const at::Tensor& grad_self, const at::Tensor& grad_gamma,
                             const at::Tensor& grad_beta) {
  auto [to_self, to_gamma, to_beta] = at::native_layer_norm_backward(wide(grad), at::add(wide(a), wide(b)), gamma.sizes(), wide(mean), wide(rstd),
                                                                     wide(gamma), wide(gamma), {true, true, true});
  write_asked(grad_self, grad_sum.defined() ? at::add(to_self, wide(grad_sum)) : to_self);
  write_asked(grad_gamma, to_gamma);
  write_asked(grad_beta, to_beta);
}

void deep_norm(const at::Tensor& x, const at::Tensor& gx, const at::Tensor& beta, const at::Tensor& gamma, double alpha, double eps,
               const at::Tensor& mean, const at::Tensor& rstd, const at::Tensor& out) {
  layer_norm(at::add(wide(gx), wide(x), alpha), gamma.sizes(), gamma, beta, eps, out, mean, rstd);
}

void deep_norm_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& gx, const at::Tensor& gamma, const at::Tensor& mean,
                        const at::Tensor& rstd, double alpha, const at::Tensor& grad_x, const at::Tensor& grad_gx, const at::Tensor& grad_beta,
                        const at::Tensor& grad_gamma) {
  auto [to, to_gamma, to_beta] = at::native_layer_norm_backward(wide(grad), at::add(wide(gx), wide(x), alpha), gamma.sizes(), wide(mean),
                                                                wide(rstd), wide(gamma), wide(gamma), {true, true, true});
  write_asked(grad_x, at::mul(to, alpha));
  write_asked(grad_gx, to);
  write_asked(grad_beta, to_beta);
  write_asked(grad_gamma, to_gamma);
}

// ---- normalization over groups of channels -------------------------------------------------------------------------
at::Tensor group_norm(const at::Tensor& self, const at::Tensor& gamma, const at::Tensor& beta, int64_t n, int64_t c, int64_t area, int64_t groups,
                      double eps, const at::Tensor& mean, const at::Tensor& rstd) {
  auto [result, average, inverse] = at::native_group_norm(wide(self).contiguous(), optional(wide(gamma)), optional(wide(beta)), n, c, area, groups, eps);
  write_asked(mean, average);
  write_asked(rstd, inverse);
  return result;
}

at::Tensor group_norm_of(const at::Tensor& self, const at::Tensor& gamma, const at::Tensor& beta, int64_t groups, double eps, const at::Tensor& mean,
                         const at::Tensor& rstd) {
  return group_norm(self, gamma, beta, self.size(0), self.size(1), self.numel() / std::max<int64_t>(self.size(0) * self.size(1), 1), groups, eps, mean, rstd);
}

at::Tensor swish(const at::Tensor& self, double scale) { return at::mul(self, at::sigmoid(at::mul(self, scale))); }

void group_norm_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& mean, const at::Tensor& rstd, const at::Tensor& gamma,
                         int64_t n, int64_t c, int64_t area, int64_t groups, const Checked<bool>& mask, const at::Tensor& grad_self,
                         const at::Tensor& grad_gamma, const at::Tensor& grad_beta) {
  auto [to_self, to_gamma, to_beta] =
      at::native_group_norm_backward(wide(grad).contiguous(), wide(self).contiguous(), wide(mean).contiguous(), wide(rstd).contiguous(),
                                     optional(wide(gamma)), n, c, area, groups, {mask[0], mask[1], mask[2]});
  write_asked(grad_self, to_self);
  write_asked(grad_gamma, to_gamma);
  write_asked(grad_beta, to_beta);
}

void group_norm_swish_backward(const at::Tensor& grad, const at::Tensor& mean, const at::Tensor& rstd, const at::Tensor& self, const at::Tensor& gamma,
                               const at::Tensor& beta, int64_t groups, double scale, bool gamma_too, bool beta_too, const at::Tensor& out,
                               const at::Tensor& out_gamma, const at::Tensor& out_beta) {
  const int64_t n = self.size(0), c = self.size(1), area = self.numel() / std::max<int64_t>(n * c, 1);
  auto grouped = wide(self).reshape({n, groups, -1});
  auto norm = at::mul(at::sub(grouped, wide(mean).reshape({n, groups, 1})), wide(rstd).reshape({n, groups, 1})).reshape({n, c, area});
  auto value = at::add(at::mul(norm, wide(gamma).unsqueeze(-1)), wide(beta).unsqueeze(-1)).reshape(self.sizes());
  auto to_value = at::silu_backward(wide(grad), at::mul(value, scale));
  group_norm_backward(to_value, self, mean.reshape({n, groups}), rstd.reshape({n, groups}), gamma, n, c, area, groups, {true, gamma_too, beta_too}, out,
                      out_gamma, out_beta);
}

}  // namespace

// clang-format off
ACLNN(BatchNorm,         (In,self, In,weight, In,bias, In,running_mean, In,running_var, bool,training, double,momentum, double,eps, Out,out, Out,mean, Out,invstd), like(out, self), batch_norm(self, weight, bias, running_mean, running_var, training, momentum, eps, out, mean, invstd))
ACLNN(BatchNormBackward, (In,grad, In,self, In,weight, In,running_mean, In,running_var, In,mean, In,invstd, bool,training, double,eps, Bools,mask, Out,out, Out,out_weight, Out,out_bias), batch_norm_gradient(grad, self, weight, running_mean, running_var, mean, invstd, training, mask), batch_norm_backward(grad, self, weight, running_mean, running_var, mean, invstd, training, eps, mask, out, out_weight, out_bias))
ACLNN(BatchNormStats,    (In,self, double,eps, Out,mean, Out,invstd),                            shape(mean, {self.size(1)}), batch_norm_stats(self, eps, mean, invstd))
ACLNN(BatchNormReduce,   (In,self, Out,sum, Out,square_sum),                                     shape(sum, {self.size(1)}),  batch_norm_reduce(self, sum, square_sum))
ACLNN(BatchNormElemt,    (In,self, In,weight, In,bias, In,mean, In,invstd, double,eps, Out,out), like(out, self),             write(out, batch_norm_elemt(self, weight, bias, mean, invstd)))
ACLNN(SyncBatchNormGatherStats, (In,sum, In,square_sum, In,counts, Ref,running_mean, Ref,running_var, float,momentum, float,eps, Out,mean, Out,invstd), shape(mean, {sum.size(1)}), gather_sums(sum, square_sum, counts, running_mean, running_var, momentum, eps, mean, invstd))
ACLNN(BatchNormGatherStatsWithCounts, (In,self, In,means, In,invstds, Ref,running_mean, Ref,running_var, double,momentum, double,eps, In,counts, Out,mean, Out,invstd), shape(mean, {self.size(1)}), gather_stats(self, means, invstds, running_mean, running_var, momentum, eps, counts, mean, invstd))
ACLNN(BatchNormReduceBackward, (In,grad, In,self, In,mean, In,invstd, In,weight, bool,self_too, bool,weight_too, bool,bias_too, Out,sum_dy, Out,sum_dy_xmu, Out,out_weight, Out,out_bias), like(grad, self), batch_norm_reduce_backward(grad, self, mean, invstd, sum_dy, sum_dy_xmu, out_weight, out_bias))
ACLNN(BatchNormElemtBackward, (In,grad, In,self, In,mean, In,invstd, In,weight, In,sum_dy, In,sum_dy_xmu, In,counts, Out,out), like(out, self), write(out, batch_norm_elemt_backward(grad, self, mean, invstd, weight, sum_dy, sum_dy_xmu, counts)))

ACLNN(LayerNorm,         (In,self, Ints,normalized, In,weight, In,bias, double,eps, Out,out, Out,mean, Out,rstd), like(out, self), layer_norm(self, normalized, weight, bias, eps, out, mean, rstd))
ACLNN(FastLayerNorm,     (In,self, Ints,normalized, In,weight, In,bias, double,eps, Out,out, Out,mean, Out,rstd), like(out, self), layer_norm(self, normalized, weight, bias, eps, out, mean, rstd))
ACLNN(LayerNormBackward, (In,grad, In,self, Ints,normalized, In,mean, In,rstd, In,weight, In,bias, Bools,mask, Out,out, Out,out_weight, Out,out_bias), SIM_CHECK(mask.size() == 3, "three flags expected"), layer_norm_backward(grad, self, normalized, mean, rstd, weight, bias, mask, out, out_weight, out_bias))
ACLNN(RmsNorm,           (In,self, In,gamma, double,eps, Out,out, Out,rstd),                      like(out, self), write(out, rms_norm(self, gamma, eps, rstd)))
ACLNN(GemmaRmsNorm,      (In,self, In,gamma, double,eps, Out,out, Out,rstd),                      like(out, self), write(out, rms_norm(self, gamma, eps, rstd, 1)))
ACLNN(RmsNormGrad,       (In,grad, In,self, In,rstd, In,gamma, Out,out, Out,out_gamma),           like(out, self), rms_norm_backward(grad, self, rstd, gamma, out, out_gamma))
ACLNN(AddRmsNorm,        (In,a, In,b, In,gamma, double,eps, Out,out, Out,rstd, Out,sum),          like(out, a),    add_rms_norm(a, b, gamma, eps, out, {}, rstd, sum))
ACLNN(AddRmsNormCast,    (In,a, In,b, In,gamma, double,eps, Out,out_float, Out,out, Out,rstd, Out,sum), like(out, a), add_rms_norm(a, b, gamma, eps, out, out_float, rstd, sum))
ACLNN(InplaceAddRmsNorm, (Ref,a, Ref,b, In,gamma, double,eps, Out,rstd),                          like(a, b),      add_rms_norm(a, b, gamma, eps, a, {}, rstd, b))
ACLNN(AddLayerNorm,      (In,a, In,b, In,gamma, In,beta, In,bias, double,eps, bool,sum_too, Out,out, Out,mean, Out,rstd, Out,sum), like(out, a), add_layer_norm(a, b, gamma, beta, bias, eps, out, mean, rstd, sum))
ACLNN(AddLayerNormGrad,  (In,grad, In,a, In,b, In,rstd, In,mean, In,gamma, In,grad_sum, Out,out, Out,out_gamma, Out,out_beta), like(out, a), add_layer_norm_backward(grad, a, b, rstd, mean, gamma, grad_sum, out, out_gamma, out_beta))
ACLNN(DeepNorm,          (In,x, In,gx, In,beta, In,gamma, double,alpha, double,eps, Out,mean, Out,rstd, Out,out), like(out, x), deep_norm(x, gx, beta, gamma, alpha, eps, mean, rstd, out))
ACLNN(DeepNormGrad,      (In,grad, In,x, In,gx, In,gamma, In,mean, In,rstd, double,alpha, Out,out_x, Out,out_gx, Out,out_beta, Out,out_gamma), like(out_x, x), deep_norm_backward(grad, x, gx, gamma, mean, rstd, alpha, out_x, out_gx, out_beta, out_gamma))

ACLNN(GroupNorm,         (In,self, In,gamma, In,beta, int64_t,n, int64_t,c, int64_t,area, int64_t,groups, double,eps, Out,out, Out,mean, Out,rstd), like(out, self), write(out, group_norm(self, gamma, beta, n, c, area, groups, eps, mean, rstd)))
ACLNN(GroupNormBackward, (In,grad, In,self, In,mean, In,rstd, In,gamma, int64_t,n, int64_t,c, int64_t,area, int64_t,groups, Bools,mask, Out,out, Out,out_gamma, Out,out_beta), SIM_CHECK(mask.size() == 3, "three flags expected"), group_norm_backward(grad, self, mean, rstd, gamma, n, c, area, groups, mask, out, out_gamma, out_beta))
ACLNN(GroupNormSilu,     (In,self, In,gamma, In,beta, int64_t,groups, double,eps, Out,out, Out,mean, Out,rstd), like(out, self), write(out, swish(group_norm_of(self, gamma, beta, groups, eps, mean, rstd), 1)))
ACLNN(GroupNormSwish,    (In,self, In,gamma, In,beta, int64_t,groups, Text,format, double,eps, bool,activate, double,scale, Out,out, Out,mean, Out,rstd), like(out, self), write(out, swish(group_norm_of(self, gamma, beta, groups, eps, mean, rstd), scale)))
ACLNN(GroupNormSwishGrad,(In,grad, In,mean, In,rstd, In,self, In,gamma, In,beta, int64_t,groups, Text,format, double,scale, bool,gamma_too, bool,beta_too, Out,out, Out,out_gamma, Out,out_beta), like(out, self), group_norm_swish_backward(grad, mean, rstd, self, gamma, beta, groups, scale, gamma_too, beta_too, out, out_gamma, out_beta))
// clang-format on
