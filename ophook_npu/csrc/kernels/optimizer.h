// Steps of optimizers, in float whatever the parameters' type.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

struct AdamW {
  double rate, beta1, beta2, decay, eps;
  double power1, power2;  // beta1 and beta2 to the number of this step
  bool maximize = false;
};
struct AdamWState {
  at::Tensor parameter, average, square, largest;  // `largest` is undefined without amsgrad
};
AdamWState adamw(const AdamWState& before, const at::Tensor& grad, const AdamW& how);

// The first form of Adam, whose bias correction is part of the rate; `power1` and `power2` as above.
AdamWState adam(const AdamWState& before, const at::Tensor& grad, const AdamW& how, bool nesterov);
// The numbers of a step as tensors of one element each; `decay` may be undefined.
struct AdamNumbers {
  at::Tensor rate, beta1, beta2, decay, eps, power1, power2;
};
void adam_like(const AdamWState& state, const at::Tensor& grad, const AdamNumbers& numbers);
// Both write parameter, average and square. The first form's powers are those to the number of this step.
void adam_step(const AdamWState& state, const at::Tensor& grad, const AdamNumbers& numbers, bool nesterov);
// The powers are those before this step; what `largest` and the square have in common, the larger, goes to the square.
void adamw_step(const AdamWState& state, const at::Tensor& grad, const AdamNumbers& numbers, bool maximize);
// Without bias correction, as BERT is trained: the step at `rate`, the decay at that of `how`.
AdamWState bert_adam(const AdamWState& before, const at::Tensor& grad, const AdamW& how, double rate);

// ---- whole steps, which write into what they are given ----
void check_and_unscale(const Tensors& grads, const at::Tensor& found, const at::Tensor& inverse_scale);
void update_scale(const at::Tensor& scale, const at::Tensor& tracker, const at::Tensor& found, double growth,
                  double backoff, int64_t interval, const at::Tensor& scale_out, const at::Tensor& tracker_out);
void adamw_step(const at::Tensor& parameter, const at::Tensor& average, const at::Tensor& square,
                const at::Tensor& largest, const at::Tensor& grad, const at::Tensor& step, float rate, float beta1,
                float beta2, float decay, float eps, bool amsgrad, bool maximize);
void sgd_like(const Tensors& parameters, const Tensors& grads, const Tensors& buffers,
              std::initializer_list<float> positive);
void sgd(const Tensors& parameters, const Tensors& grads, const Tensors& buffers, const at::Tensor& grad_scale,
         float decay, float momentum, float rate, float dampening, bool nesterov, bool maximize, bool first);
void fused_adamw(const Tensors& parameters, const Tensors& grads, const Tensors& averages, const Tensors& squares,
                 const Tensors& largest, const Tensors& steps, const at::Tensor& grad_scale, const at::Tensor& found,
                 const AdamW& how, bool amsgrad);
// As torch's: the decay is part of the gradient, which is divided by `grad_scale` in place.
void fused_adam(const Tensors& parameters, const Tensors& grads, const Tensors& averages, const Tensors& squares,
                const Tensors& largest, const Tensors& steps, const at::Tensor& grad_scale, const at::Tensor& found,
                const AdamW& how, bool amsgrad);
void fused_adamw_like(const Tensors& parameters, std::initializer_list<Tensors> others, const Tensors& largest,
                      const Tensors& steps, bool amsgrad);
void ema_adam(const at::Tensor& grad, const at::Tensor& parameter, const at::Tensor& average, const at::Tensor& square,
              const at::Tensor& slow, const at::Tensor& step, const AdamW& how, double slow_decay, int64_t mode,
              bool correct);

// Moments of 8 bits: indices into maps of 256 numbers that ascend, and a scale for each block of elements.
struct QuantizedMoment {
  at::Tensor index, map, scale;
};
void quantized_moments_like(const at::Tensor& parameter, const at::Tensor& grad, const QuantizedMoment& average,
                            const QuantizedMoment& square, int64_t block);
// The step is the `count`-th; the gradient is multiplied by `grad_scale` first.
void adamw_quantized(const at::Tensor& parameter, const at::Tensor& grad, const QuantizedMoment& average,
                     const QuantizedMoment& square, const at::Tensor& count, AdamW how, double grad_scale,
                     int64_t block);

}  // namespace sim::kernels
