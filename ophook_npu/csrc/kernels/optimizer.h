// Steps of optimizers, in float whatever the parameters' type.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

struct AdamW {
  double rate, beta1, beta2, decay, eps;
  double power1 = 0, power2 = 0;  // beta1 and beta2 to the number of this step, where they are told
  bool maximize = false;
};
struct AdamWState {
  at::Tensor parameter, average, square, largest = {};  // `largest` is undefined without amsgrad
};
AdamWState adamw(const AdamWState& before, const at::Tensor& grad, const AdamW& how);

// The first form of Adam, whose bias correction is part of the rate; `power1` and `power2` as above.
AdamWState adam(const AdamWState& before, const at::Tensor& grad, const AdamW& how, bool nesterov);
// The numbers of a step as tensors of one element each.
struct AdamNumbers {
  at::Tensor rate, beta1, beta2, decay = {}, eps, power1 = {}, power2 = {};
};
AdamW told(const AdamNumbers& numbers);  // 0 for what is undefined
void adam_like(const AdamWState& state, const at::Tensor& grad, const AdamNumbers& numbers);
// Both write parameter, average and square. The first form's powers are those to the number of this step.
void adam_step(const AdamWState& state, const at::Tensor& grad, const AdamNumbers& numbers, bool nesterov);
// The powers are those before this step; what `largest` and the square have in common, the larger, goes to the square.
void adamw_step(const AdamWState& state, const at::Tensor& grad, const AdamNumbers& numbers, bool maximize);
// Without bias correction, as BERT is trained: the step at `rate`, the decay at that of `how`.
AdamWState bert_adam(const AdamWState& before, const at::Tensor& grad, const AdamW& how, double rate);

// ---- whole steps, which write into what they are given ----
void check_and_unscale(const Tensors& grads, const at::Tensor& found, const at::Tensor& inverse_scale);
struct LossScale {
  at::Tensor scale, tracker;
};
void update_scale(const LossScale& before, const at::Tensor& found, double growth, double backoff, int64_t interval,
                  const LossScale& after);
void adamw_step(const AdamWState& state, const at::Tensor& grad, const at::Tensor& step, AdamW how);
struct Sgd {
  float decay, momentum, rate, dampening;
  bool nesterov = false, maximize = false, first = false;  // first: the buffers hold nothing yet
};
struct SgdLists {
  Tensors parameters, grads, buffers;
  at::Tensor grad_scale;
};
void sgd_like(const SgdLists& of, const Sgd& how);
void sgd(const SgdLists& of, const Sgd& how);
struct AdamWLists {
  Tensors parameters, grads, averages, squares, largest, steps;
  at::Tensor grad_scale, found;
};
void fused_adamw(const AdamWLists& of, const AdamW& how, bool amsgrad);
// As torch's: the decay is part of the gradient, which is divided by `grad_scale` in place.
void fused_adam(const AdamWLists& of, const AdamW& how, bool amsgrad);
void fused_adamw_like(const AdamWLists& of, bool amsgrad);
void ema_adam(const AdamWState& state, const at::Tensor& grad, const at::Tensor& slow, const at::Tensor& step,
              const AdamW& how, double slow_decay, int64_t mode, bool correct);

// Moments of 8 bits: indices into maps of 256 numbers that ascend, and a scale for each block of elements.
struct QuantizedMoment {
  at::Tensor index, map, scale;
};
struct QuantizedState {
  at::Tensor parameter;
  QuantizedMoment average, square;
  int64_t block;
};
void quantized_moments_like(const QuantizedState& state, const at::Tensor& grad);
// The step is the `count`-th; the gradient is multiplied by `grad_scale` first.
void adamw_quantized(const QuantizedState& state, const at::Tensor& grad, const at::Tensor& count, AdamW how,
                     double grad_scale);

}  // namespace sim::kernels
