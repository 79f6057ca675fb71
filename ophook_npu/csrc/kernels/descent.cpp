#include "kernels/descent.h"

namespace sim::kernels {

Tensors momentum_step(const Tensors& x, const at::Tensor& grad, const Momentum& how) {
  const at::Tensor slope = wide(grad), kept = wide(x[1]) * how.momentum + slope;
  const at::Tensor direction = how.nesterov ? slope + kept * how.momentum : kept;
  return {wide(x[0]) - direction * how.rate, kept};
}

Tensors keras_momentum_step(const Tensors& x, const at::Tensor& grad, const Momentum& how) {
  const at::Tensor slope = wide(grad) * how.rate, kept = wide(x[1]) * how.momentum - slope;
  return {wide(x[0]) + (how.nesterov ? kept * how.momentum - slope : kept), kept};
}

Tensors damped_step(const Tensors& x, const at::Tensor& grad, const Momentum& how, double dampening, double decay) {
  const at::Tensor slope = wide(grad) + wide(x[0]) * decay;
  const at::Tensor kept = wide(x[1]) * how.momentum + slope - slope * (1 - wide(x[2])) * dampening;
  const at::Tensor direction = how.nesterov ? slope + kept * how.momentum : kept;
  return {wide(x[0]) - direction * how.rate, kept, at::zeros_like(x[2])};
}

at::Tensor gradient_of_product(const at::Tensor& x, const at::Tensor& y) { return wide(x) * wide(y); }

static at::Tensor averaged(const at::Tensor& old, const at::Tensor& added, double rho) {
  return wide(old) * rho + added * (1 - rho);
}

Tensors rms_step(const Tensors& x, const at::Tensor& grad, const Rms& how) {
  const at::Tensor slope = wide(grad), squares = averaged(x[1], slope.square(), how.rho);
  const at::Tensor kept = wide(x[2]) * how.momentum + slope * how.rate / (squares + how.eps).sqrt();
  return {wide(x[0]) - kept, squares, kept};
}

Tensors centered_rms_step(const Tensors& x, const at::Tensor& grad, const Rms& how) {
  const at::Tensor slope = wide(grad), averages = averaged(x[1], slope, how.rho);
  const at::Tensor squares = averaged(x[2], slope.square(), how.rho);
  const at::Tensor size = (squares - averages.square() + how.eps).sqrt();
  const at::Tensor kept = wide(x[3]) * how.momentum + slope * how.rate / size;
  return {wide(x[0]) - kept, averages, squares, kept};
}

Tensors adadelta_step(const Tensors& x, const at::Tensor& grad, const Rms& how) {
  const at::Tensor slope = wide(grad), squares = averaged(x[1], slope.square(), how.rho);
  const at::Tensor step = (wide(x[2]) + how.eps).sqrt() / (squares + how.eps).sqrt() * slope;
  return {wide(x[0]) - step * how.rate, squares, averaged(x[2], step.square(), how.rho)};
}

Tensors adagrad_step(const Tensors& x, const at::Tensor& grad, double rate, double eps, bool sums) {
  const at::Tensor slope = wide(grad), squares = sums ? wide(x[1]) + slope.square() : wide(x[1]);
  return {wide(x[0]) - slope * rate / (squares.sqrt() + eps), squares};
}

static at::Tensor towards_zero(const at::Tensor& x, const at::Tensor& by) {
  return x.sign() * (x.abs() - by).clamp_min(0);
}

// From where a step led, at rates that may differ.
static at::Tensor proximal(const at::Tensor& x, const at::Tensor& rates, const Proximal& how) {
  return (how.l1 > 0 ? towards_zero(x, rates * how.l1) : x) / (1 + rates * how.l2);
}

Tensors proximal_step(const Tensors& x, const at::Tensor& grad, const Proximal& how) {
  return {proximal(wide(x[0]) - wide(grad) * how.rate, at::full({}, how.rate, at::kFloat), how)};
}

Tensors proximal_adagrad_step(const Tensors& x, const at::Tensor& grad, const Proximal& how) {
  const at::Tensor slope = wide(grad), squares = wide(x[1]) + slope.square(), rates = how.rate / squares.sqrt();
  return {proximal(wide(x[0]) - slope * rates, rates, how), squares};
}

Tensors dual_averaging_step(const Tensors& x, const at::Tensor& grad, const Proximal& how) {
  const at::Tensor slope = wide(grad), sums = wide(x[1]) + slope, squares = wide(x[2]) + slope.square();
  const at::Tensor rest = how.l1 > 0 ? towards_zero(sums, at::full({}, how.l1 * how.steps, at::kFloat)) : sums;
  return {rest * -how.rate / (squares.sqrt() + how.l2 * how.steps * how.rate), sums, squares};
}

Tensors ftrl_step(const Tensors& x, const at::Tensor& grad, const Proximal& how) {
  const at::Tensor before = wide(x[0]), slope = wide(grad), squares = wide(x[1]) + slope.square();
  const at::Tensor size = squares.pow(-how.power), shrunk = slope + before * (2 * how.shrinkage);
  const at::Tensor linear = wide(x[2]) + shrunk - (size - wide(x[1]).pow(-how.power)) / how.rate * before;
  const at::Tensor after = -towards_zero(linear, at::full({}, how.l1, at::kFloat)) / (size / how.rate + 2 * how.l2);
  return {after, squares, linear};
}

Tensors amsgrad_step(const Tensors& x, const at::Tensor& grad, const Averages& how) {
  const at::Tensor slope = wide(grad), averages = averaged(x[1], slope, how.beta1);
  const at::Tensor squares = averaged(x[2], slope.square(), how.beta2), largest = at::maximum(wide(x[3]), squares);
  const double rate = how.rate * std::sqrt(1 - how.power2) / (1 - how.power1);
  return {wide(x[0]) - averages * rate / (largest.sqrt() + how.eps), averages, squares, largest};
}

Tensors adamax_step(const Tensors& x, const at::Tensor& grad, const Averages& how) {
  const at::Tensor slope = wide(grad), averages = averaged(x[1], slope, how.beta1);
  const at::Tensor largest = at::maximum(wide(x[2]) * how.beta2, slope.abs());
  return {wide(x[0]) - averages * (how.rate / (1 - how.power1)) / (largest + how.eps), averages, largest};
}

Tensors sign_step(const Tensors& x, const at::Tensor& grad, const Signs& how) {
  const at::Tensor slope = wide(grad), averages = averaged(x[1], slope, how.beta);
  const at::Tensor agreed = slope.sign() * averages.sign() * how.decay;
  const at::Tensor factor = how.powers ? (agreed * how.base).exp() : agreed + how.base;
  return {wide(x[0]) - factor * slope * how.rate, averages};
}

Tensors adam_once(const Tensors& x, const at::Tensor& grad, const AdamFactors& by) {
  const at::Tensor slope = wide(grad), before = wide(x[2]);
  const at::Tensor squares = wide(x[0]) * wide(by.old_square) + slope.square() * wide(by.new_square);
  const at::Tensor averages = wide(x[1]) * wide(by.old_average) + slope * wide(by.new_average);
  at::Tensor direction = averages / (squares.sqrt() + wide(by.eps));
  if (by.decay.defined()) direction = direction + before * wide(by.decay);
  return {squares, averages, before - direction * wide(by.rate)};
}

Tensors lamb_direction(const at::Tensor& grad, const Tensors& x, const LambFactors& by) {
  const at::Tensor slope = wide(grad), beta1 = wide(by.beta1), beta2 = wide(by.beta2), steps = wide(by.steps);
  const at::Tensor squares = wide(x[0]) * beta2 + slope.square() * wide(by.rest2);
  const at::Tensor averages = wide(x[1]) * beta1 + slope * wide(by.rest1);
  const at::Tensor size = (squares / (1 - beta2.pow(steps))).sqrt() + wide(by.eps);
  const at::Tensor decay = wide(x[2]) * wide(by.decay) * wide(by.with_decay);
  return {averages / (1 - beta1.pow(steps)) / size + decay, squares, averages};
}

at::Tensor lamb_step(const at::Tensor& parameters, const at::Tensor& direction, const at::Tensor& rate,
                     const at::Tensor& norm, const at::Tensor& norm_of_direction) {
  const at::Tensor own = wide(norm), other = wide(norm_of_direction);
  const at::Tensor trust = at::where(own.gt(0).logical_and(other.gt(0)), own / other, 1.0);
  return wide(parameters) - trust * wide(rate) * wide(direction);
}

at::Tensor lars_gradient(const at::Tensor& x, const at::Tensor& grad, const at::Tensor& squares_of_x,
                         const at::Tensor& squares_of_grad, const Lars& how) {
  const at::Tensor norm = wide(squares_of_x).sqrt(), decay = wide(how.decay);
  at::Tensor trust = norm * how.trust / (wide(squares_of_grad).sqrt() + norm * decay + how.eps);
  if (how.clip) trust = (trust / wide(how.rate)).clamp(0, 1);
  return (wide(grad) + wide(x) * decay) * trust;
}

at::Tensor sum_of_squares(const at::Tensor& x) { return wide(x).square().sum(); }

Tensors step_of_rows(const Tensors& x, const at::Tensor& grad, const at::Tensor& indices, const Step& step) {
  Tensors after;
  for (const at::Tensor& each : x) after.push_back(each.clone());
  const at::Tensor rows = indices.to(at::kLong).flatten(), slopes = grad.flatten(0, indices.dim() - 1);
  for (int64_t i = 0; i < rows.numel(); ++i) {
    Tensors row;
    for (const at::Tensor& each : after) row.push_back(each[rows[i].item<int64_t>()]);
    const Tensors made = step(row, slopes[i]);
    for (size_t k = 0; k < row.size(); ++k) row[k].copy_(made[k]);
  }
  return after;
}

}  // namespace sim::kernels
