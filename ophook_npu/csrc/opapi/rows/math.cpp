// Elementwise operators of two and more operands: arithmetic, comparison, logic, selection.
#include "kernels/arithmetic.h"
#include "kernels/index.h"
#include "opapi/aclnn.h"
#include "opapi/rows/division.h"

using namespace sim::aclnn;
using sim::kernels::complex_of;

namespace {

void clamped(const at::Tensor& out, const at::Tensor& self, const std::optional<at::Scalar>& min,
             const std::optional<at::Scalar>& max) {
  like(out, self);
  if (min) promoted(out, self, *min);
  if (max) promoted(out, self, *max);
}

// Of two truth values there is no power.
void not_truth(const at::Tensor& self, const at::Tensor& other) {
  SIM_CHECK(self.scalar_type() != at::kBool || other.scalar_type() != at::kBool, "both have data type BOOL");
}

// By product; the type that the two go into decides.
void has_divisors(const at::Tensor& self, const at::Tensor& other) {
  const at::ScalarType both = c10::promoteTypes(self.scalar_type(), other.scalar_type());
  SIM_CHECK(both == at::kShort || both == at::kInt || both == at::kLong ||
                (product_is("Ascend950") && (both == at::kByte || both == at::kChar)),
            "the greatest common divisor in ", both, "; allowed: INT16, INT32, INT64, and on Ascend950 INT8 and UINT8");
}

// (size, count / size)
void sign_bytes(const at::Tensor& out, int64_t count, int64_t size) {
  SIM_CHECK(size > 0 && count % size == 0, "size ", size, " does not divide ", count);
  shape(out, {size, count / size});
}

void of_one_type(const Tensors& tensors, const at::Tensor& out) {
  for (const at::Tensor& each : tensors) same_dtype({each, out});
}
void all_like(const Tensors& tensors, const at::Tensor& out) {
  of_one_type(tensors, out);
  for (const at::Tensor& each : tensors) like(each, out);
}
void broadcast_of(const at::Tensor& out, const Tensors& tensors) {
  Dims sizes = tensors.front().sizes().vec();
  for (const at::Tensor& each : tensors) sizes = kernels::broadcast_sizes(sizes, each.sizes());
  shape(out, sizes);
}

}  // namespace

// arithmetic
ACLNN(Add, (In, self, In, other, Num, alpha, Out, out), (promoted(out, {self, other}), factor(alpha, {self, other})),
      alpha.equal(1) ? (void)at::add_out(out, self, other) : write(out, sum_of(self, other, alpha)))
ACLNN(Sub, (In, self, In, other, Num, alpha, Out, out), (promoted(out, {self, other}), factor(alpha, {self, other})),
      alpha.equal(1) ? (void)at::sub_out(out, self, other) : write(out, sum_of(self, other, -alpha)))
ACLNN(Rsub, (In, self, In, other, Num, alpha, Out, out), (promoted(out, {self, other}), factor(alpha, {self, other})),
      alpha.equal(1) ? (void)at::sub_out(out, other, self) : write(out, sum_of(other, self, -alpha)))
ACLNN(Mul, (In, self, In, other, Out, out), promoted(out, {self, other}), at::mul_out(out, self, other))
ACLNN(Div, (In, self, In, other, Out, out), divided(out, {self, other}),
      write(out, kernels::quotient(self, other, out.scalar_type())))
ACLNN(DivMod, (In, self, In, other, int, mode, Out, out), divided(out, {self, other}, mode),
      write(out, kernels::quotient(self, other, out.scalar_type(), mode)))
ACLNN(FloorDivide, (In, self, In, other, Out, out), promoted(out, {self, other}),
      write(out, kernels::quotient(self, other, out.scalar_type(), 2)))
ACLNN(RemainderTensorTensor, (In, self, In, other, Out, out), (not_complex(self), promoted(out, {self, other})),
      write(out, kernels::remainder(self, other)))
ACLNN(InplaceRemainderTensorTensor, (Ref, self, In, other), arithmetic(self, other),
      self.copy_(kernels::remainder(self, other)))
ACLNN(InplaceRemainderTensorScalar, (Ref, self, Num, other), arithmetic(self, other),
      self.copy_(kernels::remainder(self, other)))
ACLNN(FmodTensor, (In, self, In, other, Out, out), promoted(out, {self, other}), write(out, kernels::fmod(self, other)))
ACLNN(PowTensorTensor, (In, self, In, other, Out, out), (promoted(out, {self, other}), not_truth(self, other)),
      at::pow_out(out, self, other))
ACLNN(Maximum, (In, self, In, other, Out, out), promoted(out, {self, other}), at::maximum_out(out, self, other))
ACLNN(Minimum, (In, self, In, other, Out, out), promoted(out, {self, other}), at::minimum_out(out, self, other))
ACLNN(Atan2, (In, self, In, other, Out, out), promoted(out, {self, other}), at::atan2_out(out, self, other))
ACLNN(Gcd, (In, self, In, other, Out, out), (promoted(out, {self, other}), has_divisors(self, other)),
      at::gcd_out(out, self, other))
ACLNN(LogAddExp, (In, self, In, other, Out, out), promoted(out, {self, other}), at::logaddexp_out(out, self, other))
ACLNN(LogAddExp2, (In, self, In, other, Out, out), promoted(out, {self, other}), at::logaddexp2_out(out, self, other))
ACLNN(XLogYTensor, (In, self, In, other, Out, out), promoted(out, {self, other}), at::xlogy_out(out, self, other))
ACLNN(Xlog1py, (In, x, In, y, Out, out), promoted(out, {x, y}), write(out, kernels::xlog1py(x, y)))
ACLNN(Scale, (In, x, In, scale, In, bias, int64_t, axis, int64_t, axes, bool, from_blob, Out, out),
      kernels::scaled_like(x, scale, bias, axis, axes, from_blob),
      write(out, kernels::scaled_along(x, scale, bias, axis)))
ACLNN(PrecisionCompare, (In, golden, In, self, Out, out), shape(out, {}),
      write(out, kernels::comparison_code(golden, self)))
// of a list
ACLNN(AddN, (List, tensors, Out, out), (all_like(tensors, out), kept(out, tensors.front())),
      write(out, kernels::sum_of_all(tensors)))
ACLNN(Sum, (List, tensors, Out, out), (of_one_type(tensors, out), broadcast_of(out, tensors)),
      write(out, kernels::sum_of_all(tensors)))
ACLNN(MaxN, (List, tensors, Out, out), (of_one_type(tensors, out), broadcast_of(out, tensors)),
      write(out, kernels::most_of_all(tensors)))
ACLNN(MinN, (List, tensors, Out, out), (of_one_type(tensors, out), broadcast_of(out, tensors)),
      write(out, kernels::least_of_all(tensors)))
ACLNN(LeftShift, (In, self, In, other, Out, out), promoted(out, {self, other}),
      at::bitwise_left_shift_out(out, self, other))
ACLNN(RightShift, (In, self, In, other, Out, out), promoted(out, {self, other}),
      at::bitwise_right_shift_out(out, self, other))
#define BITWISE_OF_TENSORS(Op, fn)                                                                         \
  ACLNN(Op, (In, self, In, other, Out, out), promoted(out, {self, other}), at::fn##_out(out, self, other)) \
  ACLNN(Inplace##Op, (Ref, self, In, other), promoted(self, {self, other}), self.fn##_(other))
#define BITWISE(Op, fn)                                                                  \
  BITWISE_OF_TENSORS(Op##Tensor, fn)                                                     \
  ACLNN(Op##Scalar, (In, self, Num, other, Out, out), , write(out, at::fn(self, other))) \
  ACLNN(Inplace##Op##Scalar, (Ref, self, Num, other), promoted(self, self, other), self.fn##_(other))
BITWISE(BitwiseAnd, bitwise_and)
BITWISE(BitwiseOr, bitwise_or)
BITWISE(BitwiseXor, bitwise_xor)
BITWISE_OF_TENSORS(BitwiseAndTensorOut, bitwise_and)
ACLNN(AddRelu, (In, self, In, other, Num, alpha, Out, out),
      (promoted(out, {self, other}), factor(alpha, {self, other})),
      write(out, kernels::relu_of_sum(self, other, alpha)))
ACLNN(Complex, (In, self, In, other, Out, out), complex_of(out, self, other), at::complex_out(out, self, other))
ACLNN(Polar, (In, self, In, other, Out, out), , at::polar_out(out, self, other))

// the same with a scalar
ACLNN(Adds, (In, self, Num, other, Num, alpha, Out, out), promoted(out, self, other),
      write(out, at::add(self, other, alpha)))
ACLNN(Subs, (In, self, Num, other, Num, alpha, Out, out), promoted(out, self, other),
      write(out, at::sub(self, other, alpha)))
ACLNN(Rsubs, (In, self, Num, other, Num, alpha, Out, out), promoted(out, self, other),
      write(out, at::rsub(self, other, alpha)))
ACLNN(AddV3, (Num, self, In, other, Num, alpha, Out, out), promoted(out, other, self),
      write(out, kernels::scaled_sum(self, other, alpha)))
ACLNN(Muls, (In, self, Num, other, Out, out), promoted(out, self, other), write(out, at::mul(self, other)))
ACLNN(Divs, (In, self, Num, other, Out, out), divided(out, {self}),
      write(out, kernels::quotient(self, other, out.scalar_type())))
ACLNN(DivMods, (In, self, Num, other, int, mode, Out, out), divided(out, {self}, mode),
      write(out, kernels::quotient(self, other, out.scalar_type(), mode)))
ACLNN(FloorDivides, (In, self, Num, other, Out, out), promoted(out, self, other),
      write(out, kernels::quotient(self, other, out.scalar_type(), 2)))
ACLNN(RemainderTensorScalar, (In, self, Num, other, Out, out), (not_complex(self), promoted(out, self, other)),
      write(out, kernels::remainder(self, other)))
ACLNN(RemainderScalarTensor, (Num, self, In, other, Out, out), promoted(out, other, self),
      write(out, kernels::remainder(self, other)))
ACLNN(FmodScalar, (In, self, Num, other, Out, out), promoted(out, self, other), write(out, kernels::fmod(self, other)))
ACLNN(PowTensorScalar, (In, self, Num, exponent, Out, out), promoted(out, self, exponent),
      at::pow_out(out, self, exponent))
ACLNN(PowScalarTensor, (Num, self, In, exponent, Out, out), promoted(out, exponent, self),
      at::pow_out(out, self, exponent))
ACLNN(XLogYScalarOther, (In, self, Num, other, Out, out), , at::xlogy_out(out, self, other))
ACLNN(XLogYScalarSelf, (Num, self, In, other, Out, out), , at::xlogy_out(out, self, other))
ACLNN(LeftShifts, (In, self, Num, other, Out, out), , write(out, at::bitwise_left_shift(self, other)))

ACLNN(SignBitsPack, (In, self, int64_t, size, Out, out), sign_bytes(out, (self.numel() + 7) / 8, size),
      write(out, kernels::sign_bits(self, out.sizes())))
ACLNN(SignBitsUnpack, (In, self, int64_t, size, Dtype, dtype, Out, out),
      (of_dtype("out", out, {dtype}), sign_bytes(out, self.numel() * 8, size)),
      write(out, kernels::from_sign_bits(self, out.sizes(), dtype)))
// comparison and logic
#define COMPARISON(Op, fn)                                                                   \
  ACLNN(Op##Tensor, (In, self, In, other, Out, out), , at::fn##_out(out, self, other))       \
  ACLNN(Op##Scalar, (In, self, Num, other, Out, out), , at::fn##_out(out, self, other))      \
  ACLNN(Inplace##Op##Tensor, (Ref, self, In, other), into(self, {other}), self.fn##_(other)) \
  ACLNN(Inplace##Op##Scalar, (Ref, self, Num, other), when_run(), self.fn##_(other))
COMPARISON(Eq, eq)
COMPARISON(Ne, ne)
COMPARISON(Gt, gt)
COMPARISON(Ge, ge)
COMPARISON(Lt, lt)
COMPARISON(Le, le)
ACLNN(LessScalar, (In, self, Num, other, Out, out), like(out, self), at::lt_out(out, self, other))
ACLNN(LogicalAnd, (In, self, In, other, Out, out), , at::logical_and_out(out, self, other))
ACLNN(LogicalOr, (In, self, In, other, Out, out), , at::logical_or_out(out, self, other))
ACLNN(LogicalXor, (In, self, In, other, Out, out), , at::logical_xor_out(out, self, other))
ACLNN(IsClose, (In, self, In, other, double, rtol, double, atol, bool, equal_nan, Out, out), ,
      write(out, at::isclose(self, other, rtol, atol, equal_nan)))
ACLNN(Equal, (In, self, In, other, Out, out), one_element(out), out.fill_(at::equal(self, other)))
ACLNN(IsInTensorScalar, (In, elements, Num, test, bool, unique, bool, invert, Out, out), ,
      write(out, invert ? at::ne(elements, test) : at::eq(elements, test)))
ACLNN(IsInScalarTensor, (Num, element, In, tests, bool, unique, bool, invert, Out, out), shape(out, {}),
      write(out, kernels::is_among(element, tests, invert)))

// selection and clamping
ACLNN(SWhere, (In, condition, In, self, In, other, Out, out), (kept(out, self), kept(out, other)),
      write(out, at::where(condition.to(at::kBool), self, other)))
ACLNN(Clamp, (In, self, MaybeNum, min, MaybeNum, max, Out, out), clamped(out, self, min, max),
      write(out, at::clamp(self, min, max)))
ACLNN(ClampMin, (In, self, Num, min, Out, out), promoted(out, self, min), write(out, at::clamp_min(self, min)))
ACLNN(ClampMax, (In, self, Num, max, Out, out), promoted(out, self, max), write(out, at::clamp_max(self, max)))
ACLNN(ClampTensor, (In, self, In, min, In, max, Out, out), promoted(out, {self, min, max}),
      write(out, at::clamp(self, optional(min), optional(max))))
ACLNN(ClampMinTensor, (In, self, In, min, Out, out), promoted(out, {self, min}), write(out, at::clamp_min(self, min)))
ACLNN(ClampMaxTensor, (In, self, In, max, Out, out), promoted(out, {self, max}), write(out, at::clamp_max(self, max)))
ACLNN(NanToNum, (In, self, float, nan, float, posinf, float, neginf, Out, out), kept(out, self),
      write(out, at::nan_to_num(self, nan, posinf, neginf)))

// three operands
ACLNN(Addcmul, (In, self, In, a, In, b, Num, value, Out, out), promoted(out, {self, a, b}),
      at::addcmul_out(out, self, a, b, value))
ACLNN(Addcdiv, (In, self, In, a, In, b, Num, value, Out, out), promoted(out, {self, a, b}),
      at::addcdiv_out(out, self, a, b, value))
ACLNN(Lerp, (In, self, In, end, In, weight, Out, out), promoted(out, {self, end, weight}),
      at::lerp_out(out, self, end, weight))
ACLNN(Lerps, (In, self, In, end, Num, weight, Out, out), promoted(out, {self, end}),
      at::lerp_out(out, self, end, weight))
ACLNN(InplaceMaskedFillScalar, (Ref, self, In, mask, Num, value), into(self, {mask}), self.masked_fill_(mask, value))
ACLNN(InplaceMaskedFillTensor, (Ref, self, In, mask, In, value), into(self, {mask}),
      self.masked_fill_(mask, value.reshape({})))
