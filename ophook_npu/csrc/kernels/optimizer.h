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

}  // namespace sim::kernels
