#include "kernels/arithmetic.h"

namespace sim::kernels {

at::Tensor remainder(const at::Tensor& self, const at::Tensor& other) {
  if (at::isFloatingType(at::result_type(self, other))) return at::remainder(self, other);
  const at::Tensor none = at::eq(other, 0);
  return at::where(none, self, at::remainder(self, at::where(none, 1, other)));
}

at::Tensor addcmul(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b, const at::Tensor& value) {
  if (value.numel() == 1) return at::addcmul(self, a, b, number_of(value));
  return at::add(wide(self), at::mul(at::mul(wide(a), wide(b)), wide(value)));
}

at::Tensor addcdiv(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b, const at::Tensor& value) {
  if (value.numel() == 1) return at::addcdiv(self, a, b, number_of(value));
  return at::add(wide(self), at::mul(at::div(wide(a), wide(b)), wide(value)));
}

static bool by_steps(const at::Tensor& x) { return x.scalar_type() == at::kHalf; }

at::Tensor list_sum(const at::Tensor& x, const at::Tensor& y, const at::Scalar& alpha) { return sum_of(x, y, alpha); }
at::Tensor list_difference(const at::Tensor& x, const at::Tensor& y, const at::Scalar& alpha) {
  return by_steps(x) ? at::sub(x, at::mul(y, alpha)) : sum_of(x, y, -alpha);
}
at::Tensor list_addcmul(const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, const at::Scalar& scale) {
  return by_steps(x) ? at::add(x, at::mul(at::mul(y, z), scale)) : at::addcmul(x, y, z, scale);
}
at::Tensor list_addcdiv(const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, const at::Scalar& scale) {
  return by_steps(x) ? at::add(x, at::mul(at::div(y, z), scale)) : at::addcdiv(x, y, z, scale);
}

}  // namespace sim::kernels
