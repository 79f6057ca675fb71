#include "kernels/group_norm.h"

#include "kernels/activation.h"

namespace sim::kernels {

static Grouping grouping(const at::Tensor& x, int64_t groups) {
  const int64_t batch = x.size(0), channels = x.size(1);
  return {batch, channels, x.numel() / std::max<int64_t>(batch * channels, 1), groups};
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
