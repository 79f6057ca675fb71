// Elementwise operators that change their first operand.
#include "kernels/arithmetic.h"
#include "opapi/aclnn.h"
#include "opapi/rows/division.h"

using namespace sim::aclnn;

// arithmetic
ACLNN(InplaceAdd, (Ref, self, In, other, Num, alpha), (arithmetic(self, other), factor(alpha, {self, other})),
      alpha.equal(1) ? self.add_(other) : self.copy_(sum_of(self, other, alpha)))
ACLNN(InplaceAdds, (Ref, self, Num, other, Num, alpha), arithmetic(self, other), self.add_(other, alpha))
ACLNN(InplaceAddV3, (Num, self, Ref, other, Num, alpha), arithmetic(other, self),
      write(other, kernels::scaled_sum(self, other, alpha)))
ACLNN(InplaceAddRelu, (Ref, self, In, other, Num, alpha), (arithmetic(self, other), factor(alpha, {self, other})),
      self.copy_(kernels::relu_of_sum(self, other, alpha)))
ACLNN(InplaceSub, (Ref, self, In, other, Num, alpha), (arithmetic(self, other), factor(alpha, {self, other})),
      alpha.equal(1) ? self.sub_(other) : self.copy_(sum_of(self, other, -alpha)))
ACLNN(InplaceSubs, (Ref, self, Num, other, Num, alpha), arithmetic(self, other), self.sub_(other, alpha))
ACLNN(InplaceMul, (Ref, self, In, other), arithmetic(self, other), self.mul_(other))
ACLNN(InplaceMuls, (Ref, self, Num, other), arithmetic(self, other), self.mul_(other))
ACLNN(InplaceDiv, (Ref, self, In, other), divided(self, {self, other}),
      self.copy_(kernels::quotient(self, other, self.scalar_type())))
ACLNN(InplaceDivs, (Ref, self, Num, other), divided(self, {self}),
      self.copy_(kernels::quotient(self, other, self.scalar_type())))
ACLNN(InplaceDivMod, (Ref, self, In, other, int, mode), divided(self, {self, other}, mode),
      self.copy_(kernels::quotient(self, other, self.scalar_type(), mode)))
ACLNN(InplaceDivMods, (Ref, self, Num, other, int, mode), divided(self, {self}, mode),
      self.copy_(kernels::quotient(self, other, self.scalar_type(), mode)))
ACLNN(InplaceFloorDivide, (Ref, self, In, other), arithmetic(self, other),
      self.copy_(kernels::quotient(self, other, self.scalar_type(), 2)))
ACLNN(InplaceFloorDivides, (Ref, self, Num, other), arithmetic(self, other),
      self.copy_(kernels::quotient(self, other, self.scalar_type(), 2)))
ACLNN(InplaceFmodTensor, (Ref, self, In, other), arithmetic(self, other), self.copy_(kernels::fmod(self, other)))
ACLNN(InplaceFmodScalar, (Ref, self, Num, other), arithmetic(self, other), self.copy_(kernels::fmod(self, other)))
ACLNN(InplacePowTensorTensor, (Ref, self, In, exponent), arithmetic(self, exponent), self.pow_(exponent))
ACLNN(InplacePowTensorScalar, (Ref, self, Num, exponent), arithmetic(self, exponent), self.pow_(exponent))
ACLNN(InplaceXLogYTensor, (Ref, self, In, other), promoted(self, {self, other}), self.xlogy_(other))
ACLNN(InplaceXLogYScalarOther, (Ref, self, Num, other), arithmetic(self, other), self.xlogy_(other))
ACLNN(InplaceAtan2, (Ref, self, In, other), into(self, {other}), self.copy_(at::atan2(self, other)))
ACLNN(InplaceAddcdiv, (Ref, self, In, a, In, b, Num, value), promoted(self, {self, a, b}), self.addcdiv_(a, b, value))
ACLNN(InplaceAddcmul, (Ref, self, In, a, In, b, Num, value), promoted(self, {self, a, b}), self.addcmul_(a, b, value))
ACLNN(InplaceLerp, (Ref, self, In, end, In, weight), into(self, {end, weight}), self.lerp_(end, weight))
ACLNN(InplaceLerps, (Ref, self, In, end, Num, weight), into(self, {end}), self.lerp_(end, weight))

// logic; the result replaces the operand in its own dtype
ACLNN(InplaceLogicalAnd, (Ref, self, In, other), into(self, {other}), self.logical_and_(other))
ACLNN(InplaceLogicalOr, (Ref, self, In, other), into(self, {other}), self.logical_or_(other))

// clamping and masks
ACLNN(InplaceClampMax, (Ref, self, Num, max), promoted(self, self, max), self.clamp_max_(max))
ACLNN(InplaceClampMinTensor, (Ref, self, In, min), promoted(self, {self, min}), self.clamp_min_(min))
ACLNN(InplaceClampMaxTensor, (Ref, self, In, max), promoted(self, {self, max}), self.clamp_max_(max))
ACLNN(InplaceMaskedScatter, (Ref, self, In, mask, In, source), into(self, {mask}),
      self.masked_scatter_(mask.to(at::kBool), source))
