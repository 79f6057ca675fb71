#include "kernels/special.h"

#include <cmath>
#include <limits>

#include "kernels/arithmetic.h"

namespace sim::kernels {

// Lentz's way through the continued fraction, which converges fast up to x = (a + 1) / (a + b + 2).
static double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kMost = 1000;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), found = d;
  for (int m = 1; m <= kMost; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double change = 1;
    for (const double term : {even, odd}) {
      d = 1 / away_from_zero(1 + term * d);
      c = away_from_zero(1 + term / c);
      found *= change = c * d;
    }
    if (std::abs(change - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return found;
}
static double incomplete_beta(double a, double b, double x) {
  if (!(a > 0 && b > 0 && x >= 0 && x <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0 || x == 1) return x;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

at::Tensor incomplete_beta(const at::Tensor& a, const at::Tensor& b, const at::Tensor& x) {
  const Tensors all = at::broadcast_tensors({a, b, x});
  Tensors given;
  for (const at::Tensor& one : all) given.push_back(one.to(at::kDouble).contiguous());
  at::Tensor out = at::empty_like(given[0]);
  const double *first = given[0].const_data_ptr<double>(), *second = given[1].const_data_ptr<double>(),
               *third = given[2].const_data_ptr<double>();
  for (int64_t i = 0; i < out.numel(); ++i)
    out.mutable_data_ptr<double>()[i] = incomplete_beta(first[i], second[i], third[i]);
  return out.to(x.scalar_type());
}

at::Tensor bits_set(const at::Tensor& x) {
  at::Tensor found = at::zeros(x.sizes(), at::kByte);
  for (int64_t i = 0; i < int64_t(8 * x.element_size()); ++i)
    found += at::bitwise_and(at::bitwise_right_shift(x, i), 1).to(at::kByte);
  return found;
}

at::Tensor quotient_or_zero(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor none = at::eq(y, 0);
  const at::Tensor found = quotient(x, at::where(none, at::ones_like(y), y), x.scalar_type(),
                                    at::isIntegralType(x.scalar_type(), false) ? 1 : 0);
  return at::where(none, at::zeros({}, found.options()), found);
}
at::Tensor product_or_zero(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor found = at::mul(x, y);
  return at::where(at::eq(y, 0), at::zeros({}, found.options()), found);
}
at::Tensor zero_or_quotient(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor found = at::div(x, y);
  return at::where(at::eq(x, 0), at::zeros({}, found.options()), found);
}

at::Tensor power_of(const at::Tensor& x, double power, double scale, double shift) {
  return at::pow(wide(x).mul(scale).add(shift), power);
}

at::Tensor members_joined(const Tensors& members, int64_t mode, const std::vector<float>& coefficients) {
  at::Tensor found;
  for (size_t i = 0; i < members.size(); ++i) {
    const at::Tensor one = coefficients.empty() ? wide(members[i]) : wide(members[i]).mul(coefficients[i]);
    found = !i ? one : mode == 0 ? found.mul(one) : mode == 1 ? found.add(one) : at::maximum(found, one);
  }
  return found;
}

at::Tensor reciprocal_backward(const at::Tensor& y, const at::Tensor& grad) {
  return at::square(wide(y)).mul(wide(grad)).neg();
}
at::Tensor rsqrt_backward(const at::Tensor& y, const at::Tensor& grad) {
  return at::pow(wide(y), 3).mul(wide(grad)).mul(-0.5);
}
at::Tensor sqrt_backward(const at::Tensor& y, const at::Tensor& grad) { return wide(grad).mul(0.5).div(wide(y)); }
at::Tensor acosh_backward(const at::Tensor& y, const at::Tensor& grad) { return wide(grad).div(at::sinh(wide(y))); }
at::Tensor asinh_backward(const at::Tensor& y, const at::Tensor& grad) { return wide(grad).div(at::cosh(wide(y))); }
at::Tensor abs_backward(const at::Tensor& x, const at::Tensor& grad) { return at::sign(x).mul(grad); }
at::Tensor asin_backward(const at::Tensor& x, const at::Tensor& grad) {
  return wide(grad).mul(at::rsqrt(1 - at::square(wide(x))));
}
at::Tensor acos_backward(const at::Tensor& x, const at::Tensor& grad) { return asin_backward(x, grad).neg(); }
at::Tensor atan_backward(const at::Tensor& x, const at::Tensor& grad) {
  return wide(grad).div(1 + at::square(wide(x)));
}
std::pair<at::Tensor, at::Tensor> gradient_of_two(const at::Tensor& grad, const at::Tensor& to_first) {
  const at::Tensor none = at::zeros({}, grad.options());
  return {at::where(to_first, grad, none), at::where(to_first, none, grad)};
}
at::Tensor product_and_sum(const at::Tensor& x, const at::Tensor& factor, const at::Tensor& added) {
  return wide(x).mul(number_of(factor)).add(wide(added));
}
at::Tensor product_and_sums(const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, const at::Tensor& w) {
  const at::Tensor found = at::mul(x, y).add(z);
  return w.defined() ? found.add(w) : found;
}
at::Tensor square_sum(const at::Tensor& x, double factor) { return at::square(wide(x)).sum().mul(factor); }
at::Tensor is_near(const at::Tensor& x, const at::Tensor& y, double tolerance) {
  return at::lt(wide(at::sub(x, y)).abs(), tolerance);
}

}  // namespace sim::kernels
