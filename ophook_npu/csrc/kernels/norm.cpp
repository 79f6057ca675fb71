#include "kernels/norm.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include "kernels/activation.h"
#include "kernels/loops.h"
#include "kernels/sizes.h"

namespace sim::kernels {

// ---- over a batch --------------------------------------------------------------------------------------------------
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

Sums batch_gradient_sums(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& mean) {
  const Dims dims = all_but(x, 1);
  return {wide(grad).sum(dims), at::mul(wide(grad), at::sub(wide(x), along(mean, x, 1))).sum(dims)};
}

BatchGradientSums batch_gradient_sums(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& mean,
                                      const at::Tensor& rstd) {
  auto [sum, product_sum] = batch_gradient_sums(grad, x, mean);
  return {sum, product_sum, at::mul(product_sum, wide(rstd)), sum};
}

at::Tensor batch_gradient_from_sums(const at::Tensor& grad, const at::Tensor& x, const Statistics& of,
                                    const at::Tensor& weight, const Sums& sums, double count) {
  const at::Tensor mean_grad = at::div(along(sums.first, x, 1), count),
                   mean_product = at::div(along(sums.second, x, 1), count);
  const at::Tensor scale = along(of.rstd, x, 1);
  const at::Tensor projected =
      at::mul(at::mul(at::sub(wide(x), along(of.mean, x, 1)), at::square(scale)), mean_product);
  const at::Tensor to_x = at::mul(at::sub(at::sub(wide(grad), mean_grad), projected), scale);
  return weight.defined() ? at::mul(to_x, along(weight, x, 1)) : to_x;
}

// The gradient of the weight is the sum of products with (x - mean) rstd.
at::Tensor batch_gradient_from_parameters(const at::Tensor& grad, const at::Tensor& x, const Running& of,
                                          const at::Tensor& weight, const Affine& to, double eps) {
  const at::Tensor rstd = inverse_root(of.var, eps);
  const double count = double(grad.numel()) / double(std::max<int64_t>(grad.size(1), 1));
  return batch_gradient_from_sums(grad, x, {of.mean, rstd}, weight, {to.bias, at::div(wide(to.weight), rstd)}, count);
}

// ---- over the last dimensions --------------------------------------------------------------------------------------
void ends_with(const at::Tensor& x, at::IntArrayRef inner) {
  SIM_CHECK(statistic_sizes(sizes_of(x.sizes()), sizes_of(inner)), "the last dimensions of ", x.sizes(), " are not ",
            inner);
}

void normal_like(const at::Tensor& x, at::IntArrayRef inner, const at::Tensor& out,
                 std::initializer_list<at::Tensor> statistics, std::initializer_list<at::Tensor> sums) {
  ends_with(x, inner);
  like(out, x);
  asked(statistics, outer_sizes(x, inner.size()));
  asked(sums, x.sizes());
}

at::Tensor weight_of_rows(const at::Tensor& gamma) {
  return gamma.dim() == 2 && gamma.size(0) == 1 ? gamma.squeeze(0) : gamma;
}

void of_channels(std::initializer_list<at::Tensor> values, const at::Tensor& x) {
  SIM_CHECK(x.dim() > 1, "channels are dimension 1, the shape is ", x.sizes());
  for (const at::Tensor& each : values) {
    const bool fits = !each.defined() || (each.dim() == 1 && each.size(0) == x.size(1));
    SIM_CHECK(fits, "a value for each channel of shape ", each.sizes(), "; there are ", x.size(1), " channels");
  }
}

void layer_norm_like(const at::Tensor& x, const Dims& normalized, const at::Tensor& weight, const at::Tensor& bias,
                     const Normal& to) {
  SIM_CHECK(!normalized.empty(), "normalizedShape is empty");
  for (const at::Tensor& each : {weight, bias}) shape(each, normalized);
  normal_like(x, normalized, to.y, {to.mean, to.rstd});
}

// ATen has what is computed in double, rows of nothing, and the checks of what does not fit: the loops look at no size.
static bool has_loop(const at::Tensor& x, at::IntArrayRef normalized, std::initializer_list<at::Tensor> of_a_row) {
  const at::ScalarType type = x.scalar_type();
  if (!(type == at::kFloat || type == at::kHalf || type == at::kBFloat16) || !x.numel() || normalized.empty())
    return false;
  const int64_t outer = x.dim() - int64_t(normalized.size());
  bool fits = outer >= 0 && x.sizes().slice(size_t(outer)) == normalized;
  for (const at::Tensor& each : of_a_row) fits = fits && (!each.defined() || each.sizes() == normalized);
  return fits;
}
static at::Tensor floats(const at::Tensor& x) { return x.defined() ? x.to(at::kFloat).contiguous() : x; }
static const float* data_of(const at::Tensor& x) { return x.defined() ? x.const_data_ptr<float>() : nullptr; }
// run(a number of the type, the first row, how many): in several threads where there are.
template <typename F>
static void each_rows(const at::Tensor& x, int64_t rows, F run) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "a loop", [&] {
    if constexpr (!std::is_same_v<scalar_t, double>)
      at::parallel_for(0, rows, std::max<int64_t>(1, (rows << 15) / x.numel()),
                       [&](int64_t begin, int64_t end) { run(scalar_t(), begin, end - begin); });
  });
}

static bool lies_as(const at::Tensor& into, const at::Tensor& x) {
  return into.defined() && into.is_contiguous() && into.scalar_type() == x.scalar_type() && into.sizes() == x.sizes();
}

static Normal rows_normal(const at::Tensor& x, at::IntArrayRef normalized, const at::Tensor& weight,
                          const at::Tensor& bias, double eps, const at::Tensor& into) {
  Dims sizes = x.sizes().vec();
  std::fill(sizes.last(normalized.size()), sizes.end(), 1);
  const at::Tensor from = x.contiguous(), gamma = floats(weight), beta = floats(bias);
  const bool there = lies_as(into, from);
  const Normal result{there ? into : at::empty_like(from), at::empty(sizes, at::kFloat), at::empty(sizes, at::kFloat)};
  const int64_t count = c10::multiply_integers(normalized);
  each_rows(from, result.mean.numel(), [&]<typename Number>(Number, int64_t first, int64_t rows) {
    const loops::NormRows<Number> of{.x = from.const_data_ptr<Number>() + first * count,
                                     .weight = data_of(gamma),
                                     .bias = data_of(beta),
                                     .eps = eps,
                                     .rows = rows,
                                     .count = count};
    loops::layer_norm(of, result.y.mutable_data_ptr<Number>() + first * count,
                      result.mean.mutable_data_ptr<float>() + first, result.rstd.mutable_data_ptr<float>() + first);
  });
  return result;
}

Normal layer_norm(const at::Tensor& x, at::IntArrayRef normalized, const at::Tensor& weight, const at::Tensor& bias,
                  double eps) {
  if (has_loop(x, normalized, {weight, bias})) return rows_normal(wide(x), normalized, weight, bias, eps, {});
  auto [y, mean, rstd] = at::native_layer_norm(wide(x), normalized, optional(wide(weight)), optional(wide(bias)), eps);
  return {y, mean, rstd};
}

void layer_norm_into(const Normal& to, const at::Tensor& x, at::IntArrayRef normalized, const at::Tensor& weight,
                     const at::Tensor& bias, double eps) {
  const bool same = to.y.scalar_type() == x.scalar_type() && has_loop(x, normalized, {weight, bias});
  const Normal result =
      same ? rows_normal(x, normalized, weight, bias, eps, to.y) : layer_norm(x, normalized, weight, bias, eps);
  if (!result.y.is_same(to.y)) write(to.y, result.y);
  write_asked(to.mean, result.mean);
  write_asked(to.rstd, result.rstd);
}

static NormalGradients rows_backward(const at::Tensor& grad, const at::Tensor& x, at::IntArrayRef normalized,
                                     const Statistics& of, const at::Tensor& weight, Wanted wanted,
                                     const at::Tensor& into) {
  const at::Tensor from = x.contiguous(), upstream = grad.contiguous(), gamma = floats(weight);
  const at::Tensor means = floats(of.mean), rstds = floats(of.rstd);
  const bool there = given(into) && lies_as(into, from);
  const int64_t count = c10::multiply_integers(normalized);
  NormalGradients result;
  if (wanted[0]) result.x = there ? into : at::empty_like(from);
  // Parts have sums of their own, which are added up in one order whatever the number of threads.
  const int64_t rows = means.numel(), parts = std::min<int64_t>(16, (rows + 63) / 64);
  const auto sums = [&](bool asked) { return asked ? at::zeros({parts, count}, at::kFloat) : at::Tensor(); };
  const at::Tensor to_weight = sums(wanted[1]), to_bias = sums(wanted[2]);
  const auto sum_at = [&](const at::Tensor& sum, int64_t part) {
    return sum.defined() ? sum.mutable_data_ptr<float>() + part * count : nullptr;
  };
  each_rows(from, parts, [&]<typename Number>(Number, int64_t begin, int64_t many) {
    for (int64_t part = begin; part < begin + many; ++part) {
      const int64_t first = rows * part / parts, last = rows * (part + 1) / parts;
      const loops::NormRowsBackward<Number> of_part{.grad = upstream.const_data_ptr<Number>() + first * count,
                                                    .x = from.const_data_ptr<Number>() + first * count,
                                                    .mean = data_of(means) + first,
                                                    .rstd = data_of(rstds) + first,
                                                    .weight = data_of(gamma),
                                                    .rows = last - first,
                                                    .count = count};
      loops::layer_norm_backward(of_part, wanted[0] ? result.x.mutable_data_ptr<Number>() + first * count : nullptr,
                                 sum_at(to_weight, part), sum_at(to_bias, part));
    }
  });
  if (wanted[1]) result.weight = to_weight.sum(0).reshape(normalized);
  if (wanted[2]) result.bias = to_bias.sum(0).reshape(normalized);
  return result;
}

NormalGradients layer_norm_backward(const at::Tensor& grad, const at::Tensor& x, at::IntArrayRef normalized,
                                    const Statistics& of, const at::Tensor& weight, const at::Tensor& bias,
                                    Wanted wanted, const at::Tensor& into) {
  const int64_t rows = x.numel() / std::max<int64_t>(1, c10::multiply_integers(normalized));
  const bool fits = grad.sizes() == x.sizes() && of.mean.numel() == rows && of.rstd.numel() == rows;
  if (fits && has_loop(x, normalized, {weight, bias})) {
    const bool same = grad.scalar_type() == x.scalar_type() && given(into);
    NormalGradients result = same ? rows_backward(grad, x, normalized, of, weight, wanted, into)
                                  : rows_backward(wide(grad), wide(x), normalized, of, weight, wanted, into);
    if (result.x.is_same(into)) result.x = at::Tensor();
    return result;
  }
  const at::Tensor input = wide(x);
  auto [to_x, to_weight, to_bias] = at::native_layer_norm_backward(
      wide(grad), input, normalized, of.mean.to(input.scalar_type()), of.rstd.to(input.scalar_type()),
      optional(wide(weight)), optional(wide(bias)), wanted);
  return {to_x, to_weight, to_bias};
}

// Rounded once, as an Ascend950 does in op-plugin's tests: ATen's root in float has a second rounding, so that 1e-6 has
// 999.99994 and not 1000.
static at::Tensor inverse_rms(const at::Tensor& x, int64_t dims, double eps) {
  const at::Tensor squares = at::add(at::square(x).mean(last_dims(dims), true), eps);
  return at::rsqrt(squares.to(at::kDouble)).to(squares.scalar_type());
}

Normal rms_norm(const at::Tensor& x, const at::Tensor& gamma, double eps, double gamma_offset) {
  const at::Tensor rstd = inverse_rms(wide(x), gamma.dim(), eps);
  const at::Tensor factor = gamma_offset == 0 ? wide(gamma) : at::add(wide(gamma), gamma_offset);
  return {at::mul(at::mul(wide(x), rstd), factor), {}, rstd};
}

NormalGradients rms_norm_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& rstd,
                                  const at::Tensor& gamma) {
  const at::Tensor input = wide(x), to = wide(grad);
  at::Tensor inverse;
  if (rstd.defined()) {
    Dims sizes = input.sizes().vec();
    std::fill(sizes.last(size_t(gamma.dim())), sizes.end(), 1);
    inverse = wide(rstd).reshape(sizes);
  } else {
    inverse = inverse_rms(input, gamma.dim(), 0);
  }
  const at::Tensor normal = at::mul(input, inverse), scaled = at::mul(to, wide(gamma));
  const at::Tensor mean = at::mul(scaled, normal).mean(last_dims(gamma.dim()), true);
  return {at::mul(at::sub(scaled, at::mul(normal, mean)), inverse),
          at::mul(to, normal).reshape({-1, gamma.numel()}).sum(0).reshape(gamma.sizes()),
          {}};
}

NormalOfSum add_rms_norm(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, double eps) {
  const at::Tensor sum = at::add(wide(a), wide(b));
  auto [y, mean, rstd] = rms_norm(sum, gamma, eps);
  return {y, mean, rstd, sum};
}

NormalOfSum add_layer_norm(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c, const at::Tensor& gamma,
                           const at::Tensor& beta, double eps) {
  at::Tensor sum = at::add(wide(a), wide(b));
  if (c.defined()) sum = at::add(sum, wide(c));
  auto [y, mean, rstd] = layer_norm(sum, gamma.sizes(), gamma, beta, eps);
  return {y, mean, rstd, sum};
}

NormalGradients add_layer_norm_backward(const at::Tensor& grad, const at::Tensor& a, const at::Tensor& b,
                                        const Statistics& of, const at::Tensor& gamma, const at::Tensor& grad_sum) {
  auto result = layer_norm_backward(grad, at::add(wide(a), wide(b)), gamma.sizes(), of, gamma, gamma);
  if (grad_sum.defined()) result.x = at::add(result.x, wide(grad_sum));
  return result;
}

static at::Tensor deep_sum(const at::Tensor& x, const at::Tensor& gx, double alpha) {
  return at::add(wide(gx), wide(x), alpha);
}

Normal deep_norm(const at::Tensor& x, const at::Tensor& gx, const at::Tensor& beta, const at::Tensor& gamma,
                 double alpha, double eps) {
  return layer_norm(deep_sum(x, gx, alpha), gamma.sizes(), gamma, beta, eps);
}

DeepNormalGradients deep_norm_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& gx,
                                       const at::Tensor& gamma, const Statistics& of, double alpha) {
  const auto to_sum = layer_norm_backward(grad, deep_sum(x, gx, alpha), gamma.sizes(), of, gamma, gamma);
  return {at::mul(to_sum.x, alpha), to_sum};
}

// ---- over groups of channels ---------------------------------------------------------------------------------------
static Grouping grouping(const at::Tensor& x, int64_t groups) {
  const int64_t batch = x.size(0), channels = x.size(1);
  return {batch, channels, x.numel() / std::max<int64_t>(batch * channels, 1), groups};
}

void group_norm_like(const at::Tensor& x, int64_t batch, int64_t groups, const at::Tensor& out, const at::Tensor& mean,
                     const at::Tensor& rstd) {
  like(out, x);
  asked({mean, rstd}, {batch, groups});
}

void group_norm_like(const at::Tensor& x, int64_t groups, const at::Tensor& out, const at::Tensor& mean,
                     const at::Tensor& rstd) {
  SIM_CHECK(x.dim() > 1, "(N, C, …) expected, got ", x.sizes());
  group_norm_like(x, x.size(0), groups, out, mean, rstd);
}

Normal group_norm(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, const Grouping& in,
                  double eps) {
  auto [y, mean, rstd] = at::native_group_norm(wide(x).contiguous(), optional(wide(gamma)), optional(wide(beta)),
                                               in.batch, in.channels, in.area, in.groups, eps);
  return {y, mean, rstd};
}

Normal group_norm(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, int64_t groups, double eps) {
  return group_norm(x, gamma, beta, grouping(x, groups), eps);
}

Normal group_norm_swish(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, int64_t groups,
                        double eps, double scale) {
  auto [y, mean, rstd] = group_norm(x, gamma, beta, groups, eps);
  return {swish(y, scale), mean, rstd};
}

at::Tensor group_variance(const at::Tensor& x, int64_t groups) {
  return at::var(wide(x).reshape({x.size(0), groups, -1}), at::IntArrayRef{-1}, false);
}

NormalGradients group_norm_backward(const at::Tensor& grad, const at::Tensor& x, const Statistics& of,
                                    const at::Tensor& gamma, const Grouping& in, Wanted wanted) {
  const auto statistic = [&](const at::Tensor& value) {
    return wide(value).reshape({in.batch, in.groups}).contiguous();
  };
  auto [to_x, to_gamma, to_beta] = at::native_group_norm_backward(
      wide(grad).contiguous(), wide(x).contiguous(), statistic(of.mean), statistic(of.rstd), optional(wide(gamma)),
      in.batch, in.channels, in.area, in.groups, wanted);
  return {to_x, to_gamma, to_beta};
}

NormalGradients group_norm_backward(const at::Tensor& grad, const at::Tensor& x, const Statistics& of,
                                    const at::Tensor& gamma, int64_t groups) {
  return group_norm_backward(grad, x, of, gamma, grouping(x, groups));
}

NormalGradients group_norm_swish_backward(const at::Tensor& grad, const at::Tensor& x, const Statistics& of,
                                          const at::Tensor& gamma, const at::Tensor& beta, int64_t groups, double scale,
                                          Wanted wanted) {
  const Grouping in = grouping(x, groups);
  const auto statistic = [&](const at::Tensor& value) { return wide(value).reshape({in.batch, groups, 1}); };
  const at::Tensor grouped = wide(x).reshape({in.batch, groups, -1});
  const at::Tensor normal =
      at::mul(at::sub(grouped, statistic(of.mean)), statistic(of.rstd)).reshape({in.batch, in.channels, in.area});
  const at::Tensor y = at::add(at::mul(normal, wide(gamma).unsqueeze(-1)), wide(beta).unsqueeze(-1)).reshape(x.sizes());
  return group_norm_backward(swish_backward(grad, y, scale), x, of, gamma, in, wanted);
}

}  // namespace sim::kernels
