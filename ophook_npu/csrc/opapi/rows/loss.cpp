// Losses and their backwards. reduction: 0 none, 1 mean, 2 sum.
#include "kernels/loss.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

void loss_shape(const at::Tensor& out, const at::Tensor& self, const at::Tensor& target, int64_t reduction) {
  if (reduction == at::Reduction::None) broadcast(out, {self, target});
  else one_element(out);
}

void write_nll(const at::Tensor& out, const at::Tensor& total, const kernels::Nll& result) {
  write(out, result.loss);
  if (total.defined()) total.copy_(result.total_weight.reshape(total.sizes()));
}

int64_t reduction_of(const std::string& name) {
  SIM_CHECK(name == "none" || name == "mean" || name == "sum", "reduction '", name, "'; allowed: none, mean, sum");
  return name == "none" ? at::Reduction::None : name == "mean" ? at::Reduction::Mean : at::Reduction::Sum;
}

void no_z_loss(double z_scale, bool asked) { SIM_CHECK(z_scale == 0 && !asked, "the z loss is not simulated"); }

void write_cross_entropy(const at::Tensor& loss, const at::Tensor& log_prob, const kernels::CrossEntropy& result) {
  write(log_prob, result.log_prob);
  write(loss, result.loss.reshape(loss.sizes()));
}

void write_ctc(const at::Tensor& loss, const at::Tensor& log_alpha, const kernels::Ctc& result) {
  write(loss, result.loss);
  log_alpha.copy_(result.log_alpha);
}

void write_margin(const at::Tensor& out, const at::Tensor& is_target, const kernels::MultilabelMargin& result) {
  write(out, result.loss);
  is_target.copy_(result.is_target.reshape(is_target.sizes()));
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
      when_run(), write_nll(out, total, kernels::nll(self, target, weight, reduction, ignored)))
ACLNN(NLLLoss2d, (In, self, In, target, In, weight, int64_t, reduction, int64_t, ignored, Out, out, Out, total),
      when_run(), write_nll(out, total, kernels::nll(self, target, weight, reduction, ignored)))
ACLNN(CrossEntropyLoss,
      (In, self, In, target, In, weight, Text, reduction, int64_t, ignored, double, smoothing, double, z_scale, bool,
       return_z, Out, loss, Out, log_prob, Out, z_loss, Out, lse),
      (no_z_loss(z_scale, return_z), like(log_prob, self)),
      write_cross_entropy(loss, log_prob,
                          kernels::cross_entropy(self, target, weight, reduction_of(reduction), ignored, smoothing)))
ACLNN(CtcLoss,
      (In, log_probs, In, targets, Ints, inputs, Ints, labels, int64_t, blank, bool, zero_infinity, Out, loss, Out,
       log_alpha),
      when_run(),
      // the device keeps log_alpha padded to 32 bytes a row
      write_ctc(loss, log_alpha,
                kernels::ctc(log_probs, targets, inputs, labels, blank, zero_infinity, log_alpha.size(2))))
ACLNN(MultilabelMarginLoss, (In, self, In, target, int64_t, reduction, Out, out, Out, is_target), when_run(),
      write_margin(out, is_target, kernels::multilabel_margin(self, target, reduction)))

// backward
ACLNN(MseLossBackward, (In, grad, In, self, In, target, int64_t, reduction, Out, out), broadcast(out, {self, target}),
      write(out, kernels::mse_backward(grad, self, target, reduction)))
ACLNN(L1LossBackward, (In, grad, In, self, In, target, int64_t, reduction, Out, out), broadcast(out, {self, target}),
      write(out, kernels::l1_backward(grad, self, target, reduction)))
ACLNN(SmoothL1LossBackward, (In, grad, In, self, In, target, int64_t, reduction, float, beta, Out, out),
      broadcast(out, {self, target}), write(out, at::smooth_l1_loss_backward(grad, self, target, reduction, beta)))
ACLNN(SoftMarginLossBackward, (In, grad, In, self, In, target, int64_t, reduction, Out, out),
      broadcast(out, {self, target}), write(out, at::soft_margin_loss_backward(grad, self, target, reduction)))
ACLNN(KlDivBackward, (In, grad, In, self, In, target, int64_t, reduction, bool, log_target, Out, out), like(out, self),
      write(out, kernels::kl_backward(grad, self, target, reduction, log_target)))
ACLNN(KlDivTargetBackward, (In, grad, In, self, In, target, int64_t, reduction, bool, log_target, Out, out),
      like(out, target), write(out, kernels::kl_target_backward(grad, self, target, reduction, log_target)))
ACLNN(BinaryCrossEntropyBackward, (In, grad, In, self, In, target, In, weight, int64_t, reduction, Out, out),
      like(out, self),
      write(out,
            at::binary_cross_entropy_backward(wide(grad), wide(self), wide(target), optional(wide(weight)), reduction)))
ACLNN(BinaryCrossEntropyWithLogitsBackward,
      (In, grad, In, self, In, target, In, weight, In, pos_weight, int64_t, reduction, Out, out), like(out, self),
      write(out, kernels::bce_logits_backward(grad, self, target, weight, pos_weight, reduction)))
ACLNN(NLLLossBackward,
      (In, grad, In, self, In, target, In, weight, int64_t, reduction, int64_t, ignored, In, total, Out, out),
      like(out, self), write(out, kernels::nll_backward(grad, self, target, weight, reduction, ignored, total)))
ACLNN(NLLLoss2dBackward,
      (In, grad, In, self, In, target, In, weight, int64_t, reduction, int64_t, ignored, In, total, Out, out),
      like(out, self), write(out, kernels::nll_backward(grad, self, target, weight, reduction, ignored, total)))
ACLNN(CrossEntropyLossGrad,
      (In, grad, In, log_prob, In, target, In, weight, In, grad_z, In, lse, Text, reduction, int64_t, ignored, double,
       smoothing, double, z_scale, Out, out),
      (no_z_loss(z_scale, grad_z.defined()), like(out, log_prob)),
      write(out, kernels::cross_entropy_backward(grad, log_prob, target, weight, reduction_of(reduction), ignored,
                                                 smoothing)))
ACLNN(CtcLossBackward,
      (In, grad, In, log_probs, In, targets, Ints, inputs, Ints, labels, In, loss, In, log_alpha, int64_t, blank, bool,
       zero_infinity, Out, out),
      like(out, log_probs),
      write(out,
            kernels::ctc_backward(grad, log_probs, targets, inputs, labels, loss, log_alpha, blank, zero_infinity)))
