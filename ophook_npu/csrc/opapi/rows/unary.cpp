// Elementwise operators of one operand, and conversions.
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

// One scale for all, or one for each place along the axis; each has its offset.
void one_scale_of(const at::Tensor& self, const at::Tensor& scales, const at::Tensor& zero_points, int64_t axis) {
  SIM_CHECK(scales.dim() == 1 && (!zero_points.defined() || zero_points.sizes() == scales.sizes()), "scales of shape ",
            scales.sizes(), ", zeroPoints of shape ", zero_points.defined() ? zero_points.sizes() : at::IntArrayRef());
  SIM_CHECK(scales.numel() == 1 || scales.numel() == self.size(wrap(axis, self)), scales.numel(),
            " scales for an axis of a tensor of shape ", self.sizes());
}

std::optional<double> bound(double eps) { return eps < 0 ? std::nullopt : std::optional<double>(eps); }

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

ACLNN(Abs, (In, self, Out, out), of_its_real_type(out, self),
      write(out, self.scalar_type() == at::kBool ? self : at::abs(self)))
ACLNN(AngleV2, (In, self, Out, out), , write(out, at::angle(self)))
ACLNN(BitwiseNot, (In, self, Out, out), kept(out, self), write(out, at::bitwise_not(self)))
ACLNN(IsFinite, (In, self, Out, out), , write(out, at::isfinite(self)))
ACLNN(IsInf, (In, self, Out, out), , write(out, at::isinf(self)))
ACLNN(IsNegInf, (In, self, Out, out), , at::isneginf_out(out, self))
ACLNN(IsPosInf, (In, self, Out, out), , at::isposinf_out(out, self))
WHOLE(Neg, neg)
WHOLE(Round, round)
ACLNN(RoundDecimals, (In, self, int64_t, decimals, Out, out), kept(out, self), at::round_out(out, self, decimals))
ACLNN(Sign, (In, self, Out, out), kept(out, self), write(out, at::sgn(self)))
ACLNN(Signbit, (In, self, Out, out), , write(out, at::signbit(self)))
WHOLE(Trunc, trunc)
ACLNN(Square, (In, self, Out, out), kept(out, self), write(out, at::square(self)))
ACLNN(Real, (In, self, Out, out), of_its_real_type(out, self), write(out, at::real(self)))
// The page takes the number's magnitude first, whose results these are for what is positive.
ACLNN(Digamma, (In, self, Out, out), kept(out, self), write(out, at::digamma(wide(self))))
ACLNN(Lgamma, (In, self, Out, out), kept(out, self), write(out, at::lgamma(wide(self))))
ACLNN(Logit, (In, self, double, eps, Out, out), function_of(out, self), write(out, at::logit(self, bound(eps))))
ACLNN(LogitGrad, (In, self, In, grad, double, eps, Out, out), , write(out, at::logit_backward(grad, self, bound(eps))))
ACLNN(Quantize, (In, self, In, scales, In, zero_points, Dtype, dtype, int64_t, axis, Out, out),
      one_scale_of(self, scales, zero_points, axis),
      write(out, sim::quant::quantized(self, scales, zero_points, axis, out.scalar_type())))
ACLNN(Cast, (In, self, int32_t, dtype, Out, out), sim::mx::cast_like(self, dtype, out), sim::mx::cast(self, dtype, out))

ACLNN(InplaceRoundDecimals, (Ref, self, int64_t, decimals), when_run(), self.round_(decimals))
ACLNN(InplaceNanToNum, (Ref, self, float, nan, float, posinf, float, neginf), when_run(),
      self.nan_to_num_(nan, posinf, neginf))
#undef UNARY
