#include "kernels/optimizer.h"

namespace sim::kernels {

AdamWState adamw(const AdamWState& before, const at::Tensor& grad, const AdamW& how) {
  const at::Tensor slope = how.maximize ? at::neg(wide(grad)) : wide(grad);
  const at::Tensor decayed = at::mul(wide(before.parameter), 1 - how.rate * how.decay);
  const at::Tensor average = at::lerp(wide(before.average), slope, 1 - how.beta1);
  const at::Tensor square = at::addcmul(at::mul(wide(before.square), how.beta2), slope, slope, 1 - how.beta2);
  const at::Tensor largest = before.largest.defined() ? at::maximum(wide(before.largest), square) : before.largest;
  const at::Tensor bound = largest.defined() ? largest : square;
  const at::Tensor denominator = at::add(at::div(at::sqrt(bound), std::sqrt(1 - how.power2)), how.eps);
  return {at::addcdiv(decayed, average, denominator, -how.rate / (1 - how.power1)), average, square, largest};
}

}  // namespace sim::kernels
