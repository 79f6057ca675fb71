// Optimizer steps and mixed-precision loss scaling.
#include "kernels/optimizer.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

// A gradient that is not finite leaves 1 in found; all are unscaled.
void check_and_unscale(const Tensors& grads, const at::Tensor& found, const at::Tensor& inverse_scale) {
  for (const at::Tensor& grad : grads) {
    if (!at::isfinite(grad).all().item<bool>()) found.fill_(1);
    grad.copy_(at::mul(wide(grad), inverse_scale.reshape({})));
  }
}

// scale and tracker come twice, as input and as output.
void update_scale(const at::Tensor& scale, const at::Tensor& tracker, const at::Tensor& found, double growth,
                  double backoff, int64_t interval, const at::Tensor& scale_out, const at::Tensor& tracker_out) {
  const double now = scale.item<double>();
  const int64_t successes = found.item<double>() ? 0 : tracker.item<int64_t>() + 1;
  double next = found.item<double>() ? now * backoff : now;
  if (successes == interval && std::isfinite(float(now * growth))) next = now * growth;
  scale_out.fill_(next);
  tracker_out.fill_(successes == interval ? 0 : successes);
}

// step: how many steps were made before this one
void adamw(const at::Tensor& parameter, const at::Tensor& average, const at::Tensor& square, const at::Tensor& largest,
           const at::Tensor& grad, const at::Tensor& step, float rate, float beta1, float beta2, float decay, float eps,
           bool amsgrad, bool maximize) {
  const double count = step.item<double>() + 1;
  const auto after = kernels::adamw(
      {parameter, average, square, amsgrad ? largest : at::Tensor()}, grad,
      {rate, beta1, beta2, decay, eps, std::pow(double(beta1), count), std::pow(double(beta2), count), maximize});
  parameter.copy_(after.parameter);
  average.copy_(after.average);
  square.copy_(after.square);
  if (amsgrad) largest.copy_(after.largest);
}

void sgd(const Tensors& parameters, const Tensors& grads, const Tensors& buffers, const at::Tensor& grad_scale,
         float decay, float momentum, float rate, float dampening, bool nesterov, bool maximize, bool first) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    auto slope = wide(grads[i]);
    if (grad_scale.defined()) {
      slope = at::div(slope, grad_scale.reshape({}));
      grads[i].copy_(slope);
    }
    if (maximize) slope = at::neg(slope);
    if (decay != 0) slope = at::add(slope, wide(parameters[i]), decay);
    if (momentum != 0 && i < buffers.size()) {
      auto speed = first ? slope : at::add(at::mul(wide(buffers[i]), momentum), slope, 1 - dampening);
      buffers[i].copy_(speed);
      slope = nesterov ? at::add(slope, speed, momentum) : speed;
    }
    parameters[i].copy_(at::sub(wide(parameters[i]), slope, rate));
  }
}

}  // namespace

ACLNN(ForeachNonFiniteCheckAndUnscale, (List, grads, Ref, found, In, inverse_scale),
      SIM_CHECK(found.numel() == 1 && inverse_scale.numel() == 1, "found_inf and inverse_scale have one element each"),
      check_and_unscale(grads, found, inverse_scale))
ACLNN(AmpUpdateScale,
      (In, scale, In, tracker, In, found, double, growth, double, backoff, int64_t, interval, Out, scale_out, Out,
       tracker_out),
      SIM_CHECK(scale.numel() == 1 && tracker.numel() == 1 && found.numel() == 1,
                "scale, tracker and found_inf have one element each"),
      update_scale(scale, tracker, found, growth, backoff, interval, scale_out, tracker_out))
ACLNN(ApplyAdamWV2,
      (Ref, parameter, Ref, average, Ref, square, Ref, largest, In, grad, In, step, float, rate, float, beta1, float,
       beta2, float, decay, float, eps, bool, amsgrad, bool, maximize),
      (like(grad, parameter), like(average, parameter), like(square, parameter)),
      adamw(parameter, average, square, largest, grad, step, rate, beta1, beta2, decay, eps, amsgrad, maximize))
ACLNN(FusedSgd,
      (List, parameters, List, grads, List, buffers, In, grad_scale, float, decay, float, momentum, float, rate, float,
       dampening, bool, nesterov, bool, maximize, bool, first),
      SIM_CHECK(parameters.size() == grads.size(), "the lists differ in length"),
      sgd(parameters, grads, buffers, grad_scale, decay, momentum, rate, dampening, nesterov, maximize, first))
