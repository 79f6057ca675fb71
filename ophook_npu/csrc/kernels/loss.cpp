#include "kernels/loss.h"

namespace sim::kernels {

at::Tensor mse(const at::Tensor& x, const at::Tensor& target, int64_t reduction) {
  return at::mse_loss(wide(x), wide(target), reduction);
}

Dims sizes_of_first(const at::Tensor& x, const at::Tensor& target, int64_t reduction) {
  Dims sizes = at::infer_size(x.sizes(), target.sizes());
  if (reduction != at::Reduction::None && !sizes.empty()) sizes.erase(0);
  return sizes;
}

void weights_like(const at::Tensor& target, std::initializer_list<at::Tensor> weights) {
  for (const at::Tensor& weight : weights)
    if (weight.defined() && target.numel()) at::infer_size(weight.sizes(), target.sizes());
}

at::Tensor mse_of_first(const at::Tensor& x, const at::Tensor& target, int64_t reduction) {
  const at::Tensor each = mse(x, target, at::Reduction::None);
  if (reduction == at::Reduction::None) return each;
  return reduction == at::Reduction::Mean ? at::mean(each, {0}) : at::sum(each, {0});
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
Ctc ctc(const CtcPaths& of, int64_t columns) {
  auto [loss, alpha] =
      at::_ctc_loss(of.log_probs, of.targets.to(at::kLong), of.inputs, of.labels, of.blank, of.zero_infinity);
  if (alpha.dim() == 2) alpha = alpha.unsqueeze(0);
  at::Tensor padded = at::zeros({alpha.size(0), alpha.size(1), columns}, alpha.options());
  for (int64_t batch = 0; batch < alpha.size(0); ++batch) {
    const int64_t times = of.inputs.at(size_t(batch)), states = 2 * of.labels.at(size_t(batch)) + 1;
    padded[batch].narrow(0, 0, times).narrow(1, 0, states).copy_(alpha[batch].narrow(0, 0, times).narrow(1, 0, states));
  }
  return {loss, padded};
}

at::Tensor ctc_backward(const at::Tensor& grad, const CtcPaths& of, const Ctc& forward) {
  const int64_t longest = of.labels.empty() ? 0 : *std::max_element(of.labels.begin(), of.labels.end());
  at::Tensor alpha = forward.log_alpha.narrow(2, 0, 2 * longest + 1).contiguous();
  if (of.log_probs.dim() == 2) alpha = alpha.squeeze(0);
  return at::_ctc_loss_backward(grad, of.log_probs, of.targets.to(at::kLong), of.inputs, of.labels, forward.loss, alpha,
                                of.blank, of.zero_infinity);
}

static at::Tensor mean_if(const at::Tensor& value, int64_t reduction) {
  return reduction == at::Reduction::Mean ? at::div(value, value.numel()) : value;
}

at::Tensor l1_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, int64_t reduction) {
  return mean_if(at::mul(at::sign(at::sub(x, target)), grad), reduction);
}

// The loss is linear in the target, whose gradient therefore does not know it.
at::Tensor bce_logits_target_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                      const at::Tensor& pos_weight, int64_t reduction) {
  at::Tensor positive = at::log_sigmoid(wide(x));
  if (pos_weight.defined()) positive = at::mul(positive, wide(pos_weight));
  at::Tensor result = at::mul(at::sub(at::log_sigmoid(-wide(x)), positive), wide(grad));
  if (weight.defined()) result = at::mul(result, wide(weight));
  return mean_if(result, reduction);
}

at::Tensor bce_logits_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target,
                               const at::Tensor& weight, const at::Tensor& pos_weight, int64_t reduction) {
  auto probability = at::sigmoid(wide(x));
  auto wanted = wide(target);
  at::Tensor result;
  if (pos_weight.defined()) {
    auto positive = at::mul(wide(pos_weight), wanted);
    result = at::sub(at::mul(at::sub(at::add(positive, 1), wanted), probability), positive);
  } else {
    result = at::sub(probability, wanted);
  }
  result = at::mul(result, wide(grad));
  if (weight.defined()) result = at::mul(result, wide(weight));
  return mean_if(result, reduction);
}

static int64_t batch_of(const at::Tensor& x) { return x.dim() ? x.size(0) : 1; }

at::Tensor kl(const at::Tensor& x, const at::Tensor& target, int64_t reduction, bool log_target) {
  if (reduction != kBatchMean) return at::kl_div(wide(x), wide(target), reduction, log_target);
  return at::div(at::kl_div(wide(x), wide(target), at::Reduction::Sum, log_target), batch_of(x));
}

at::Tensor kl_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, int64_t reduction,
                       bool log_target) {
  if (reduction == kBatchMean)
    return at::div(kl_backward(grad, x, target, at::Reduction::Sum, log_target), batch_of(x));
  auto factor =
      log_target ? at::neg(at::exp(wide(target))) : at::neg(wide(target)).masked_fill_(at::le(wide(target), 0), 0);
  return mean_if(at::mul(factor, wide(grad)).expand_as(x), reduction);
}

at::Tensor kl_target_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, int64_t reduction,
                              bool log_target) {
  auto wanted = wide(target), given = wide(x);
  auto factor = log_target ? at::mul(at::exp(wanted), at::add(at::sub(wanted, given), 1))
                           : at::sub(at::add(at::log(wanted), 1), given).masked_fill_(at::le(wanted, 0), 0);
  return mean_if(at::mul(factor, wide(grad)), reduction);
}

CrossEntropy cross_entropy(const at::Tensor& x, const at::Tensor& target, const at::Tensor& weight, int64_t reduction,
                           int64_t ignored, double smoothing) {
  return {at::cross_entropy_loss(wide(x), target.to(at::kLong), optional(wide(weight)), reduction, ignored, smoothing),
          at::log_softmax(wide(x), 1)};
}

at::Tensor cross_entropy_backward(const at::Tensor& grad, const at::Tensor& log_prob, const at::Tensor& target,
                                  const at::Tensor& weight, int64_t reduction, int64_t ignored, double smoothing) {
  auto labels = target.to(at::kLong);
  auto outputs = wide(log_prob), factors = wide(weight);
  auto kept = at::ne(labels, ignored).to(outputs.scalar_type());
  auto one_hot = at::zeros_like(outputs).scatter_(1, labels.clamp_min(0).unsqueeze(1), 1);
  const double classes = double(outputs.size(1));
  auto each = at::add(at::mul(one_hot, 1 - smoothing), at::full_like(outputs, smoothing / classes));
  auto label_weight = kept;
  if (factors.defined()) {
    each = at::mul(each, factors);
    label_weight = at::mul(kept, factors.index_select(0, labels.clamp_min(0)));
  }
  auto to = at::mul(wide(grad).reshape({reduction == at::Reduction::None ? labels.size(0) : 1}), kept);
  if (reduction == at::Reduction::Mean) to = at::div(to, label_weight.sum());
  auto direction = at::sub(at::mul(at::exp(outputs), each.sum(1, true)), each);
  return at::mul(direction, to.unsqueeze(1));
}

MultilabelMargin multilabel_margin(const at::Tensor& x, const at::Tensor& target, int64_t reduction) {
  auto [loss, is_target] = at::multilabel_margin_loss_forward(wide(x), target.to(at::kLong), reduction);
  return {loss, is_target};
}

void divergence_like(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target) {
  const auto loss = at::infer_size(self.sizes(), target.sizes());
  SIM_CHECK(at::infer_size(loss, grad.sizes()) == loss, "a gradient of shape ", grad.sizes(), " for a loss of shape ",
            at::IntArrayRef(loss));
}

}  // namespace sim::kernels
