// Losses and their backwards. reduction: 0 none, 1 mean, 2 sum.
#include "kernels/index.h"
#include "kernels/loss.h"
#include "kernels/gated.h"
#include "kernels/quant.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;
using sim::kernels::weights_into;

namespace {

void known_reduction(int64_t reduction) {
  SIM_CHECK(reduction >= 0 && reduction <= 2, "reduction ", reduction, "; allowed: 0 (none), 1 (mean), 2 (sum)");
}

void loss_shape(const at::Tensor& out, const at::Tensor& self, const at::Tensor& target, int64_t reduction) {
  if (reduction == at::Reduction::None) return broadcast(out, {self, target});
  kernels::broadcast_sizes(self.sizes(), target.sizes());
  one_element(out);
}

void known_loss(const at::Tensor& out, const at::Tensor& self, const at::Tensor& target, int64_t reduction) {
  known_reduction(reduction), loss_shape(out, self, target, reduction);
}

int64_t reduction_of(const std::string& name) {
  SIM_CHECK(name == "none" || name == "mean" || name == "sum", "reduction '", name, "'; allowed: none, mean, sum");
  return name == "none" ? at::Reduction::None : name == "mean" ? at::Reduction::Mean : at::Reduction::Sum;
}

// A loss for each target, or one.
void each_or_one(const at::Tensor& out, int64_t reduction, at::IntArrayRef targets) {
  reduction == at::Reduction::None && !targets.empty() ? shape(out, targets) : one_element(out);
}

// A target for each place of self, whose dimension 1, or only one, is the classes. The loss is `each`, or its gradient.
void nll_like(const at::Tensor& self, const at::Tensor& target, const at::Tensor& weight, int64_t reduction,
              const at::Tensor& each, const at::Tensor& total) {
  known_reduction(reduction);
  SIM_CHECK(self.dim(), "self has no dimension of classes");
  const int64_t classes = self.dim() > 1 ? 1 : 0;
  Dims targets = self.sizes().vec();
  targets.erase(classes);
  SIM_CHECK(target.sizes() == targets, "self ", self.sizes(), " with a target ", target.sizes(), ", expected ",
            at::IntArrayRef(targets));
  SIM_CHECK(!weight.defined() || weight.numel() == self.size(classes), "weight ", weight.sizes(), " for ",
            self.size(classes), " classes");
  each_or_one(each, reduction, targets);
  SIM_CHECK(total.numel() == 1, "totalWeight of one number expected, got ", total.sizes());
}

void write_nll(const at::Tensor& out, const at::Tensor& total, const kernels::Nll& result) {
  write(out, result.loss);
  if (total.defined()) total.copy_(result.total_weight.reshape(total.sizes()));
}

void no_z_loss(double z_scale, bool asked) { SIM_CHECK(z_scale == 0 && !asked, "the z loss is not simulated"); }

// The loss, or its gradient.
void cross_entropy_like(const at::Tensor& target, const std::string& reduction, const at::Tensor& loss) {
  each_or_one(loss, reduction_of(reduction), target.sizes());
}

// A row of log_alpha is padded to 32 bytes, or is not.
void ctc_like(const kernels::CtcPaths& of, const at::Tensor& loss, const at::Tensor& log_alpha) {
  kernels::paths_fit(of);
  const int64_t batch = kernels::batch_of_paths(of), states = 2 * kernels::longest_label(of) + 1;
  of.log_probs.dim() == 3 ? shape(loss, {batch}) : one_element(loss);
  SIM_CHECK(log_alpha.dim() == 3, "logAlphaOut (N, T, states) expected, got ", log_alpha.sizes());
  shape(log_alpha, {batch, of.log_probs.size(0), log_alpha.size(2) == states ? states : (states + 7) / 8 * 8});
}

void margin_like(const at::Tensor& self, const at::Tensor& target, int64_t reduction, const at::Tensor& out,
                 const at::Tensor& is_target) {
  SIM_CHECK(self.dim() <= 2, "self (N, C) or (C) expected, got ", self.sizes());
  if (self.dim() == 2) like(target, self);
  else
    SIM_CHECK(target.dim() <= 1 && target.numel() == self.numel(), "a target ", target.sizes(), " for ", self.sizes());
  each_or_one(out, reduction, self.dim() ? outer_sizes(self) : self.sizes());
  asked({is_target}, target.sizes());
}

// With a weight, which is that of each, all have one data type.
void weighted_alike(const at::Tensor& self, const at::Tensor& target, const at::Tensor& weight, const at::Tensor& out) {
  if (!weight.defined()) return;
  same_dtype({self, target, weight, out});
  if (self.numel()) like(weight, self);
}

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

// The gradient of the loss broadcasts as the operands do.
void gradient_like(const at::Tensor& out, const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target,
                   int64_t reduction) {
  known_reduction(reduction);
  broadcast(out, {grad, self, target});
}

void write_loss(const at::Tensor& loss, const at::Tensor& gradient, const kernels::LossAndGradient& result) {
  write(loss, result.loss.reshape(loss.sizes()));
  write(gradient, result.gradient);
}

}  // namespace

ACLNN(MseLoss, (In, self, In, target, int64_t, reduction, Out, out), known_loss(out, self, target, reduction),
      write(out, kernels::mse(self, target, reduction)))
ACLNN(MseLossOut, (In, self, In, target, int64_t, reduction, Out, out),
      (known_reduction(reduction), shape(out, kernels::sizes_of_first(self, target, reduction))),
      write(out, kernels::mse_of_first(self, target, reduction)))
ACLNN(L1Loss, (In, self, In, target, int64_t, reduction, Out, out),
      (kept(out, self), kept(out, target), known_loss(out, self, target, reduction)),
      write(out, at::l1_loss(wide(self), wide(target), reduction)))
ACLNN(SmoothL1Loss, (In, self, In, target, int64_t, reduction, float, beta, Out, out),
      known_loss(out, self, target, reduction),
      write(out, at::smooth_l1_loss(wide(self), wide(target), reduction, beta)))
ACLNN(SoftMarginLoss, (In, self, In, target, int64_t, reduction, Out, out), loss_shape(out, self, target, reduction),
      write(out, kernels::soft_margin(self, target, reduction)))
ACLNN(KlDiv, (In, self, In, target, int64_t, reduction, bool, log_target, Out, out),
      loss_shape(out, self, target, reduction), write(out, kernels::kl(self, target, reduction, log_target)))
ACLNN(BinaryCrossEntropy, (In, self, In, target, In, weight, int64_t, reduction, Out, out),
      (loss_shape(out, self, target, reduction), weighted_alike(self, target, weight, out)),
      write(out, kernels::bce(self, target, weight, reduction)))
ACLNN(BinaryCrossEntropyWithLogits, (In, self, In, target, In, weight, In, pos_weight, int64_t, reduction, Out, out),
      (loss_shape(out, self, target, reduction), weights_into(target, {weight, pos_weight})),
      write(out, kernels::bce_logits(self, target, weight, pos_weight, reduction)))
#define NLL(Op)                                                                                                  \
  ACLNN(Op, (In, self, In, target, In, weight, int64_t, reduction, int64_t, ignored, Out, out, Out, total),      \
        nll_like(self, target, weight, reduction, out, total),                                                   \
        write_nll(out, total, kernels::nll(self, target, weight, reduction, ignored)))                           \
  ACLNN(Op##Backward,                                                                                            \
        (In, grad, In, self, In, target, In, weight, int64_t, reduction, int64_t, ignored, In, total, Out, out), \
        nll_like(self, target, weight, reduction, grad, total),                                                  \
        write(out, kernels::nll_backward(grad, self, target, weight, reduction, ignored, total)))
NLL(NLLLoss)
NLL(NLLLoss2d)
ACLNN(CrossEntropyLoss,
      (In, self, In, target, In, weight, Text, reduction, int64_t, ignored, double, smoothing, double, z_scale, bool,
       return_z, Out, loss, Out, log_prob, Out, z_loss, Out, lse),
      (kept(loss, self), no_z_loss(z_scale, return_z), cross_entropy_like(target, reduction, loss)),
      write_cross_entropy(loss, log_prob,
                          kernels::cross_entropy(self, target, weight, reduction_of(reduction), ignored, smoothing)))
#define PATHS {NAMED(log_probs, targets, inputs, labels, blank, zero_infinity)}
ACLNN(CtcLoss,
      (In, log_probs, In, targets, Ints, inputs, Ints, labels, int64_t, blank, bool, zero_infinity, Out, loss, Out,
       log_alpha),
      ctc_like(PATHS, loss, log_alpha),
      // the device keeps log_alpha padded to 32 bytes a row
      write_ctc(loss, log_alpha, kernels::ctc(PATHS, log_alpha.size(2))))
ACLNN(MultilabelMarginLoss, (In, self, In, target, int64_t, reduction, Out, out, Out, is_target),
      margin_like(self, target, reduction, out, is_target),
      write_margin(out, is_target, kernels::multilabel_margin(self, target, reduction)))

// backward
#define LOSS_BACKWARD(Op, fn)                                               \
  ACLNN(Op, (In, grad, In, self, In, target, int64_t, reduction, Out, out), \
        gradient_like(out, grad, self, target, reduction),                  \
        write(out, fn(grad, self.expand_as(out), target.expand_as(out), reduction)))
LOSS_BACKWARD(MseLossBackward, kernels::mse_backward)
LOSS_BACKWARD(L1LossBackward, kernels::l1_backward)
LOSS_BACKWARD(SoftMarginLossBackward, at::soft_margin_loss_backward)
ACLNN(SmoothL1LossBackward, (In, grad, In, self, In, target, int64_t, reduction, float, beta, Out, out),
      gradient_like(out, grad, self, target, reduction),
      write(out, at::smooth_l1_loss_backward(grad, self.expand_as(out), target.expand_as(out), reduction, beta)))
ACLNN(KlDivBackward, (In, grad, In, self, In, target, int64_t, reduction, bool, log_target, Out, out),
      (kernels::divergence_like(grad, self, target), like(out, self)),
      write(out, kernels::kl_backward(grad, self, target, reduction, log_target)))
ACLNN(KlDivTargetBackward, (In, grad, In, self, In, target, int64_t, reduction, bool, log_target, Out, out),
      (kernels::divergence_like(grad, self, target), like(out, target)),
      write(out, kernels::kl_target_backward(grad, self, target, reduction, log_target)))
ACLNN(BinaryCrossEntropyBackward, (In, grad, In, self, In, target, In, weight, int64_t, reduction, Out, out),
      weights_into(self, {grad, target, weight}),
      if (out.numel()) write(out, kernels::bce_backward(grad, self, target, weight, reduction)))
ACLNN(BinaryCrossEntropyWithLogitsBackward,
      (In, grad, In, self, In, target, In, weight, In, pos_weight, int64_t, reduction, Out, out),
      weights_into(self, {grad, weight, pos_weight}),
      if (out.numel()) write(out, kernels::bce_logits_backward(grad, self, target, weight, pos_weight, reduction)))
ACLNN(BinaryCrossEntropyWithLogitsTargetBackward,
      (In, grad, In, self, In, target, In, weight, In, pos_weight, int64_t, reduction, Out, out),
      SIM_CHECK(reduction >= 0 && reduction <= 2, "reduction ", reduction, "; allowed: 0 to 2");
      like(target, self); like(out, self);
      weights_into(self, {grad, weight, pos_weight}),
      if (out.numel()) write(out, kernels::bce_logits_target_backward(grad, self, weight, pos_weight, reduction)))
ACLNN(CrossEntropyLossGrad,
      (In, grad, In, log_prob, In, target, In, weight, In, grad_z, In, lse, Text, reduction, int64_t, ignored, double,
       smoothing, double, z_scale, Out, out),
      (no_z_loss(z_scale, grad_z.defined()), cross_entropy_like(target, reduction, grad)),
      write(out, kernels::cross_entropy_backward(grad, log_prob, target, weight, reduction_of(reduction), ignored,
                                                 smoothing)))
ACLNN(CtcLossBackward,
      (In, grad, In, log_probs, In, targets, Ints, inputs, Ints, labels, In, loss, In, log_alpha, int64_t, blank, bool,
       zero_infinity, Out, out),
      kernels::paths_fit(PATHS, grad, {NAMED(loss, log_alpha)}),
      write(out, kernels::ctc_backward(grad, PATHS, {NAMED(loss, log_alpha)})))
ACLNN(SoftmaxCrossEntropyWithLogits, (In, features, In, labels, Out, loss, Out, gradient),
      sim::quant::by_row(loss, features), write_loss(loss, gradient, kernels::softmax_cross_entropy(features, labels)))
