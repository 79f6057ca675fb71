#include "kernels/loss.h"

namespace sim::kernels {

at::Tensor mse(const at::Tensor& x, const at::Tensor& target, int64_t reduction) {
  return at::mse_loss(wide(x), wide(target), reduction);
}

at::Tensor mse_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, int64_t reduction) {
  return at::mse_loss_backward(wide(grad), wide(x), wide(target), reduction);
}

Nll nll(const at::Tensor& x, const at::Tensor& target, const at::Tensor& weight, int64_t reduction, int64_t ignored) {
  const at::Tensor labels = target.to(at::kLong), factors = wide(weight);
  auto [loss, total] = x.dim() > 2 ? at::nll_loss2d_forward(wide(x), labels, optional(factors), reduction, ignored)
                                   : at::nll_loss_forward(wide(x), labels, optional(factors), reduction, ignored);
  return {loss, total};
}

at::Tensor nll_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, const at::Tensor& weight,
                        int64_t reduction, int64_t ignored, const at::Tensor& total_weight) {
  const at::Tensor labels = target.to(at::kLong), factors = wide(weight), total = wide(total_weight).reshape({});
  return x.dim() > 2
             ? at::nll_loss2d_backward(wide(grad), wide(x), labels, optional(factors), reduction, ignored, total)
             : at::nll_loss_backward(wide(grad), wide(x), labels, optional(factors), reduction, ignored, total);
}

// ATen leaves what it does not reach of its memory as it was.
Ctc ctc(const at::Tensor& log_probs, const at::Tensor& targets, const Dims& inputs, const Dims& labels, int64_t blank,
        bool zero_infinity, int64_t columns) {
  auto [loss, alpha] = at::_ctc_loss(log_probs, targets.to(at::kLong), inputs, labels, blank, zero_infinity);
  if (alpha.dim() == 2) alpha = alpha.unsqueeze(0);
  at::Tensor padded = at::zeros({alpha.size(0), alpha.size(1), columns}, alpha.options());
  for (int64_t batch = 0; batch < alpha.size(0); ++batch) {
    const int64_t times = inputs.at(size_t(batch)), states = 2 * labels.at(size_t(batch)) + 1;
    padded[batch].narrow(0, 0, times).narrow(1, 0, states).copy_(alpha[batch].narrow(0, 0, times).narrow(1, 0, states));
  }
  return {loss, padded};
}

at::Tensor ctc_backward(const at::Tensor& grad, const at::Tensor& log_probs, const at::Tensor& targets,
                        const Dims& inputs, const Dims& labels, const at::Tensor& loss, const at::Tensor& log_alpha,
                        int64_t blank, bool zero_infinity) {
  const int64_t longest = labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end());
  at::Tensor alpha = log_alpha.narrow(2, 0, 2 * longest + 1).contiguous();
  if (log_probs.dim() == 2) alpha = alpha.squeeze(0);
  return at::_ctc_loss_backward(grad, log_probs, targets.to(at::kLong), inputs, labels, loss, alpha, blank,
                                zero_infinity);
}

}  // namespace sim::kernels
