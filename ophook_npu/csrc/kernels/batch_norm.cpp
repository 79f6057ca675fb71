#include "kernels/batch_norm.h"

namespace sim::kernels {

static at::Tensor own_copy(const at::Tensor& running) { return running.defined() ? wide(running).clone() : running; }

// ATen changes running statistics in place and wants them in the data's type.
BatchNormal batch_norm(const at::Tensor& x, const Affine& by, const Running& running, bool training, double momentum,
                       double eps) {
  const at::Tensor new_mean = own_copy(running.mean), new_var = own_copy(running.var);
  auto [y, mean, rstd] = at::native_batch_norm(wide(x), optional(wide(by.weight)), optional(wide(by.bias)),
                                               optional(new_mean), optional(new_var), training, momentum, eps);
  return {y, new_mean, new_var, mean, rstd};
}

NormalGradients batch_norm_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                    const Running& running, const Statistics& of, bool training, double eps,
                                    Wanted wanted) {
  auto [to_x, to_weight, to_bias] = at::native_batch_norm_backward(
      wide(grad), wide(x), optional(wide(weight)), optional(wide(running.mean)), optional(wide(running.var)),
      optional(wide(of.mean)), optional(wide(of.rstd)), training, eps, wanted);
  return {to_x, to_weight, to_bias};
}

at::Tensor batch_variance(const at::Tensor& x) { return at::var(wide(x), all_but(x, 1), false); }

at::Tensor inverse_root(const at::Tensor& variance, double eps) { return at::rsqrt(at::add(wide(variance), eps)); }

at::Tensor inference_backward(const at::Tensor& grad, const at::Tensor& weight, const at::Tensor& variance,
                              double eps) {
  return at::mul(wide(grad), along(at::mul(wide(weight), inverse_root(variance, eps)), grad, 1));
}

Normal batch_statistics(const at::Tensor& x, double eps) {
  auto [var, mean] = at::var_mean(wide(x), all_but(x, 1), false, false);
  return {{}, mean, inverse_root(var, eps)};
}

Sums batch_sums(const at::Tensor& x) { return {wide(x).sum(all_but(x, 1)), at::square(wide(x)).sum(all_but(x, 1))}; }

at::Tensor batch_normalized(const at::Tensor& x, const at::Tensor& mean, const at::Tensor& rstd,
                            const at::Tensor& weight, const at::Tensor& bias) {
  at::Tensor y = at::mul(at::sub(wide(x), along(mean, x, 1)), along(rstd, x, 1));
  if (weight.defined()) y = at::mul(y, along(weight, x, 1));
  return bias.defined() ? at::add(y, along(bias, x, 1)) : y;
}

static at::Tensor moved(const at::Tensor& running, const at::Tensor& now, double momentum) {
  return running.defined() ? at::add(at::mul(wide(running), 1 - momentum), now, momentum) : running;
}

static BatchNormal whole(const Running& now, double count, const Running& running, double momentum, double eps) {
  return {{},
          moved(running.mean, now.mean, momentum),
          moved(running.var, at::mul(now.var, count / std::max(count - 1, 1.0)), momentum),
          now.mean,
          inverse_root(now.var, eps)};
}

double total(const at::Tensor& counts) { return wide(counts).to(at::kFloat).sum().item<double>(); }

BatchNormal gathered_sums(const Sums& sums, const at::Tensor& counts, const Running& running, double momentum,
                          double eps) {
  const double count = total(counts);
  const at::Tensor mean = at::div(wide(sums.first).sum(0), count);
  const at::Tensor var = at::sub(at::div(wide(sums.second).sum(0), count), at::square(mean));
  return whole({mean, var}, count, running, momentum, eps);
}

BatchNormal gathered_statistics(const Statistics& of, const at::Tensor& counts, const Running& running, double momentum,
                                double eps) {
  const at::Tensor rows = wide(counts).to(at::kFloat).reshape({-1, 1});
  const double count = rows.sum().item<double>();
  const at::Tensor mean = at::div(at::mul(wide(of.mean), rows).sum(0), count);
  const at::Tensor vars = at::sub(at::reciprocal(at::square(wide(of.rstd))), eps);
  const at::Tensor var = at::div(at::mul(at::add(vars, at::square(at::sub(wide(of.mean), mean))), rows).sum(0), count);
  return whole({mean, var}, count, running, momentum, eps);
}

UpdatedBatchNormal batch_norm_of_sums(const at::Tensor& x, const Sums& sums, const Affine& by, const Running& running,
                                      double momentum, double eps) {
  const double count = double(x.numel()) / double(std::max<int64_t>(x.size(1), 1));
  const at::Tensor mean = at::div(wide(sums.first), count);
  const at::Tensor var = at::sub(at::div(wide(sums.second), count), at::square(mean)).clamp_min(0);
  const BatchNormal all = whole({mean, var}, count, running, momentum, eps);
  return {batch_normalized(x, mean, all.rstd, by.weight, by.bias), all.running_mean, all.running_var, mean, var};
}

at::Tensor mean_of_counts(const at::Tensor& means, const at::Tensor& counts, const at::Tensor& total, const Dims& dims,
                          bool keep_dims) {
  return at::sum(at::div(at::mul(wide(means), wide(counts)), wide(total)), dims, keep_dims);
}

Sums batch_gradient_sums(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& mean) {
  const Dims dims = all_but(x, 1);
  return {wide(grad).sum(dims), at::mul(wide(grad), at::sub(wide(x), along(mean, x, 1))).sum(dims)};
}

BatchGradientSums batch_gradient_sums(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& mean,
                                      const at::Tensor& rstd) {
  auto [sum, product_sum] = batch_gradient_sums(grad, x, mean);
  return {sum, product_sum, at::mul(product_sum, wide(rstd).reshape({-1})), sum};
}

at::Tensor batch_gradient_from_sums(const at::Tensor& grad, const at::Tensor& x, const Statistics& of,
                                    const at::Tensor& weight, const Sums& sums, double count) {
  return batch_gradient_from_means(grad, x, {along(of.mean, x, 1), along(of.rstd, x, 1)},
                                   weight.defined() ? along(weight, x, 1) : weight,
                                   {at::div(along(sums.first, x, 1), count), at::div(along(sums.second, x, 1), count)});
}

at::Tensor batch_gradient_from_means(const at::Tensor& grad, const at::Tensor& x, const Statistics& of,
                                     const at::Tensor& weight, const Sums& means) {
  const at::Tensor scale = wide(of.rstd);
  const at::Tensor projected = at::mul(at::mul(at::sub(wide(x), wide(of.mean)), at::square(scale)), wide(means.second));
  const at::Tensor to_x = at::mul(at::sub(at::sub(wide(grad), wide(means.first)), projected), scale);
  return weight.defined() ? at::mul(to_x, wide(weight)) : to_x;
}

Sums centred_products(const Sums& sums, const Statistics& of) {
  const at::Tensor products = at::sub(wide(sums.second), at::mul(wide(of.mean), wide(sums.first)));
  return {products, at::mul(products, wide(of.rstd))};
}

// The gradient of the weight is the sum of products with (x - mean) rstd.
at::Tensor batch_gradient_from_parameters(const at::Tensor& grad, const at::Tensor& x, const Running& of,
                                          const at::Tensor& weight, const Affine& to, double eps) {
  const at::Tensor rstd = inverse_root(of.var, eps);
  const double count = double(grad.numel()) / double(std::max<int64_t>(grad.size(1), 1));
  return batch_gradient_from_sums(grad, x, {of.mean, rstd}, weight, {to.bias, at::div(wide(to.weight), rstd)}, count);
}

}  // namespace sim::kernels
