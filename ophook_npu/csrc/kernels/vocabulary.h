// Cross entropy over a vocabulary that is sliced over devices, fused with the product that makes the logits: each
// device has the logits (batch, slice) of its slice; between the first two operators the caller reduces over the
// devices.
#pragma once

#include "kernels/tensors.h"

namespace sim::vocabulary {

void multiplies(const at::Tensor& input, const at::Tensor& weight);
void no_smoothing(double smoothing);
void indices(int64_t first, int64_t last);
struct Saved {
  at::Tensor mask, masked_target, max, sum, softmax;
};
void enough_saved(const Saved& by, int64_t batch);
struct Targets {
  at::Tensor input, weight, target;
};
struct MaxSum {
  at::Tensor max, sum, predicted, mask, masked_target, logits;
};
void max_sum_like(const Targets& of, const MaxSum& to);
void max_sum(const Targets& of, int64_t first, int64_t last, const MaxSum& to);
at::Tensor cross_entropy(const at::Tensor& sum, const at::Tensor& predicted);
at::Tensor probabilities(const at::Tensor& logits, const at::Tensor& max, const at::Tensor& sum);
void loss_grad(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight, const Saved& by,
               const at::Tensor& input_grad, const at::Tensor& weight_grad);

// Of logits (…, slice) less the largest of all devices: that of the target, the sum of the exponentials and these, the
// target's place in the slice and whether it lies outside, which makes the first and the fourth 0.
void slice_like(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& max, int64_t first, int64_t last,
                std::initializer_list<at::Tensor> outs);
Tensors of_slice(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& max, int64_t first,
                 int64_t last);

}  // namespace sim::vocabulary
