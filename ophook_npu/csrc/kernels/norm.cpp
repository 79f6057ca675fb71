#include "kernels/norm.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include "kernels/loops.h"

namespace sim::kernels {

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

NormalOfVariance layer_norm_variance(const at::Tensor& x, at::IntArrayRef normalized, const at::Tensor& weight,
                                     const at::Tensor& bias, double eps) {
  const Normal found = layer_norm(x, normalized, weight, bias, eps);
  const Dims dims = last_dims(int64_t(normalized.size()));
  return {found.y, found.mean, at::var(wide(x), dims, /*unbiased=*/false, /*keepdim=*/true)};
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

at::Tensor norm_of_channels(const at::Tensor& x, const ChannelNorm& how) {
  const at::Tensor squares = at::square(wide(x)).movedim(1, -1);
  const at::Tensor padded = at::constant_pad_nd(squares, {how.radius, how.radius});
  const at::Tensor sums = padded.unfold(-1, 2 * how.radius + 1, 1).sum(-1).movedim(-1, 1);
  return wide(x) / at::pow(sums * how.alpha + how.bias, how.beta);
}

}  // namespace sim::kernels
