#include "kernels/arithmetic.h"

namespace sim::kernels {

// compute(self, other), and where a whole number is divided by 0, `instead`.
template <typename Compute>
static at::Tensor by_zero(const at::Tensor& self, const at::Tensor& other, const at::Tensor& instead, Compute compute) {
  if (!at::isIntegralType(at::result_type(self, other), true)) return compute(other);
  const at::Tensor none = at::eq(other, 0);
  return at::where(none, instead, compute(at::where(none, 1, other)));
}

at::Tensor remainder(const at::Tensor& self, const at::Tensor& other) {
  return by_zero(self, other, self, [&](const at::Tensor& by) { return at::remainder(self, by); });
}
at::Tensor fmod(const at::Tensor& self, const at::Tensor& other) {
  return by_zero(self, other, self, [&](const at::Tensor& by) { return at::fmod(self, by); });
}

at::Tensor remainder(const at::Tensor& self, const at::Scalar& other) {
  return kernels::remainder(self, at::scalar_tensor(other, at::result_type(self, other)));
}
at::Tensor remainder(const at::Scalar& self, const at::Tensor& other) {
  return kernels::remainder(at::scalar_tensor(self, at::result_type(self, other)), other);
}

static at::Tensor as_tensor(const at::Scalar& number, const at::Tensor& self) {
  return at::scalar_tensor(number, at::result_type(self, number));
}
at::Tensor fmod(const at::Tensor& self, const at::Scalar& other) {
  const bool whole = at::isIntegralType(at::result_type(self, other), true);
  return whole ? kernels::fmod(self, as_tensor(other, self)) : at::fmod(self, other);
}

static std::optional<std::string_view> rounding(int mode, at::ScalarType result) {
  return !mode && at::isIntegralType(result, true) ? "trunc" : rounding(mode);
}
at::Tensor quotient(const at::Tensor& self, const at::Tensor& other, at::ScalarType result, int mode) {
  const auto rounded = rounding(mode, result);
  if (!rounded) return at::div(self, other);
  return by_zero(self, other, at::zeros({}, at::result_type(self, other)),
                 [&](const at::Tensor& by) { return at::div(self, by, rounded); });
}
at::Tensor quotient(const at::Tensor& self, const at::Scalar& other, at::ScalarType result, int mode) {
  const bool whole = at::isIntegralType(at::result_type(self, other), true);
  if (whole) return quotient(self, as_tensor(other, self), result, mode);
  const at::Tensor found = at::div(self, other, rounding(mode, result));
  return at::isIntegralType(result, true) ? found.to(result) : found;
}

at::Tensor squared_difference(const at::Tensor& self, const at::Tensor& other) {
  return at::square(at::sub(self, other));
}

static at::Tensor scaled(const at::Tensor& x, const at::Tensor& alpha) {
  return alpha.defined() ? at::mul(x, alpha) : x;
}
at::Tensor scaled_sum(const at::Tensor& self, const at::Tensor& other, const at::Tensor& alpha) {
  return at::add(self, scaled(other, alpha));
}
at::Tensor scaled_difference(const at::Tensor& self, const at::Tensor& other, const at::Tensor& alpha) {
  return at::sub(self, scaled(other, alpha));
}
at::Tensor scaled_sum(const at::Scalar& self, const at::Tensor& other, const at::Scalar& alpha) {
  return at::add(at::mul(other, alpha), self);
}

at::Tensor sum_of_all(const Tensors& tensors) { return at::sum(at::stack(at::broadcast_tensors(tensors)), 0); }

at::Tensor relu_of_sum(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
  return at::add(self, other, alpha).relu_();
}

at::Tensor exponential(const at::Tensor& x, double base, double scale, double shift) {
  const at::Tensor power = x * scale + shift;
  return base > 0 ? at::pow(base, power) : at::exp(power);
}

at::Tensor logarithm(const at::Tensor& x, double base, double scale, double shift) {
  const at::Tensor natural = at::log(x * scale + shift);
  return base > 0 ? natural / std::log(base) : natural;
}

static at::Tensor powers_of_two() { return at::tensor({1, 2, 4, 8, 16, 32, 64, 128}, at::kByte); }

at::Tensor sign_bits(const at::Tensor& x, at::IntArrayRef sizes) {
  at::Tensor whole = at::zeros({c10::multiply_integers(sizes) * 8}, at::kByte);
  whole.narrow(0, 0, x.numel()).copy_(x.ge(0));
  return (whole.reshape({-1, 8}) * powers_of_two()).sum(1).to(at::kByte).reshape(sizes);
}

at::Tensor from_sign_bits(const at::Tensor& bits, at::IntArrayRef sizes, at::ScalarType result) {
  return (bits.unsqueeze(-1).bitwise_and(powers_of_two()).ne(0).to(result) * 2 - 1).reshape(sizes);
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

// A factor of whole numbers is one, whatever type it has.
static at::Scalar factor_of(const at::Tensor& x, const at::Scalar& alpha) {
  if (!at::isIntegralType(x.scalar_type(), true) || !alpha.isFloatingPoint()) return alpha;
  SIM_CHECK(alpha.toDouble() == std::trunc(alpha.toDouble()), "alpha ", alpha.toDouble(), " for ", x.scalar_type());
  return int64_t(alpha.toDouble());
}

at::Tensor list_sum(const at::Tensor& x, const at::Tensor& y, const at::Scalar& alpha) {
  return sum_of(x, y, factor_of(x, alpha));
}
at::Tensor list_difference(const at::Tensor& x, const at::Tensor& y, const at::Scalar& given) {
  const at::Scalar alpha = factor_of(x, given);
  return by_steps(x) ? at::sub(x, at::mul(y, alpha)) : sum_of(x, y, -alpha);
}
at::Tensor list_addcmul(const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, const at::Scalar& scale) {
  return by_steps(x) ? at::add(x, at::mul(at::mul(y, z), scale)) : at::addcmul(x, y, z, scale);
}
at::Tensor list_addcdiv(const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, const at::Scalar& scale) {
  return by_steps(x) ? at::add(x, at::mul(at::div(y, z), scale)) : at::addcdiv(x, y, z, scale);
}

std::optional<std::string_view> rounding(int mode) {
  SIM_CHECK(mode >= 0 && mode <= 2, "rounding mode ", mode, "; allowed: 0 (none), 1 (trunc), 2 (floor)");
  return mode == 0 ? std::nullopt : std::optional<std::string_view>(mode == 1 ? "trunc" : "floor");
}

at::Tensor rounded(const at::Tensor& x, int64_t mode) {
  switch (mode) {
    case 2: return at::floor(x);
    case 3: return at::ceil(x);
    case 4: {  // half away from zero
      const at::Tensor whole = at::trunc(x);
      return whole.add(at::sub(x, whole).abs().ge(0.5).mul(at::sign(x)));
    }
    case 5: return at::trunc(x);
    case 6: {  // half to odd
      const at::Tensor whole = at::trunc(x), half = at::sub(x, whole).abs().eq(0.5),
                       even = at::remainder(whole, 2).eq(0);
      return at::where(half, whole.add(even.mul(at::sign(x))), at::round(x));
    }
    case 7: return at::sub(x, at::trunc(x));  // the fraction
    default: return at::round(x);             // half to even
  }
}

void complex_of(const at::Tensor& out, const at::Tensor& real, const at::Tensor& imaginary) {
  same_dtype({real, imaginary});
  of_dtype("out", out, {at::toComplexType(real.scalar_type())});
}

at::Tensor is_among(const at::Scalar& number, const at::Tensor& all, bool invert) {
  return at::eq(all, number).any().ne(invert);
}

}  // namespace sim::kernels
