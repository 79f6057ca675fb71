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
      kernels::update_scale({NAMED(scale, tracker)}, found, growth, backoff, interval,
                            {.scale = scale_out, .tracker = tracker_out}))
#define STATE NAMED(parameter, average, square)
#define ADAMW NAMED(rate, beta1, beta2, decay, eps)
ACLNN(ApplyAdamWV2,
      (Ref, parameter, Ref, average, Ref, square, Ref, largest, In, grad, In, step, float, rate, float, beta1, float,
       beta2, float, decay, float, eps, bool, amsgrad, bool, maximize),
      (like(grad, parameter), like(average, parameter), like(square, parameter), a_number("step", step)),
      kernels::adamw_step({STATE, .largest = amsgrad ? largest : at::Tensor()}, grad, step, {ADAMW, NAMED(maximize)}))
ACLNN(FusedSgd,
      (List, parameters, List, grads, List, buffers, In, grad_scale, float, decay, float, momentum, float, rate, float,
       dampening, bool, nesterov, bool, maximize, bool, first),
      kernels::sgd_like({NAMED(parameters, grads, buffers, grad_scale)}, {NAMED(decay, momentum, rate, dampening)}),
      kernels::sgd({NAMED(parameters, grads, buffers, grad_scale)},
                   {NAMED(decay, momentum, rate, dampening, nesterov, maximize, first)}))
#define LISTS {NAMED(parameters, grads, averages, squares, largest, steps, grad_scale, found)}
#define FUSED_ADAM(Op, step)                                                                                          \
  ACLNN(                                                                                                              \
      Op,                                                                                                             \
      (List, parameters, List, grads, List, averages, List, squares, List, largest, List, steps, In, grad_scale, In,  \
       found, double, rate, double, beta1, double, beta2, double, decay, double, eps, bool, amsgrad, bool, maximize), \
      kernels::fused_adamw_like(LISTS, amsgrad), kernels::step(LISTS, {ADAMW, NAMED(maximize)}, amsgrad))
FUSED_ADAM(FusedAdamw, fused_adamw)
// It has no page: the order of its parameters is FusedAdamw's, which torch's two operators have in common as well.
FUSED_ADAM(FusedAdam, fused_adam)
// The page has m and v as inputs; the operator's prototype says that both are updated, and torch_npu returns them.
ACLNN(ApplyAdam,
      (Ref, parameter, Ref, average, Ref, square, In, power1, In, power2, In, rate, In, beta1, In, beta2, In, eps, In,
       grad, bool, locking, bool, nesterov),
      kernels::adam_like({STATE}, grad, {NAMED(rate, beta1, beta2, eps, power1, power2)}),
      kernels::adam_step({STATE}, grad, {NAMED(rate, beta1, beta2, eps, power1, power2)}, nesterov))
ACLNN(ApplyAdamW,
      (Ref, parameter, Ref, average, Ref, square, In, power1, In, power2, In, rate, In, decay, In, beta1, In, beta2, In,
       eps, In, grad, In, largest, bool, amsgrad, bool, maximize),
      SIM_NEEDED(!amsgrad || largest.defined(), "amsgrad needs maxGradNormOptional");
      kernels::adam_like({STATE, .largest = amsgrad ? largest : at::Tensor()}, grad, {ADAMW, NAMED(power1, power2)}),
      kernels::adamw_step({STATE, .largest = amsgrad ? largest : at::Tensor()}, grad, {ADAMW, NAMED(power1, power2)},
                          maximize))
ACLNN(ApplyFusedEmaAdam,
      (In, grad, Ref, parameter, Ref, average, Ref, square, Ref, slow, In, step, double, rate, double, slow_decay,
       double, beta1, double, beta2, double, eps, int64_t, mode, bool, correct, double, decay),
      like(grad, parameter);
      like(average, parameter); like(square, parameter); like(slow, parameter); a_number("step", step);
      SIM_CHECK(mode == 0 || mode == 1, "mode ", mode, "; allowed: 0, 1"),
      kernels::ema_adam({STATE}, grad, slow, step, {ADAMW}, slow_decay, mode, correct))
#define MOMENT(name) .name = {.index = name, .map = name##_map, .scale = name##_scale}
#define QUANTIZED_STATE {NAMED(parameter), MOMENT(average), MOMENT(square), NAMED(block)}
ACLNN(ApplyAdamWQuant,
      (Ref, parameter, In, grad, Ref, average, Ref, square, In, average_map, In, square_map, Ref, average_scale, Ref,
       square_scale, In, count, double, rate, double, beta1, double, beta2, double, decay, double, eps, double,
       grad_scale, Text, mode, int64_t, block),
      (kernels::quantized_moments_like(QUANTIZED_STATE, grad), a_number("step", count)),
      kernels::adamw_quantized(QUANTIZED_STATE, grad, count, {ADAMW}, grad_scale))
