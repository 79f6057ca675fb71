// Elementwise operators of one operand, copies and fills.
#include "kernels/mx_quant.h"
#include "kernels/quant.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

// The magnitude of a complex number has the type of its parts.
void of_its_real_type(const at::Tensor& out, const at::Tensor& self) {
  const at::ScalarType type = c10::toRealValueType(self.scalar_type());
  SIM_CHECK_DTYPE(out.scalar_type() == type, "the result is of ", type, ", and out of ", out.scalar_type());
}

std::optional<double> bound(double eps) { return eps < 0 ? std::nullopt : std::optional<double>(eps); }

void whole_numbers_only(const at::Tensor& out) {
  SIM_CHECK(at::isIntegralType(out.scalar_type(), false), "quantization to ", out.scalar_type(), " is not simulated");
}

// In double, as the caller computes it; of INT64 in whole numbers.
void counts(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, const at::Tensor& out) {
  SIM_CHECK(step.toDouble() != 0, "step is 0");
  if (out.scalar_type() == at::kLong) {
    const int64_t by = step.to<int64_t>(), way = by > 0 ? 1 : -1;
    return shape(out, {divided(end.to<int64_t>() - start.to<int64_t>() + by - way, by)});
  }
  shape(out, {int64_t(std::ceil((end.toDouble() - start.toDouble()) / step.toDouble()))});
}
void counts_to(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, const at::Tensor& out) {
  const auto as = [&]<typename Number>(Number) {
    const auto by = step.to<Number>();
    SIM_CHECK(by != 0, "step ", step.toDouble(), " is 0 in the output's data type");
    shape(out, {int64_t((end.to<Number>() - start.to<Number>()) / by + 1)});
  };
  const auto type = out.scalar_type();  // op-plugin and torch count in whole numbers for these, in float for a half
  if (at::isIntegralType(type, true)) as(int64_t());
  else if (type == at::kHalf || type == at::kBFloat16) as(float());
  else as(double());
}

void has_diagonal(const at::Tensor& self) {
  SIM_CHECK(self.dim() >= 2, "two dimensions or more expected, got ", self.sizes());
  SIM_CHECK(self.dim() == 2 || std::all_of(self.sizes().begin(), self.sizes().end(),
                                           [&](int64_t size) { return size == self.size(0); }),
            "more than two dimensions, and not of one length: ", self.sizes());
}

}  // namespace

// An operator and its in-place form.
#define UNARY(Op, fn)                                                       \
  ACLNN(Op, (In, self, Out, out), like(out, self), at::fn##_out(out, self)) \
  ACLNN(Inplace##Op, (Ref, self), when_run(), self.fn##_())
// One that whole numbers pass unchanged, and whose result has another type where the output has one.
#define WHOLE(Op, fn)                                                              \
  ACLNN(Op, (In, self, Out, out), promoted(out, {self}), write(out, at::fn(self))) \
  ACLNN(Inplace##Op, (Ref, self), when_run(), self.fn##_())
// One whose result is a floating-point number.
#define FUNCTION(Op, fn)                                                           \
  ACLNN(Op, (In, self, Out, out), function_of(out, self), at::fn##_out(out, self)) \
  ACLNN(Inplace##Op, (Ref, self), function_of(self, self), self.fn##_())

FUNCTION(Acos, acos)
FUNCTION(Acosh, acosh)
FUNCTION(Asin, asin)
FUNCTION(Asinh, asinh)
FUNCTION(Atan, atan)
FUNCTION(Atanh, atanh)
WHOLE(Ceil, ceil)
FUNCTION(Cos, cos)
FUNCTION(Cosh, cosh)
FUNCTION(Erf, erf)
FUNCTION(Erfc, erfc)
FUNCTION(Erfinv, erfinv)
FUNCTION(Exp, exp)
FUNCTION(Exp2, exp2)
FUNCTION(Expm1, expm1)
WHOLE(Floor, floor)
WHOLE(Frac, frac)
FUNCTION(Log, log)
FUNCTION(Log10, log10)
FUNCTION(Log1p, log1p)
FUNCTION(Log2, log2)
UNARY(LogicalNot, logical_not)
FUNCTION(Reciprocal, reciprocal)
FUNCTION(Rsqrt, rsqrt)
FUNCTION(Sin, sin)
FUNCTION(Sinc, sinc)
FUNCTION(Sinh, sinh)
FUNCTION(Sqrt, sqrt)
FUNCTION(Tan, tan)

ACLNN(Abs, (In, self, Out, out), (of_its_real_type(out, self), like(out, self)),
      write(out, self.scalar_type() == at::kBool ? self : at::abs(self)))
ACLNN(AngleV2, (In, self, Out, out), like(out, self), write(out, at::angle(self)))
ACLNN(BitwiseNot, (In, self, Out, out), (kept(out, self), like(out, self)), write(out, at::bitwise_not(self)))
ACLNN(IsFinite, (In, self, Out, out), like(out, self), write(out, at::isfinite(self)))
ACLNN(IsNegInf, (In, self, Out, out), like(out, self), at::isneginf_out(out, self))
ACLNN(IsPosInf, (In, self, Out, out), like(out, self), at::isposinf_out(out, self))
WHOLE(Neg, neg)
WHOLE(Round, round)
ACLNN(RoundDecimals, (In, self, int64_t, decimals, Out, out), (kept(out, self), like(out, self)),
      at::round_out(out, self, decimals))
ACLNN(Sign, (In, self, Out, out), (kept(out, self), like(out, self)), write(out, at::sgn(self)))
ACLNN(Signbit, (In, self, Out, out), like(out, self), write(out, at::signbit(self)))
WHOLE(Trunc, trunc)
ACLNN(Logit, (In, self, double, eps, Out, out), function_of(out, self), write(out, at::logit(self, bound(eps))))
ACLNN(LogitGrad, (In, self, In, grad, double, eps, Out, out), like(out, self),
      write(out, at::logit_backward(grad, self, bound(eps))))
ACLNN(Quantize, (In, self, In, scales, In, zero_points, Dtype, dtype, int64_t, axis, Out, out),
      (like(out, self), whole_numbers_only(out)),
      write(out, sim::quant::quantized(self, scales, zero_points, axis, out.scalar_type())))
ACLNN(Cast, (In, self, int32_t, dtype, Out, out), sim::mx::cast_like(self, dtype, out), sim::mx::cast(self, dtype, out))

ACLNN(InplaceRoundDecimals, (Ref, self, int64_t, decimals), when_run(), self.round_(decimals))
ACLNN(InplaceNanToNum, (Ref, self, float, nan, float, posinf, float, neginf), when_run(),
      self.nan_to_num_(nan, posinf, neginf))

// fills, and tensors made of nothing
ACLNN(InplaceFillScalar, (Ref, self, Num, value), when_run(), self.fill_(value))
ACLNN(InplaceFillTensor, (Ref, self, In, value), one_element(value), self.fill_(value.reshape({})))
ACLNN(InplaceFillDiagonal, (Ref, self, Num, value, bool, wrap), has_diagonal(self), self.fill_diagonal_(value, wrap))
ACLNN(InplaceZero, (Ref, self), when_run(), self.zero_())
ACLNN(InplaceOne, (Ref, self), when_run(), self.fill_(1))
ACLNN(InplaceCopy, (Ref, self, In, source), into(self, {source}), self.copy_(source))
ACLNN(Arange, (Num, start, Num, end, Num, step, Out, out), counts(start, end, step, out),
      write(out, at::arange(start, end, step, out.scalar_type())))
ACLNN(Range, (Num, start, Num, end, Num, step, Out, out), counts_to(start, end, step, out),
      write(out, at::range(start, end, step, out.scalar_type())))
ACLNN(Linspace, (Num, start, Num, end, int64_t, steps, Out, out), shape(out, {steps}),
      write(out, at::linspace(start, end, steps, out.scalar_type())))
ACLNN(LogSpace, (Num, start, Num, end, int64_t, steps, double, base, Out, out), shape(out, {steps}),
      write(out, at::logspace(start, end, steps, base, out.scalar_type())))
ACLNN(Eye, (int64_t, n, int64_t, m, Out, out), shape(out, {n, m}), write(out, at::eye(n, m, out.options())))
#undef UNARY
