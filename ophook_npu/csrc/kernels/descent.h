// Steps of the optimizers that TensorFlow named, and of those for large batches, in float whatever the parameters'
// type. A step takes the parameters and the states behind them, and returns them as they are afterwards, in this order.
#pragma once

#include <functional>

#include "kernels/tensors.h"

namespace sim::kernels {

// ---- with momentum: parameters and their momentum ----
struct Momentum {
  double rate, momentum;
  bool nesterov = false;
};
Tensors momentum_step(const Tensors& x, const at::Tensor& grad, const Momentum& how);
// The momentum has the rate in it.
Tensors keras_momentum_step(const Tensors& x, const at::Tensor& grad, const Momentum& how);
// A third state: 1 before the first step, which is not damped, then 0.
Tensors damped_step(const Tensors& x, const at::Tensor& grad, const Momentum& how, double dampening, double decay);
at::Tensor gradient_of_product(const at::Tensor& x, const at::Tensor& y);  // in float

// ---- the rate divided by the size of the gradients ----
struct Rms {
  double rate, rho, momentum, eps;
};
Tensors rms_step(const Tensors& x, const at::Tensor& grad, const Rms& how);  // averages of squares, momentum
// Averages of the gradients, of their squares, momentum.
Tensors centered_rms_step(const Tensors& x, const at::Tensor& grad, const Rms& how);
// Averages of squares, of gradients and of steps; the momentum says nothing.
Tensors adadelta_step(const Tensors& x, const at::Tensor& grad, const Rms& how);
// Sums of squares, which `sums` adds to.
Tensors adagrad_step(const Tensors& x, const at::Tensor& grad, double rate, double eps, bool sums);

// ---- towards zero, by the parameters' size (l1) and their squares (l2) ----
struct Proximal {
  double rate, l1, l2;
  double power = 0, shrinkage = 0, steps = 0;
};
Tensors proximal_step(const Tensors& x, const at::Tensor& grad, const Proximal& how);
Tensors proximal_adagrad_step(const Tensors& x, const at::Tensor& grad, const Proximal& how);  // sums of squares
Tensors dual_averaging_step(const Tensors& x, const at::Tensor& grad, const Proximal& how);    // sums, of squares too
Tensors ftrl_step(const Tensors& x, const at::Tensor& grad, const Proximal& how);              // squares, linear

// ---- averages of gradients, and of what else: squares, the largest ----
struct Averages {
  double rate, beta1, beta2, eps;
  double power1 = 0, power2 = 0;  // of the betas, to the number of this step
};
Tensors amsgrad_step(const Tensors& x, const at::Tensor& grad, const Averages& how);  // averages, squares, largest
Tensors adamax_step(const Tensors& x, const at::Tensor& grad, const Averages& how);   // averages, largest
// Averages; the step grows where gradient and average have one sign: to base + decay, or base to the power of decay.
struct Signs {
  double rate, base, decay, beta;
  bool powers = false;
};
Tensors sign_step(const Tensors& x, const at::Tensor& grad, const Signs& how);

// Of tensors that broadcast: squares, averages and parameters (in this order, and so returned) by what Adam multiplies
// and adds. `decay` may be undefined.
struct AdamFactors {
  at::Tensor rate, old_average, new_average, old_square, new_square, decay = {}, eps;
};
Tensors adam_once(const Tensors& x, const at::Tensor& grad, const AdamFactors& by);

// ---- for large batches: a rate a layer ----
struct LambFactors {
  at::Tensor beta1, rest1, beta2, rest2, eps, steps, with_decay, decay;
};
// The direction, then squares and averages as they are afterwards.
Tensors lamb_direction(const at::Tensor& grad, const Tensors& squares_averages_parameters, const LambFactors& by);
at::Tensor lamb_step(const at::Tensor& parameters, const at::Tensor& direction, const at::Tensor& rate,
                     const at::Tensor& norm, const at::Tensor& norm_of_direction);
struct Lars {
  at::Tensor decay, rate;
  double trust, eps;
  bool clip;
};
at::Tensor lars_gradient(const at::Tensor& x, const at::Tensor& grad, const at::Tensor& squares_of_x,
                         const at::Tensor& squares_of_grad, const Lars& how);
at::Tensor sum_of_squares(const at::Tensor& x);

// A step of the rows that the indices name, one after the other: a row that stands twice makes two.
using Step = std::function<Tensors(const Tensors& x, const at::Tensor& grad)>;
Tensors step_of_rows(const Tensors& x, const at::Tensor& grad, const at::Tensor& indices, const Step& step);

}  // namespace sim::kernels
