#include "kernels/arithmetic.h"

#include "kernels/pattern.h"

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
  const at::ScalarType type = at::result_type(self, other);
  if (at::isFloatingType(type)) {
    // As CANN's kernel does it, in float: at::div's floor is that of the exact quotient, and takes steps of 16 bits.
    at::Tensor found = at::div(wide(self), wide(other));
    return (*rounded == "floor" ? found.floor_() : found.trunc_()).to(type);
  }
  return by_zero(self, other, at::zeros({}, type), [&](const at::Tensor& by) { return at::div(self, by, rounded); });
}
at::Tensor quotient(const at::Tensor& self, const at::Scalar& other, at::ScalarType result, int mode) {
  if (!rounding(mode, result)) return at::div(self, other);
  const at::Tensor found = quotient(self, as_tensor(other, self), result, mode);
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

at::Tensor blocks_added(const at::Tensor& self, const at::Tensor& other, const ChannelBlocks& of) {
  const auto blocks = [&](const at::Tensor& x, int64_t first) {
    Dims sizes(x.sizes().begin(), x.sizes().end());
    sizes[1] = 16 * of.count;
    const at::Tensor out = at::zeros(sizes, wide(x).options());
    const int64_t start = 16 * first, there = std::min(x.size(1) - start, sizes[1]);
    SIM_CHECK(first >= 0 && (x.size(1) + 15) / 16 >= first + of.count, of.count, " blocks of 16 channels from block ",
              first, " on are more than ", x.sizes(), " has");
    out.narrow(1, 0, there).copy_(x.narrow(1, start, there));
    return out;
  };
  return blocks(self, of.first) + blocks(other, of.other_first);
}

at::Tensor sum_of_all(const Tensors& tensors) { return at::sum(at::stack(at::broadcast_tensors(tensors)), 0); }

at::Tensor most_of_all(const Tensors& tensors) { return at::amax(at::stack(at::broadcast_tensors(tensors)), 0); }
at::Tensor least_of_all(const Tensors& tensors) { return at::amin(at::stack(at::broadcast_tensors(tensors)), 0); }

at::Tensor xlog1py(const at::Tensor& x, const at::Tensor& y) { return at::special_xlog1py(wide(x), wide(y)); }

void scaled_like(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& bias, int64_t axis, int64_t axes,
                 bool from_blob) {
  const int64_t from = wrap(axis, x), rank = x.dim();
  const int64_t count = !from_blob ? scale.dim() : axes == -1 ? rank - from : axes;
  if (from_blob && count == 0) {
    SIM_CHECK(scale.numel() == 1, "scale has shape ", scale.sizes(), ", one element expected");
  } else if (from_blob || scale.dim() > 1 || scale.numel() != 1) {
    SIM_CHECK(from + count <= rank, count, " dimensions from ", axis, " on of ", x.sizes());
    shape(scale, x.sizes().slice(size_t(from), size_t(count)));
  }
  if (bias.defined()) like(bias, scale);
}

at::Tensor scaled_along(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& bias, int64_t axis) {
  const int64_t behind = scale.numel() == 1 ? 0 : x.dim() - wrap(axis, x) - scale.dim();
  const auto spread = [&](const at::Tensor& of) {
    Dims sizes = of.sizes().vec();
    sizes.insert(sizes.end(), size_t(behind), 1);
    return wide(of).reshape(sizes);
  };
  const at::Tensor product = wide(x) * spread(scale);
  return bias.defined() ? product + spread(bias) : product;
}

at::Tensor comparison_code(const at::Tensor& golden, const at::Tensor& x) {
  return at::scalar_tensor(at::equal(golden, x) ? 0 : 503, at::kLong);
}

void group_sums_like(const at::Tensor& x, const at::Tensor& groups, const at::Tensor& out) {
  SIM_CHECK(x.dim() == (groups.defined() ? 2 : 3), "a gradient of shape ", x.sizes(),
            groups.defined() ? "; 2 dimensions expected next to groups" : "; 3 dimensions expected");
  const int64_t count = groups.defined() ? groups.numel() : x.size(0);
  SIM_CHECK(!groups.defined() || count <= 2048, count, " groups; allowed: 2048 at most");
  shape(out, {count, x.size(-1)});
}

at::Tensor group_sums(const at::Tensor& x, const at::Tensor& groups, bool sizes) {
  if (!groups.defined()) return at::sum(wide(x), 1);
  const at::Tensor given = groups.to(at::kLong), ends = sizes ? at::cumsum(given, 0) : given;
  const at::Tensor sums =
      at::concat({at::zeros({1, x.size(1)}, wide(x).options()), at::cumsum(wide(x).to(at::kDouble), 0)});
  return at::diff(at::concat({at::zeros({1, x.size(1)}, sums.options()), sums.index_select(0, ends)}), 1, 0);
}

void segment_sums_like(const at::Tensor& x, const at::Tensor& y) {
  SIM_CHECK(x.dim() == 3 || x.dim() == 4, "a tensor of shape ", x.sizes(), "; 3 or 4 dimensions expected");
  shapes<"*rows n -> *rows n n">(x, y);
}

at::Tensor exp_segment_sums(const at::Tensor& x) {
  const at::Tensor below = at::ones({x.size(-1), x.size(-1)}, at::kBool).tril(-1);
  return at::tril(at::exp(at::cumsum(at::where(below, wide(x).unsqueeze(-1), 0), -2)));
}

at::Tensor exp_segment_sums_backward(const at::Tensor& grad, const at::Tensor& y) {
  const at::Tensor product = at::tril(wide(grad) * wide(y), -1);
  const at::Tensor later = at::flip(at::cumsum(at::flip(product, {-2}), -2), {-2});
  return at::sum(at::tril(later, -1), -1);
}

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

at::Tensor all_finite(const at::Tensor& x, const std::string& message) {
  const int64_t others = x.numel() - at::isfinite(x).sum().item<int64_t>();
  SIM_CHECK(!others, message, ": ", others, " of ", x.numel(), " numbers are infinite or none");
  return x;
}

}  // namespace sim::kernels
