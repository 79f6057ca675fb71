// Losses and their backwards. reduction: 0 none, 1 mean, 2 sum.
#include "kernels/loss.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

void loss_shape(const at::Tensor& out, const at::Tensor& self, const at::Tensor& target, int64_t reduction) {
  if (reduction == at::Reduction::None) broadcast(out, {self, target});
  else one_element(out);
}

at::Tensor l1_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target, int64_t reduction) {
  auto sign = at::mul(at::sign(at::sub(self, target)), grad);
  return reduction == at::Reduction::Mean ? at::div(sign, sign.numel()) : sign;
}

at::Tensor mean_if(const at::Tensor& value, int64_t reduction) {
  return reduction == at::Reduction::Mean ? at::div(value, value.numel()) : value;
}

at::Tensor bce_logits_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target,
                               const at::Tensor& weight, const at::Tensor& pos_weight, int64_t reduction) {
  auto probability = at::sigmoid(wide(self));
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

at::Tensor kl_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target, int64_t reduction,
                       bool log_target) {
  auto factor =
      log_target ? at::neg(at::exp(wide(target))) : at::neg(wide(target)).masked_fill_(at::le(wide(target), 0), 0);
  return mean_if(at::mul(factor, wide(grad)).expand_as(self), reduction);
}

at::Tensor kl_target_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target,
                              int64_t reduction, bool log_target) {
  auto wanted = wide(target), given = wide(self);
  auto factor = log_target ? at::mul(at::exp(wanted), at::add(at::sub(wanted, given), 1))
                           : at::sub(at::add(at::log(wanted), 1), given).masked_fill_(at::le(wanted, 0), 0);
  return mean_if(at::mul(factor, wide(grad)), reduction);
}

void nll(const at::Tensor& self, const at::Tensor& target, const at::Tensor& weight, int64_t reduction, int64_t ignored,
         const at::Tensor& out, const at::Tensor& total) {
  const auto result = kernels::nll(self, target, weight, reduction, ignored);
  write(out, result.loss);
  if (total.defined()) total.copy_(result.total_weight.reshape(total.sizes()));
}

int64_t reduction_of(const std::string& name) {
  SIM_CHECK(name == "none" || name == "mean" || name == "sum", "reduction '", name, "'; allowed: none, mean, sum");
  return name == "none" ? at::Reduction::None : name == "mean" ? at::Reduction::Mean : at::Reduction::Sum;
}

void cross_entropy(const at::Tensor& self, const at::Tensor& target, const at::Tensor& weight,
                   const std::string& reduction, int64_t ignored, double smoothing, double z_scale, bool return_z,
                   const at::Tensor& loss, const at::Tensor& log_prob) {
  SIM_CHECK(z_scale == 0 && !return_z, "the z loss is not simulated");
  auto narrow = wide(weight);
  write(log_prob, at::log_softmax(wide(self), 1));
  write(loss, at::cross_entropy_loss(wide(self), target.to(at::kLong), optional(narrow), reduction_of(reduction),
                                     ignored, smoothing)
                  .reshape(loss.sizes()));
}

at::Tensor cross_entropy_backward(const at::Tensor& grad, const at::Tensor& log_prob, const at::Tensor& target,
                                  const at::Tensor& weight, const at::Tensor& grad_z, const std::string& reduction,
                                  int64_t ignored, double smoothing, double z_scale) {
  SIM_CHECK(z_scale == 0 && !grad_z.defined(), "the z loss is not simulated");
  const int64_t how = reduction_of(reduction);
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
  auto to = at::mul(wide(grad).reshape({how == at::Reduction::None ? labels.size(0) : 1}), kept);
  if (how == at::Reduction::Mean) to = at::div(to, label_weight.sum());
  auto direction = at::sub(at::mul(at::exp(outputs), each.sum(1, true)), each);
  return at::mul(direction, to.unsqueeze(1));
}

// The device keeps log_alpha padded to 32 bytes a row.
void ctc(const at::Tensor& log_probs, const at::Tensor& targets, const Dims& inputs, const Dims& labels, int64_t blank,
         bool zero_infinity, const at::Tensor& loss, const at::Tensor& log_alpha) {
  const auto result = kernels::ctc(log_probs, targets, inputs, labels, blank, zero_infinity, log_alpha.size(2));
  write(loss, result.loss);
  log_alpha.copy_(result.log_alpha);
}

void multilabel(const at::Tensor& self, const at::Tensor& target, int64_t reduction, const at::Tensor& out,
                const at::Tensor& is_target) {
  auto [loss, found] = at::multilabel_margin_loss_forward(wide(self), target.to(at::kLong), reduction);
  write(out, loss);
  is_target.copy_(found.reshape(is_target.sizes()));
}

}  // namespace

ACLNN(MseLoss, (In, self, In, target, int64_t, reduction, Out, out), loss_shape(out, self, target, reduction),
      write(out, kernels::mse(self, target, reduction)))
ACLNN(L1Loss, (In, self, In, target, int64_t, reduction, Out, out), loss_shape(out, self, target, reduction),
      write(out, at::l1_loss(wide(self), wide(target), reduction)))
ACLNN(SmoothL1Loss, (In, self, In, target, int64_t, reduction, float, beta, Out, out),
      loss_shape(out, self, target, reduction),
      write(out, at::smooth_l1_loss(wide(self), wide(target), reduction, beta)))
ACLNN(SoftMarginLoss, (In, self, In, target, int64_t, reduction, Out, out), loss_shape(out, self, target, reduction),
      write(out, at::soft_margin_loss(wide(self), wide(target), reduction)))
ACLNN(KlDiv, (In, self, In, target, int64_t, reduction, bool, log_target, Out, out),
      loss_shape(out, self, target, reduction), write(out, at::kl_div(wide(self), wide(target), reduction, log_target)))
ACLNN(BinaryCrossEntropy, (In, self, In, target, In, weight, int64_t, reduction, Out, out),
      loss_shape(out, self, target, reduction),
      write(out, at::binary_cross_entropy(wide(self), wide(target), optional(wide(weight)), reduction)))
ACLNN(BinaryCrossEntropyWithLogits, (In, self, In, target, In, weight, In, pos_weight, int64_t, reduction, Out, out),
      loss_shape(out, self, target, reduction),
      write(out, at::binary_cross_entropy_with_logits(wide(self), wide(target), optional(wide(weight)),
                                                      optional(wide(pos_weight)), reduction)))
ACLNN(NLLLoss, (In, self, In, target, In, weight, int64_t, reduction, int64_t, ignored, Out, out, Out, total),
      when_run(), nll(self, target, weight, reduction, ignored, out, total))
ACLNN(NLLLoss2d, (In, self, In, target, In, weight, int64_t, reduction, int64_t, ignored, Out, out, Out, total),
      when_run(), nll(self, target, weight, reduction, ignored, out, total))
ACLNN(CrossEntropyLoss,
      (In, self, In, target, In, weight, Text, reduction, int64_t, ignored, double, smoothing, double, z_scale, bool,
       return_z, Out, loss, Out, log_prob, Out, z_loss, Out, lse),
      like(log_prob, self),
      cross_entropy(self, target, weight, reduction, ignored, smoothing, z_scale, return_z, loss, log_prob))
ACLNN(CtcLoss,
      (In, log_probs, In, targets, Ints, inputs, Ints, labels, int64_t, blank, bool, zero_infinity, Out, loss, Out,
       log_alpha),
      when_run(), ctc(log_probs, targets, inputs, labels, blank, zero_infinity, loss, log_alpha))
ACLNN(MultilabelMarginLoss, (In, self, In, target, int64_t, reduction, Out, out, Out, is_target), when_run(),
      multilabel(self, target, reduction, out, is_target))

// backward
ACLNN(MseLossBackward, (In, grad, In, self, In, target, int64_t, reduction, Out, out), broadcast(out, {self, target}),
      write(out, kernels::mse_backward(grad, self, target, reduction)))
ACLNN(L1LossBackward, (In, grad, In, self, In, target, int64_t, reduction, Out, out), broadcast(out, {self, target}),
      write(out, l1_backward(grad, self, target, reduction)))
ACLNN(SmoothL1LossBackward, (In, grad, In, self, In, target, int64_t, reduction, float, beta, Out, out),
      broadcast(out, {self, target}), write(out, at::smooth_l1_loss_backward(grad, self, target, reduction, beta)))
ACLNN(SoftMarginLossBackward, (In, grad, In, self, In, target, int64_t, reduction, Out, out),
      broadcast(out, {self, target}), write(out, at::soft_margin_loss_backward(grad, self, target, reduction)))
ACLNN(KlDivBackward, (In, grad, In, self, In, target, int64_t, reduction, bool, log_target, Out, out), like(out, self),
      write(out, kl_backward(grad, self, target, reduction, log_target)))
ACLNN(KlDivTargetBackward, (In, grad, In, self, In, target, int64_t, reduction, bool, log_target, Out, out),
      like(out, target), write(out, kl_target_backward(grad, self, target, reduction, log_target)))
ACLNN(BinaryCrossEntropyBackward, (In, grad, In, self, In, target, In, weight, int64_t, reduction, Out, out),
      like(out, self),
      write(out,
            at::binary_cross_entropy_backward(wide(grad), wide(self), wide(target), optional(wide(weight)), reduction)))
ACLNN(BinaryCrossEntropyWithLogitsBackward,
      (In, grad, In, self, In, target, In, weight, In, pos_weight, int64_t, reduction, Out, out), like(out, self),
      write(out, bce_logits_backward(grad, self, target, weight, pos_weight, reduction)))
ACLNN(NLLLossBackward,
      (In, grad, In, self, In, target, In, weight, int64_t, reduction, int64_t, ignored, In, total, Out, out),
      like(out, self), write(out, kernels::nll_backward(grad, self, target, weight, reduction, ignored, total)))
ACLNN(NLLLoss2dBackward,
      (In, grad, In, self, In, target, In, weight, int64_t, reduction, int64_t, ignored, In, total, Out, out),
      like(out, self), write(out, kernels::nll_backward(grad, self, target, weight, reduction, ignored, total)))
ACLNN(CrossEntropyLossGrad,
      (In, grad, In, log_prob, In, target, In, weight, In, grad_z, In, lse, Text, reduction, int64_t, ignored, double,
       smoothing, double, z_scale, Out, out),
      like(out, log_prob),
      write(out,
            cross_entropy_backward(grad, log_prob, target, weight, grad_z, reduction, ignored, smoothing, z_scale)))
ACLNN(CtcLossBackward,
      (In, grad, In, log_probs, In, targets, Ints, inputs, Ints, labels, In, loss, In, log_alpha, int64_t, blank, bool,
       zero_infinity, Out, out),
      like(out, log_probs),
      write(out,
            kernels::ctc_backward(grad, log_probs, targets, inputs, labels, loss, log_alpha, blank, zero_infinity)))
