// Optimizer steps and mixed-precision loss scaling.
#include "kernels/needed.h"
#include "kernels/optimizer.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;

ACLNN(ForeachNonFiniteCheckAndUnscale, (List, grads, Ref, found, In, inverse_scale),
      SIM_CHECK(found.numel() == 1 && inverse_scale.numel() == 1, "found_inf and inverse_scale have one element each"),
      kernels::check_and_unscale(grads, found, inverse_scale))
ACLNN(AmpUpdateScale,
      (In, scale, In, tracker, In, found, double, growth, double, backoff, int64_t, interval, Out, scale_out, Out,
       tracker_out),
      SIM_CHECK(scale.numel() == 1 && tracker.numel() == 1 && found.numel() == 1 && scale_out.numel() == 1 &&
                    tracker_out.numel() == 1,
                "scale, tracker and found_inf have one element each"),
      kernels::update_scale(scale, tracker, found, growth, backoff, interval, scale_out, tracker_out))
ACLNN(ApplyAdamWV2,
      (Ref, parameter, Ref, average, Ref, square, Ref, largest, In, grad, In, step, float, rate, float, beta1, float,
       beta2, float, decay, float, eps, bool, amsgrad, bool, maximize),
      (like(grad, parameter), like(average, parameter), like(square, parameter)),
      kernels::adamw_step(parameter, average, square, largest, grad, step, rate, beta1, beta2, decay, eps, amsgrad,
                          maximize))
ACLNN(FusedSgd,
      (List, parameters, List, grads, List, buffers, In, grad_scale, float, decay, float, momentum, float, rate, float,
       dampening, bool, nesterov, bool, maximize, bool, first),
      kernels::sgd_like(parameters, grads, buffers, {decay, momentum, rate, dampening}),
      kernels::sgd(parameters, grads, buffers, grad_scale, decay, momentum, rate, dampening, nesterov, maximize, first))
ACLNN(FusedAdamw,
      (List, parameters, List, grads, List, averages, List, squares, List, largest, List, steps, In, grad_scale, In,
       found, double, rate, double, beta1, double, beta2, double, decay, double, eps, bool, amsgrad, bool, maximize),
      kernels::fused_adamw_like(parameters, {grads, averages, squares}, largest, steps, amsgrad);
      SIM_CHECK(rate >= 0 && beta1 >= 0 && beta2 >= 0 && decay >= 0, "lr ", rate, ", beta1 ", beta1, ", beta2 ", beta2,
                " and weightDecay ", decay, "; allowed: 0 and more"),
      kernels::fused_adamw(parameters, grads, averages, squares, largest, steps, grad_scale, found,
                           {rate, beta1, beta2, decay, eps, 0, 0, maximize}, amsgrad))
// It has no page: the order of its parameters is FusedAdamw's, which torch's two operators have in common as well.
ACLNN(FusedAdam,
      (List, parameters, List, grads, List, averages, List, squares, List, largest, List, steps, In, grad_scale, In,
       found, double, rate, double, beta1, double, beta2, double, decay, double, eps, bool, amsgrad, bool, maximize),
      kernels::fused_adamw_like(parameters, {grads, averages, squares}, largest, steps, amsgrad),
      kernels::fused_adam(parameters, grads, averages, squares, largest, steps, grad_scale, found,
                          {rate, beta1, beta2, decay, eps, 0, 0, maximize}, amsgrad))
// The page has m and v as inputs; the operator's prototype says that both are updated, and torch_npu returns them.
ACLNN(ApplyAdam,
      (Ref, parameter, Ref, average, Ref, square, In, power1, In, power2, In, rate, In, beta1, In, beta2, In, eps, In,
       grad, bool, locking, bool, nesterov),
      kernels::adam_like({parameter, average, square, {}}, grad, {rate, beta1, beta2, {}, eps, power1, power2}),
      kernels::adam_step({parameter, average, square, {}}, grad, {rate, beta1, beta2, {}, eps, power1, power2},
                         nesterov))
ACLNN(ApplyAdamW,
      (Ref, parameter, Ref, average, Ref, square, In, power1, In, power2, In, rate, In, decay, In, beta1, In, beta2, In,
       eps, In, grad, In, largest, bool, amsgrad, bool, maximize),
      SIM_NEEDED(!amsgrad || largest.defined(), "amsgrad needs maxGradNormOptional");
      kernels::adam_like({parameter, average, square, amsgrad ? largest : at::Tensor()}, grad,
                         {rate, beta1, beta2, decay, eps, power1, power2}),
      kernels::adamw_step({parameter, average, square, amsgrad ? largest : at::Tensor()}, grad,
                          {rate, beta1, beta2, decay, eps, power1, power2}, maximize))
ACLNN(ApplyFusedEmaAdam,
      (In, grad, Ref, parameter, Ref, average, Ref, square, Ref, slow, In, step, double, rate, double, slow_decay,
       double, beta1, double, beta2, double, eps, int64_t, mode, bool, correct, double, decay),
      like(grad, parameter);
      like(average, parameter); like(square, parameter); like(slow, parameter);
      SIM_CHECK(mode == 0 || mode == 1, "mode ", mode, "; allowed: 0, 1"),
      kernels::ema_adam(grad, parameter, average, square, slow, step, {rate, beta1, beta2, decay, eps, 0, 0},
                        slow_decay, mode, correct))
ACLNN(ApplyAdamWQuant,
      (Ref, parameter, In, grad, Ref, average, Ref, square, In, average_map, In, square_map, Ref, average_scale, Ref,
       square_scale, In, count, double, rate, double, beta1, double, beta2, double, decay, double, eps, double,
       grad_scale, Text, mode, int64_t, block),
      kernels::quantized_moments_like(parameter, grad, {average, average_map, average_scale},
                                      {square, square_map, square_scale}, block),
      kernels::adamw_quantized(parameter, grad, {average, average_map, average_scale},
                               {square, square_map, square_scale}, count, {rate, beta1, beta2, decay, eps, 0, 0},
                               grad_scale, block))
